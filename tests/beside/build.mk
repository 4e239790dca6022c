# What may be preloaded beside the recorder, or audit it: each file is one shared object, which needs libc alone.
BESIDE_DIR := $(BUILD)/tests/beside
BESIDE_SRC := $(sort $(wildcard tests/beside/*.c))
$(BESIDE_DIR)/%.so: $(BUILD)/obj/tests/beside/%.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(LDFLAGS) -o $@ $<
$(BUILD)/obj/tests/beside/%.o: ALL_CFLAGS += -fPIC -fno-sanitize=all
TEST_TARGETS += $(patsubst tests/beside/%.c,$(BESIDE_DIR)/%.so,$(BESIDE_SRC))
