# Programs that use NVTX (its headers alone; it opens the tool itself), a shared object with a copy of its own, and a tool
# that stands in for one that was set before. They need no driver, but for `streams`.
NVTX_DIR := $(BUILD)/tests/nvtx
NVTX_CFLAGS := $(ALL_CFLAGS) $(CUDA_CPPFLAGS)

$(NVTX_DIR)/ranges: tests/nvtx/ranges.c $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(NVTX_CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ -ldl -lpthread
$(NVTX_DIR)/plugin.so $(NVTX_DIR)/tool.so: $(NVTX_DIR)/%.so: tests/nvtx/%.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(NVTX_CFLAGS) $(SANITIZE) -fPIC -fvisibility=hidden -shared $(LDFLAGS) -o $@ $< -ldl
TEST_TARGETS += $(NVTX_DIR)/ranges $(NVTX_DIR)/plugin.so $(NVTX_DIR)/tool.so
