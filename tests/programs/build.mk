# Target programs: every C file here is one, but target.c (what they share) and lib_*.c (shared libraries). They are linked
# with the simulated driver, so no toolkit library is needed; where a GPU is, the loader finds the real driver instead.
PROGRAM_DIR     := $(BUILD)/tests/programs
PROGRAM_DRIVER  := $(BUILD)/sim/libcuda.so.1
PROGRAM_RUNTIME := $(BUILD)/sim/libcudart.so.13
PROGRAM_NAMES   := $(patsubst tests/programs/%.c,%,$(filter-out %/target.c,$(filter-out tests/programs/lib_%,$(PROGRAM_SRC))))
PROGRAM_LIBS    := $(patsubst tests/programs/%.c,$(PROGRAM_DIR)/%.so,$(filter tests/programs/lib_%,$(PROGRAM_SRC)))
PROGRAM_BIN     := $(addprefix $(PROGRAM_DIR)/,$(PROGRAM_NAMES))

$(PROGRAM_DIR)/lib_families.so: $(BUILD)/pic/tests/programs/lib_families.o $(PROGRAM_DRIVER)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(SANITIZE) $(LDFLAGS) -o $@ $^
$(PROGRAM_DIR)/lib_kernels.so: $(BUILD)/pic/tests/programs/lib_kernels.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(SANITIZE) $(LDFLAGS) -o $@ $^
$(BUILD)/pic/tests/programs/lib_%.o: tests/programs/lib_%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -fPIC -c -o $@ $<

$(PROGRAM_DIR)/rt_%: $(BUILD)/obj/tests/programs/rt_%.o $(PROGRAM_RUNTIME)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^
$(PROGRAM_DIR)/loadpath_linked: $(BUILD)/obj/tests/programs/loadpath_linked.o $(BUILD)/obj/tests/programs/lib_families.o $(PROGRAM_DRIVER)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^
# The same body once more, with every call through what was looked up: this program is not linked with the driver.
$(PROGRAM_DIR)/loadpath_lookup: $(BUILD)/obj/tests/programs/loadpath_lookup.o $(BUILD)/obj/tests/programs/lookup_families.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -ldl
$(BUILD)/obj/tests/programs/lookup_families.o: tests/programs/lib_families.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -DFAMILIES_LOOKED_UP -c -o $@ $<
$(PROGRAM_DIR)/%: $(BUILD)/obj/tests/programs/%.o $(BUILD)/obj/tests/programs/target.o $(PROGRAM_DRIVER)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lpthread

TEST_TARGETS += $(PROGRAM_BIN) $(PROGRAM_LIBS)
