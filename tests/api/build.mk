# Programs that use cgtrace.h, which need no library at all: in C (position-independent, at a fixed address, as a plugin of a
# program that knows nothing of it, static) and in C++. Held to the warnings that the header promises to be clean of.
API_DIR := $(BUILD)/tests/api
API_WARN := -Wall -Wextra -Wshadow -Wconversion -pedantic -Werror
API_CFLAGS := $(OPT) $(API_WARN) -D_GNU_SOURCE -I. $(SANITIZE)
API_SRC := tests/api/calls.c tests/api/misuse.c
API_DEPS := tests/api/calls.h preload/cgtrace.h

$(API_DIR)/calls: $(API_SRC) $(API_DEPS)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=c11 $(API_CFLAGS) $(LDFLAGS) -o $@ $(API_SRC) -lpthread -ldl
$(API_DIR)/calls-no-pie: $(API_SRC) $(API_DEPS)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=c17 $(API_CFLAGS) -fno-pie -no-pie $(LDFLAGS) -o $@ $(API_SRC) -lpthread -ldl
$(API_DIR)/calls-static: $(API_SRC) $(API_DEPS)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=gnu17 $(filter-out $(SANITIZE),$(API_CFLAGS)) -fPIE -static-pie $(LDFLAGS) -o $@ $(API_SRC) -lpthread 2>/dev/null
$(API_DIR)/calls.so: $(API_SRC) $(API_DEPS)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=c11 $(API_CFLAGS) -DPLUGIN -fPIC -shared -fvisibility=hidden $(LDFLAGS) -o $@ $(API_SRC) -lpthread -ldl
$(API_DIR)/host: tests/api/host.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=c11 $(API_CFLAGS) $(LDFLAGS) -o $@ $< -ldl
$(API_DIR)/scopes: tests/api/scopes.cc preload/cgtrace.h
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=c++11 $(API_CFLAGS) $(LDFLAGS) -o $@ $< -ldl
$(API_DIR)/older.so: tests/api/older.c preload/cgtrace.h
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=c11 $(filter-out $(SANITIZE),$(API_CFLAGS)) -fPIC -shared -o $@ $<
TEST_TARGETS += $(addprefix $(API_DIR)/,calls calls-no-pie calls-static calls.so host scopes older.so)

# Programs that step through the library: stepping.h is x86-64's, the tests of others are skipped.
ifneq ($(filter x86_64%,$(MACHINE)),)
$(API_DIR)/left: tests/api/left.c tests/api/stepping.h preload/cgtrace.h $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=gnu17 $(API_CFLAGS) $(CUDA_CPPFLAGS) $(LDFLAGS) -o $@ $(filter %left.c %.1,$^) -ldl -lpthread
$(API_DIR)/steps: tests/api/steps.c tests/api/stepping.h preload/cgtrace.h
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=gnu17 $(API_CFLAGS) $(CUDA_CPPFLAGS) $(LDFLAGS) -o $@ $< -ldl -lpthread
$(API_DIR)/names: tests/api/names.c tests/api/stepping.h preload/cgtrace.h
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=gnu17 $(API_CFLAGS) $(CUDA_CPPFLAGS) $(LDFLAGS) -o $@ $< -ldl
TEST_TARGETS += $(addprefix $(API_DIR)/,left names steps)
endif
