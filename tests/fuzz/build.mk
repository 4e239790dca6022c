# make fuzz: every tests/fuzz/fuzz_*.c with libFuzzer, the address and the undefined-behaviour sanitizer, for FUZZ_SECONDS each,
# FUZZ_JOBS at a time; FUZZ="WORD..." names some of them.
# Needs clang with libFuzzer. Kept inputs stand in tests/fuzz/corpus/NAME, words in tests/fuzz/NAME.dict (else json.dict); new inputs go
# to build/fuzz/corpus/NAME. tests/fuzz/RESULTS.md is what the last long run told.
FUZZ_CC      ?= clang
FUZZ_SECONDS ?= 60
FUZZ_JOBS    ?= $(shell nproc)
FUZZ_DIR  := $(BUILD)/fuzz
FUZZ_BIN  := $(patsubst tests/fuzz/%.c,$(FUZZ_DIR)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
# The recorder's parsers are fuzzed too.
FUZZ_OBJ  := $(patsubst %.c,$(FUZZ_DIR)/obj/%.o,$(COMMON_SRC) $(ANALYZER_SRC) preload/json_object.c preload/record/cfi.c tests/fuzz/files.c)
# Targets whose inputs are traces.
FUZZ_TRACES := $(addprefix $(FUZZ_DIR)/fuzz_,trace evidence query export compare)
FUZZ_FLAGS = -std=gnu17 -O1 -g $(WARN) -fno-strict-aliasing -ffp-contract=off -MMD -MP $(CPPFLAGS) -fno-sanitize-recover=undefined

$(FUZZ_DIR)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZ)$(FUZZ_CC) $(FUZZ_FLAGS) $(CUDA_CPPFLAGS) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<
$(FUZZ_DIR)/obj/analyzer/trace/members_avx2.o: CPPFLAGS += -mavx2 -mbmi -mbmi2
$(FUZZ_DIR)/obj/analyzer/trace/members_avx512.o: CPPFLAGS += -mavx2 -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512vl
$(FUZZ_DIR)/obj/analyzer/viewer/page.o: $(addprefix $(BUILD)/gen/viewer/viewer.,js css html)
$(FUZZ_TRACES): $(FUZZ_DIR)/obj/tests/fuzz/mutate.o
$(FUZZ_DIR)/libfuzzed.a: $(FUZZ_OBJ)
	@rm -f $@; ar rcs $@ $^
$(FUZZ_DIR)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_DIR)/libfuzzed.a
	$(call say,FUZZ)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< $(filter %.o %.a,$^) $(ANALYZER_LIBS)

.PHONY: fuzz
fuzz: $(FUZZ_BIN)
	@$(PYTHON) tests/fuzz/run.py $(FUZZ_DIR) $(FUZZ_SECONDS) $(FUZZ_JOBS) $(FUZZ)
