# Programs with known chains of calls, each a form of code that stacks must be right in; a library that stands in for
# libgcc and holds nothing, to see what is done without it.
STACKS_DIR   := $(BUILD)/tests/stacks
STACKS_FLAGS := -std=gnu17 $(WARN) $(CPPFLAGS) $(CUDA_CPPFLAGS)
STACKS_CALLS := tests/stacks/calls.c tests/programs/target.c tests/programs/target.h

$(STACKS_DIR)/calls: OPT_STACKS := -O2 -g -fPIE -pie -fno-omit-frame-pointer
$(STACKS_DIR)/fixed: OPT_STACKS := -O2 -g -fno-pie -no-pie -fno-omit-frame-pointer
$(STACKS_DIR)/plain: OPT_STACKS := -O2 -g -fPIE -pie -fomit-frame-pointer
$(STACKS_DIR)/calls $(STACKS_DIR)/fixed $(STACKS_DIR)/plain: $(STACKS_CALLS) $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(STACKS_FLAGS) $(OPT_STACKS) $(SANITIZE) $(LDFLAGS) -o $@ $(filter %.c %.1,$^) -ldl -lpthread
$(STACKS_DIR)/plugin_a.so $(STACKS_DIR)/plugin_b.so: $(STACKS_DIR)/%.so: tests/stacks/plugin.c $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(STACKS_FLAGS) -O2 -g -fPIC -fvisibility=hidden -shared -Wl,-soname,$*.so $(SANITIZE) $(LDFLAGS) -o $@ $^
$(STACKS_DIR)/objects: tests/stacks/objects.cc $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CXX) -std=c++17 -O1 -g -Wall -Wextra -Werror $(CPPFLAGS) $(CUDA_CPPFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^
$(STACKS_DIR)/without/libgcc_s.so.1:
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared -nostdlib -Wl,-soname,$(@F) -x c /dev/null -o $@
TEST_TARGETS += $(addprefix $(STACKS_DIR)/,calls fixed plain objects plugin_a.so plugin_b.so without/libgcc_s.so.1)
$(STACKS_DIR)/inlined: tests/stacks/inlined.cc $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CXX) -std=c++17 -O2 -g -Wall -Wextra -Werror $(CPPFLAGS) $(CUDA_CPPFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^
TEST_TARGETS += $(STACKS_DIR)/inlined
# The recorder's walk itself, in programs whose frames are of many kinds.
$(STACKS_DIR)/walks: OPT_STACKS := -O2 -g -fomit-frame-pointer
$(STACKS_DIR)/walks_framed: OPT_STACKS := -O1 -g -fno-omit-frame-pointer
WALKS_SRC := tests/stacks/walks.c common/descriptor.c $(addprefix preload/,record/cfi.c record/own_stack.c record/maps.c objects.c signals.c)
$(STACKS_DIR)/walks $(STACKS_DIR)/walks_framed: $(WALKS_SRC) preload/record/unwind.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(STACKS_FLAGS) $(OPT_STACKS) $(SANITIZE) $(LDFLAGS) -o $@ $(WALKS_SRC) -ldl -lpthread
TEST_TARGETS += $(STACKS_DIR)/walks $(STACKS_DIR)/walks_framed
