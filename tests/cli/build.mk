# Ends cg-analyze while it writes. Its functions must be seen: not of the hidden ones of pic/.
$(BUILD)/tests/cli/killer.so: $(BUILD)/obj/tests/cli/killer.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(LDFLAGS) -o $@ $^
$(BUILD)/obj/tests/cli/killer.o: ALL_CFLAGS += -fPIC -fno-sanitize=all
TEST_TARGETS += $(BUILD)/tests/cli/killer.so
