# The recording core without resolve/ and hooks/, in a program of its own.
RECORD_CORE := $(call pics,$(COMMON_SRC) $(sort $(wildcard preload/*.c preload/record/*.c preload/drain/*.c)))
$(BUILD)/tests/record/%: $(BUILD)/pic/tests/record/%.o $(RECORD_CORE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -rdynamic -o $@ $^ -lpthread
TEST_TARGETS += $(BUILD)/tests/record/drive
# Measured as it is built into the library: its objects, not those of the unit tests.
$(BUILD)/bench/bench_record $(BUILD)/bench/bench_threads: $(BUILD)/bench/bench_%: $(BUILD)/pic/tests/bench/bench_%.o $(RECORD_CORE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -rdynamic -o $@ $^ -lpthread
