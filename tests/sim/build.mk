# The simulated driver and the runtime on it: build/sim/libcuda.so.1, libcudart.so.13, libcudart.so.12.
# -Bsymbolic: no call of the driver to itself goes through the dynamic symbol table, where a preloaded library would see it.
SIM_SRC := $(sort $(wildcard tests/sim/*.c))
SIM_OBJ := $(patsubst %.c,$(BUILD)/sim/obj/%.o,$(SIM_SRC))
SIM_LINK = $(CC) -shared $(SANITIZE) $(LDFLAGS) -Wl,-Bsymbolic -Wl,-z,relro

$(BUILD)/sim/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -Wno-deprecated-declarations -fPIC -c -o $@ $<
$(BUILD)/sim/libcuda.so.1: $(SIM_OBJ) tests/sim/libcuda.map
	$(call say,LINK)$(SIM_LINK) -Wl,--version-script=tests/sim/libcuda.map -Wl,-z,defs -Wl,-soname,libcuda.so.1 -o $@ $(SIM_OBJ) -lzstd -lpthread -ldl
$(BUILD)/sim/libcuda.so: $(BUILD)/sim/libcuda.so.1
	@ln -sf libcuda.so.1 $@

TEST_TARGETS += $(BUILD)/sim/libcuda.so.1 $(BUILD)/sim/libcuda.so

# The stand-in runtime, once for each major version of its name; the symbol version is the SONAME, as in the real one.
SIM_RT_SRC := $(sort $(wildcard tests/sim/runtime/*.c))
SIM_RT_OBJ := $(patsubst %.c,$(BUILD)/sim/obj/%.o,$(SIM_RT_SRC))

$(BUILD)/sim/libcudart.so.%: $(SIM_RT_OBJ)
	@echo 'libcudart.so.$* { global: cuda*; __cuda*; local: *; };' > $(BUILD)/sim/libcudart.$*.map
	$(call say,LINK)$(SIM_LINK) -Wl,--version-script=$(BUILD)/sim/libcudart.$*.map -Wl,-z,defs -Wl,-soname,libcudart.so.$* -o $@ $(SIM_RT_OBJ) -lpthread -ldl
$(BUILD)/sim/libcudart.so: $(BUILD)/sim/libcudart.so.13
	@ln -sf libcudart.so.13 $@

# It needs the library calls of CUDA 12; with older headers there is no runtime to stand in for.
ifneq ($(shell awk '/^#define CUDA_VERSION/ && $$3 >= 12000' $(CUDA_INCLUDE)/cuda.h 2>/dev/null),)
TEST_TARGETS += $(BUILD)/sim/libcudart.so.13 $(BUILD)/sim/libcudart.so.12 $(BUILD)/sim/libcudart.so
endif

# A program of several threads, and its kernels: under `make tsan` this is what finds the races.
$(BUILD)/sim/check_threads: $(BUILD)/sim/obj/tests/sim/check/threads.o $(BUILD)/sim/libcuda.so
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $< -L$(BUILD)/sim -lcuda -lpthread
$(BUILD)/sim/check_kernels.so: $(BUILD)/sim/obj/tests/sim/check/kernels.o
	$(call say,LINK)$(CC) -shared $(SANITIZE) $(LDFLAGS) -o $@ $<

TEST_TARGETS += $(BUILD)/sim/check_threads $(BUILD)/sim/check_kernels.so
