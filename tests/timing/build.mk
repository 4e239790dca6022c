# timed: work of every kind in every kind of stream, ended in many ways. events: what events cost and may do on this driver.
$(BUILD)/tests/timing/%: $(BUILD)/obj/tests/timing/%.o $(BUILD)/obj/tests/programs/target.o $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lpthread
TEST_TARGETS += $(BUILD)/tests/timing/timed $(BUILD)/tests/timing/events
