# make faults: what t_deaths.py and t_injected.py do in `make check`, in full.
FAULT_KILLS ?= 1000
.PHONY: faults
faults: tests
	@BUILD=$(BUILD) DEATHS=$(FAULT_KILLS) $(PYTHON) tests/faults/t_deaths.py
	@BUILD=$(BUILD) INJECT=all $(PYTHON) tests/faults/t_injected.py

# Fails calls of the library, one after the other. Its functions must be seen: not of the hidden ones of pic/.
ifneq ($(filter x86_64%,$(MACHINE)),)
$(BUILD)/tests/faults/injector.so: $(BUILD)/obj/tests/faults/injector.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(LDFLAGS) -o $@ $^
$(BUILD)/obj/tests/faults/injector.o: ALL_CFLAGS += -fPIC -fno-sanitize=all
TEST_TARGETS += $(BUILD)/tests/faults/injector.so
endif
