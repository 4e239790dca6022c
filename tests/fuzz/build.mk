# make fuzz: every tests/fuzz/fuzz_*.c with libFuzzer, the address and the undefined-behaviour sanitizer, for FUZZ_SECONDS each,
# from the conformance traces on. Needs clang with libFuzzer; new inputs are kept in build/fuzz/corpus.
FUZZ_CC      ?= clang
FUZZ_SECONDS ?= 60
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_SRC := $(wildcard analyzer/trace/*.c) common/json_scan.c common/json_number.c common/utf8.c

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_SRC)
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=gnu17 -O1 -g $(WARN) -fno-strict-aliasing $(CPPFLAGS) -fsanitize=fuzzer,address,undefined \
	  -fno-sanitize-recover=undefined -o $@ $^ $(ANALYZER_LIBS)

.PHONY: fuzz
fuzz: $(FUZZ_BIN)
	@for fuzzer in $(FUZZ_BIN); do \
	  mkdir -p $(BUILD)/fuzz/corpus; \
	  $$fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -print_final_stats=1 $(BUILD)/fuzz/corpus tests/conformance/traces || exit 1; \
	done
