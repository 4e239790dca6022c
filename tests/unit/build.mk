# One program of several files (health.h).
$(BUILD)/tests/unit/test_health: $(call objs,$(sort $(wildcard tests/unit/health_*.c)))
