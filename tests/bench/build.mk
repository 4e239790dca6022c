# Benches: every tests/bench/bench_*.c is one program of build/bench, run by scripts/bench. The recorder's own objects are
# linked in (they are what is measured); what a bench needs beside that it opens itself.
BENCH_DIR := $(BUILD)/bench

$(BENCH_DIR)/bench_%: $(BUILD)/obj/tests/bench/bench_%.o $(BUILD)/libanalyzer.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)

BENCH_TARGETS += $(patsubst tests/bench/%.c,$(BENCH_DIR)/%,$(BENCH_SRC))

# What benches run: the generator of traces, and the peers that are not C (built where their headers are found).
BENCH_TOOLS := $(BUILD)/bench-tools
$(BENCH_TOOLS)/generate-trace: $(BUILD)/obj/tests/bench/generate_trace.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^
$(BENCH_TOOLS)/parse-simdjson: tests/bench/parse_simdjson.cc
	@mkdir -p $(@D)
	$(call say,LINK)$(CXX) -std=c++17 $(OPT) -o $@ $< -lsimdjson
BENCH_TARGETS += $(BENCH_TOOLS)/generate-trace $(if $(wildcard /usr/include/simdjson.h),$(BENCH_TOOLS)/parse-simdjson)
# A checkout of yyjson, or the headers of its package.
YYJSON_HOME ?= $(BUILD)/peers/yyjson
YYJSON_CHECKOUT := $(wildcard $(YYJSON_HOME)/src/yyjson.c)
$(BENCH_TOOLS)/parse-yyjson: tests/bench/parse_yyjson.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -std=gnu17 $(OPT) -o $@ $< $(if $(YYJSON_CHECKOUT),-isystem $(YYJSON_HOME)/src $(YYJSON_CHECKOUT),-lyyjson)
BENCH_TARGETS += $(if $(YYJSON_CHECKOUT)$(wildcard /usr/include/yyjson.h),$(BENCH_TOOLS)/parse-yyjson)
# Tracers. Their headers are not held to our warnings.
$(BENCH_TOOLS)/peer_lttng: tests/bench/peer_lttng.c tests/bench/peer_lttng_tp.h tests/bench/peer.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -std=gnu17 -D_GNU_SOURCE $(OPT) -I. -o $@ $< -llttng-ust -ldl
BENCH_TARGETS += $(if $(wildcard /usr/include/lttng/tracepoint.h /usr/include/*/lttng/tracepoint.h),$(BENCH_TOOLS)/peer_lttng)
# A checkout of Tracy. Its client in a library, as ours is, for C++ and for C; and compiled into the program.
TRACY_HOME ?= $(BUILD)/peers/tracy
TRACY_CLIENT := $(wildcard $(TRACY_HOME)/public/TracyClient.cpp)
TRACY_CXX = $(CXX) -std=c++17 $(OPT) -I. -isystem $(TRACY_HOME)/public -DTRACY_ENABLE -DTRACY_ONLY_LOCALHOST -DTRACY_NO_BROADCAST \
  -DTRACY_NO_SYSTEM_TRACING -DTRACY_NO_SAMPLING -DTRACY_NO_CODE_TRANSFER -DTRACY_NO_CRASH_HANDLER -DTRACY_NO_VERIFY -w
$(BENCH_TOOLS)/libTracyClient.so:
	@mkdir -p $(@D)
	$(call say,LINK)$(TRACY_CXX) -DTRACY_EXPORTS -shared -fPIC -o $@ $(TRACY_CLIENT) -ldl -lpthread
$(BENCH_TOOLS)/peer_tracy $(BENCH_TOOLS)/peer_tracy_c: tests/bench/peer_tracy.cc tests/bench/peer.h tests/bench/rounds.h $(BENCH_TOOLS)/libTracyClient.so
	$(call say,LINK)$(TRACY_CXX) -DTRACY_IMPORTS $(if $(filter %_c,$@),-DZONE_OF_C) -o $@ $< -L$(@D) -lTracyClient '-Wl,-rpath,$$ORIGIN' -ldl -lpthread
$(BENCH_TOOLS)/peer_tracy_linked: tests/bench/peer_tracy.cc tests/bench/peer.h tests/bench/rounds.h
	@mkdir -p $(@D)
	$(call say,LINK)$(TRACY_CXX) -o $@ $< $(TRACY_CLIENT) -ldl -lpthread
BENCH_TARGETS += $(if $(TRACY_CLIENT),$(addprefix $(BENCH_TOOLS)/,peer_tracy peer_tracy_c peer_tracy_linked))
# What bench_sustained writes to.
$(BUILD)/tests/bench/discard.so: $(BUILD)/pic/tests/bench/discard.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared -o $@ $< -ldl
BENCH_TARGETS += $(BUILD)/tests/bench/discard.so
# The floor of bench_dlsym: a library with nothing in it.
$(BUILD)/tests/bench/empty.so:
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared -nostdlib -x c /dev/null -o $@
BENCH_TARGETS += $(BUILD)/tests/bench/empty.so $(BUILD)/libcgtrace.so $(BUILD)/sim/libcuda.so.1 $(BUILD)/tests/resolve/libcuda.so.1
