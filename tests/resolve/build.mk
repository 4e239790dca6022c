# Tests of look-ups and hooks: the hooks with a recorder that only writes down what it is told, a driver that does nothing, programs.
RESOLVE_DIR := $(BUILD)/tests/resolve
RESOLVE_PIC := $(call pics,$(sort $(filter-out preload/hooks/nvtx%,$(wildcard preload/resolve/*.c preload/hooks/*.c preload/resolve/*.S))) preload/objects.c preload/signals.c tests/resolve/record_log.c)
$(RESOLVE_PIC): $(BUILD)/gen/cuda_undef.h
$(RESOLVE_DIR)/libhooks.so: $(RESOLVE_PIC) preload/libcgtrace.map
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(SANITIZE) $(LDFLAGS) -Wl,-z,defs -Wl,--version-script=preload/libcgtrace.map -o $@ $(RESOLVE_PIC)
$(RESOLVE_DIR)/libcuda.so.1: tests/resolve/driver.c $(BUILD)/gen/cuda_undef.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -fPIC -shared -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o $@ $<
	@ln -sf libcuda.so.1 $(@D)/libcuda.so
$(RESOLVE_DIR)/old/libcuda.so.1: tests/resolve/driver.c $(BUILD)/gen/cuda_undef.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -DOLD -fPIC -shared -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o $@ $<
$(RESOLVE_DIR)/interposer.so: tests/resolve/interposer.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) -fPIC -shared -o $@ $<
$(RESOLVE_DIR)/linked: tests/resolve/linked.c $(RESOLVE_DIR)/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -o $@ $^
$(RESOLVE_DIR)/calls: tests/resolve/calls.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) -o $@ $<
TEST_TARGETS += $(addprefix $(RESOLVE_DIR)/,libhooks.so libcuda.so.1 old/libcuda.so.1 interposer.so linked calls)
$(RESOLVE_DIR)/spy.so: tests/resolve/spy.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) -fPIC -shared -o $@ $<
TEST_TARGETS += $(RESOLVE_DIR)/spy.so
$(RESOLVE_DIR)/runtime_plugin.so: tests/resolve/runtime_plugin.c $(BUILD)/sim/libcudart.so.12
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) -fPIC -shared -o $@ $^
$(RESOLVE_DIR)/two_runtimes: tests/resolve/two_runtimes.c $(BUILD)/sim/libcudart.so.13
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) -o $@ $^
$(RESOLVE_DIR)/reload: tests/resolve/reload.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) -o $@ $<
TEST_TARGETS += $(RESOLVE_DIR)/runtime_plugin.so $(RESOLVE_DIR)/two_runtimes $(RESOLVE_DIR)/reload
