# Examples: programs to record. Linked with the simulated driver and runtime (by their SONAMEs), so that no toolkit library is
# needed to build them; where a GPU is, the loader finds the real ones instead.
EXAMPLE_DIR := $(BUILD)/examples

$(EXAMPLE_DIR)/trainer $(EXAMPLE_DIR)/trainer_nvtx $(EXAMPLE_DIR)/trainer_spans: $(EXAMPLE_DIR)/%: $(BUILD)/obj/examples/%.o $(BUILD)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lm -ldl
$(BUILD)/obj/examples/trainer.o $(BUILD)/obj/examples/trainer_nvtx.o $(BUILD)/obj/examples/trainer_spans.o: examples/trainer_kernels.ptx
$(EXAMPLE_DIR)/libtrainer_kernels.so: $(BUILD)/pic/examples/trainer_kernels_host.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared $(SANITIZE) $(LDFLAGS) -o $@ $^ -lm
$(BUILD)/pic/examples/trainer_kernels_host.o: examples/trainer_kernels_host.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) -fPIC -c -o $@ $<

# With the toolkit's own shared runtime as it would be built anywhere; not under a sanitizer, which nvcc's own link lacks.
NVCC := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc /usr/local/cuda/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
$(EXAMPLE_DIR)/trainer_cuda: examples/trainer_cuda.cu
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) -O2 -cudart shared -o $@ $<

# The same with the runtime linked into it, as nvcc does by itself: for a real driver alone, so it is built and not run here.
$(EXAMPLE_DIR)/trainer_cuda_static: examples/trainer_cuda.cu
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) -O2 -cudart static -o $@ $<

# Rust, where it is: one file, no crate.
RUSTC := $(shell command -v rustc 2>/dev/null)
$(EXAMPLE_DIR)/trainer_rs: examples/trainer.rs examples/trainer_kernels.ptx
	@mkdir -p $(@D)
	$(call say,RUST)env -u MAKEFLAGS -u MFLAGS $(RUSTC) -O -D warnings -o $@ $<

EXAMPLE_TARGETS := $(EXAMPLE_DIR)/trainer $(EXAMPLE_DIR)/trainer_nvtx $(EXAMPLE_DIR)/trainer_spans $(EXAMPLE_DIR)/libtrainer_kernels.so $(if $(NVCC),$(EXAMPLE_DIR)/trainer_cuda $(EXAMPLE_DIR)/trainer_cuda_static) $(if $(RUSTC),$(EXAMPLE_DIR)/trainer_rs)
TEST_TARGETS  += $(EXAMPLE_TARGETS)
EXTRA_TARGETS += $(EXAMPLE_TARGETS)
