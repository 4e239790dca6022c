# Programs whose regions are captured: one that records through the core alone, while sessions come and go under its threads; one
# that uses NVTX and the simulated driver.
REGIONS_DIR := $(BUILD)/tests/regions
$(REGIONS_DIR)/stress: $(BUILD)/pic/tests/regions/stress.o $(RECORD_CORE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -rdynamic -o $@ $^ -lpthread
$(REGIONS_DIR)/regions: tests/regions/regions.c $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ -ldl -lpthread
TEST_TARGETS += $(REGIONS_DIR)/stress $(REGIONS_DIR)/regions

# Steps through the library: stepping.h is x86-64's, the test of others is skipped.
ifneq ($(filter x86_64%,$(MACHINE)),)
$(REGIONS_DIR)/between: tests/regions/between.c tests/api/stepping.h preload/cgtrace.h $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $(filter %.c %.1,$^) -ldl -lpthread
TEST_TARGETS += $(REGIONS_DIR)/between
endif
