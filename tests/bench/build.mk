# Benches: every tests/bench/bench_*.c is one program of build/bench, run by scripts/bench. The recorder's own objects are
# linked in (they are what is measured); what a bench needs beside that it opens itself.
BENCH_DIR := $(BUILD)/bench

$(BENCH_DIR)/bench_%: $(BUILD)/obj/tests/bench/bench_%.o $(BUILD)/libanalyzer.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)

BENCH_TARGETS += $(patsubst tests/bench/%.c,$(BENCH_DIR)/%,$(BENCH_SRC))
