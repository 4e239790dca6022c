# make faults: what t_deaths.py, t_injected.py and t_kept.py do in `make check`, in full; FAULT_JOBS programs at a time.
FAULT_KILLS ?= 1000
FAULT_JOBS  ?= $(shell nproc)
.PHONY: faults
faults: tests
	@BUILD=$(BUILD) JOBS=$(FAULT_JOBS) DEATHS=$(FAULT_KILLS) $(PYTHON) tests/faults/t_deaths.py
	@BUILD=$(BUILD) JOBS=$(FAULT_JOBS) INJECT=all $(PYTHON) tests/faults/t_injected.py
	@BUILD=$(BUILD) INJECT=all $(PYTHON) tests/faults/t_kept.py

# Fails calls of the library, one after the other. Its functions must be seen: not of the hidden ones of pic/.
ifneq ($(filter x86_64%,$(MACHINE)),)
$(BUILD)/tests/faults/injector.so: $(BUILD)/obj/tests/faults/injector.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(LDFLAGS) -o $@ $^
$(BUILD)/obj/tests/faults/injector.o: ALL_CFLAGS += -fPIC -fno-sanitize=all
TEST_TARGETS += $(BUILD)/tests/faults/injector.so
endif
$(BUILD)/tests/faults/holder.so: $(BUILD)/pic/tests/faults/holder.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(LDFLAGS) -o $@ $^
# In place of the C library's functions, so not of the hidden ones of pic/.
$(BUILD)/tests/faults/large_pages.so: $(BUILD)/obj/tests/faults/large_pages.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(LDFLAGS) -o $@ $^
$(BUILD)/obj/tests/faults/large_pages.o: ALL_CFLAGS += -fPIC -fno-sanitize=all
$(BUILD)/tests/faults/libcudart-renamed.so.12: $(BUILD)/pic/tests/faults/renamed_runtime.o
	@mkdir -p $(@D)
	@echo 'libcudart.so.12 { global: cuda*; local: *; };' > $(@D)/renamed.map
	$(call say,LINK)$(CC) -shared $(LDFLAGS) -Wl,--version-script=$(@D)/renamed.map -Wl,-soname,$(@F) -o $@ $^
$(BUILD)/tests/faults/look_fork: $(BUILD)/obj/tests/faults/look_fork.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^
$(BUILD)/tests/faults/kept: $(BUILD)/obj/tests/faults/kept.o $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -ldl -lpthread
$(BUILD)/tests/faults/leaving: $(BUILD)/obj/tests/faults/leaving.o $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lpthread
$(BUILD)/tests/faults/long: $(BUILD)/obj/tests/faults/long.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -ldl -lpthread
$(BUILD)/tests/faults/long_heap: $(BUILD)/obj/tests/faults/long_heap.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -ldl -lpthread
$(BUILD)/tests/faults/heap: $(BUILD)/obj/tests/faults/heap.o $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lpthread
$(BUILD)/tests/faults/floats: $(BUILD)/obj/tests/faults/floats.o $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -ldl -lm
TEST_TARGETS += $(addprefix $(BUILD)/tests/faults/,holder.so large_pages.so libcudart-renamed.so.12 look_fork kept leaving long long_heap floats heap)
