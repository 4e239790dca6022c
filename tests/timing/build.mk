# A program for device times: work of every kind in every kind of stream, ended in many ways.
$(BUILD)/tests/timing/timed: $(BUILD)/obj/tests/timing/timed.o $(BUILD)/obj/tests/programs/target.o $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lpthread
TEST_TARGETS += $(BUILD)/tests/timing/timed
