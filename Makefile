# cgtrace: make, make deps, make check, make demo, make bench, make asan, make tsan, make valgrind, make tidy, make install, make dist, make check-docs.
# Non-recursive: every source is found by the folder that it stands in, so a new file needs no line here.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
CXX     ?= c++
PYTHON  ?= python3
VERSION := $(shell cat VERSION)
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
# Of the table that the library exports, cgtrace_api_1; what is added to its end does not change it.
ABI     := 1

# cuda.h and nvtx3 are looked for in this order; scripts/deps says in one line what is missing.
CUDA_INCLUDE := $(firstword $(foreach d,$(CUDA_HOME)/include /usr/local/cuda/include /usr/include,$(if $(wildcard $(d)/cuda.h),$(d))))

OPT      ?= -O2 -g
WARN     := -Wall -Wextra -Wshadow -Wconversion -Werror
CPPFLAGS += -D_GNU_SOURCE -DCGT_VERSION='"$(VERSION)"' -DCGT_SONAME='"libcgtrace.so.$(ABI)"' -DVIEWER_ASSETS='"$(BUILD)/gen/viewer"' -I. -I$(BUILD)/gen
# The same bytes wherever the folder is.
PLACE := -ffile-prefix-map=$(CURDIR)=.
ALL_CFLAGS := -std=gnu17 $(OPT) $(PLACE) $(WARN) -fno-strict-aliasing -ffp-contract=off -MMD -MP $(CPPFLAGS) $(SANITIZE) $(CFLAGS)
CUDA_CPPFLAGS := -isystem $(CUDA_INCLUDE)

# Objects are built again when what they are built with has changed.
BUILT_WITH := $(strip $(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) $(LDFLAGS))
ifneq ($(file <$(BUILD)/flags),$(BUILT_WITH))
$(BUILD)/flags: FORCE
endif
$(BUILD)/flags:
	@mkdir -p $(@D); printf '%s' '$(subst ','\'',$(BUILT_WITH))' > $@

# One short line a command; V=1 shows the whole.
say = $(if $(V),,@printf "  %-5s %s\n" $(1) $@;)

objs = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
pics = $(patsubst %.c,$(BUILD)/pic/%.o,$(patsubst %.S,$(BUILD)/pic/%.o,$(1)))

COMMON_SRC   := $(sort $(wildcard common/*.c))
PRELOAD_SRC  := $(sort $(wildcard preload/*.c preload/*/*.c preload/*.S preload/*/*.S))
ANALYZER_SRC := $(sort $(filter-out analyzer/main.c,$(wildcard analyzer/*.c analyzer/*/*.c)))
LAUNCHER_SRC := $(sort $(wildcard launcher/*.c))
UNIT_SRC     := $(sort $(wildcard tests/unit/test_*.c))
BENCH_SRC    := $(sort $(wildcard tests/bench/bench_*.c))
PROGRAM_SRC  := $(sort $(wildcard tests/programs/*.c))
EXAMPLE_SRC  := $(sort $(wildcard examples/*.c))

PRODUCTS := $(BUILD)/libcgtrace.so $(BUILD)/cg-analyze $(if $(LAUNCHER_SRC),$(BUILD)/cgtrace)
.DEFAULT_GOAL := all
.PHONY: FORCE all deps check demo bench benches asan tsan valgrind tidy installable install uninstall clean products tests format
.SECONDARY:
.DELETE_ON_ERROR:

# ---- products ------------------------------------------------------------------------------------------------
$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -c -o $@ $<
$(BUILD)/pic/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec -c -o $@ $<
# Built twice, for the processors that have these instructions and for all.
ifneq ($(filter x86_64%,$(MACHINE)),)
$(BUILD)/obj/analyzer/trace/members_avx2.o: ALL_CFLAGS += -mavx2 -mbmi -mbmi2
$(BUILD)/obj/analyzer/trace/members_avx512.o: ALL_CFLAGS += -mavx2 -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512vl
endif
# Loops that are nothing but vectors.
$(BUILD)/obj/analyzer/trace/index_check.o: OPT = -O3 -g
# cuda.h renames functions with macros; the hooks name symbols, and take those macros back.
$(BUILD)/gen/cuda_undef.h: $(CUDA_INCLUDE)/cuda.h
	@mkdir -p $(@D)
	sed -n 's/^ *#define \(cu[A-Z][A-Za-z0-9_]*\)  *\(cu\|__CUDA_API_PT\).*/#undef \1/p' $< | sort -u > $@
$(call pics,$(PRELOAD_SRC)): $(BUILD)/gen/cuda_undef.h
# A sanitizer's runtime looks its functions up through our dlsym before its shadow memory is there.
$(BUILD)/pic/preload/resolve/%.o: ALL_CFLAGS += -fno-sanitize=all
$(BUILD)/pic/%.o: %.S $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(PLACE) -fPIC -c -o $@ $<

$(BUILD)/libcommon.a: $(call objs,$(COMMON_SRC))
	@rm -f $@; ar rcsD $@ $^
$(BUILD)/libanalyzer.a: $(call objs,$(ANALYZER_SRC))
	@rm -f $@; ar rcsD $@ $^

# The profiled process must see libc alone: no other DT_NEEDED, no symbol beside those of the version script.
$(BUILD)/libcgtrace.so: $(call pics,$(COMMON_SRC) $(PRELOAD_SRC)) preload/libcgtrace.map
	$(call say,LINK)$(CC) -shared $(SANITIZE) $(LDFLAGS) -Wl,--version-script=preload/libcgtrace.map -Wl,-z,defs -Wl,-z,relro -Wl,-z,nodelete \
	  -Wl,--as-needed -Wl,-soname,libcgtrace.so.$(ABI) -o $@ $(filter %.o,$^)

ANALYZER_LIBS := -ldw -lelf -liberty -ljansson -lz -ldeflate -lzstd -lcrypto -lm -lpthread
$(BUILD)/cg-analyze: $(BUILD)/obj/analyzer/main.o $(BUILD)/libanalyzer.a $(BUILD)/libcommon.a
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)
$(BUILD)/cgtrace: $(call objs,$(LAUNCHER_SRC)) $(BUILD)/libcommon.a
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^

# ---- tests ---------------------------------------------------------------------------------------------------
UNIT_BIN := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC))
$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libanalyzer.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lcmocka $(ANALYZER_LIBS)
BENCH_BIN := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))

include $(sort $(wildcard analyzer/*/build.mk tests/*/build.mk examples/build.mk man/build.mk packaging/build.mk))

products: $(PRODUCTS)
tests: products benches $(UNIT_BIN) $(TEST_TARGETS)
benches: $(BENCH_TARGETS)
all: products $(EXTRA_TARGETS)

deps:
	@scripts/deps
check: deps
	@scripts/deps tests
	@scripts/deps browser
	@$(MAKE) --no-print-directory tests
	@BUILD=$(BUILD) $(PYTHON) tests/run.py $(CHECK)
demo: deps
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) scripts/demo
bench: deps
	@scripts/deps browser
	@BUILD=$(BUILD) scripts/deps bench
	@$(MAKE) --no-print-directory all benches
	@BUILD=$(BUILD) $(PYTHON) scripts/bench
# Instrumented code makes the compiler see conversions and uninitialised values that are not in the source: there,
# warnings are not errors. The plain builds hold the source to them.
asan:
	@$(MAKE) --no-print-directory BUILD=build-asan SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-error" OPT="-O1 -g" check
tsan:
	@$(MAKE) --no-print-directory BUILD=build-tsan SANITIZE="-fsanitize=thread -Wno-error" OPT="-O1 -g" check
# What of it is in `make check`, in full.
valgrind: deps
	@$(MAKE) --no-print-directory tests
	@BUILD=$(BUILD) VALGRIND=all $(PYTHON) tests/cli/t_valgrind.py
tidy: deps $(BUILD)/gen/cuda_undef.h
	@scripts/deps tidy
	@printf '%s\n' $(filter-out %.S,$(COMMON_SRC) $(PRELOAD_SRC) $(ANALYZER_SRC) analyzer/main.c $(LAUNCHER_SRC)) | \
	  xargs -P 2 -I '{}' clang-tidy --quiet '{}' -- -std=gnu17 $(CPPFLAGS) $(CUDA_CPPFLAGS)
format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

# So that LD_PRELOAD=libcgtrace.so needs no path; not for a package, nor for what is installed into a home.
tell_loader = @[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig || true

# All that is installed, built.
installable: products $(INSTALLABLE)
install: installable $(INSTALL_TARGETS)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
	install -m 755 $(BUILD)/cg-analyze $(BUILD)/cgtrace $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BUILD)/libcgtrace.so $(DESTDIR)$(PREFIX)/lib/libcgtrace.so.$(VERSION)
	ln -sf libcgtrace.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libcgtrace.so.$(ABI)
	ln -sf libcgtrace.so.$(ABI) $(DESTDIR)$(PREFIX)/lib/libcgtrace.so
	install -m 644 preload/cgtrace.h $(DESTDIR)$(PREFIX)/include
	$(tell_loader)
uninstall: $(UNINSTALL_TARGETS)
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/cg-analyze bin/cgtrace lib/libcgtrace.so lib/libcgtrace.so.$(ABI) lib/libcgtrace.so.$(VERSION) include/cgtrace.h)
	$(tell_loader)
# The builds that go by these names, and the one that BUILD names: when it is one (its flags tell), and nothing that we stand in, by whatever way.
NAMED_BUILDS := build build-asan build-clang build-tsan build-ub
clean:
	$(if $(filter $(patsubst %/,%,$(abspath $(BUILD)))/% $(patsubst %/,%,$(or $(realpath $(BUILD)),$(abspath $(BUILD))))/%,$(CURDIR)/. $(realpath $(CURDIR))/.),$(error clean: BUILD is '$(BUILD)', which holds the sources))
	@$(if $(filter $(NAMED_BUILDS),$(BUILD)),:,[ ! -e '$(BUILD)' ] || [ -e '$(BUILD)/flags' ]) || { echo "clean: $(BUILD) is kept: it has no file 'flags', as every build has" >&2; exit 1; }
	rm -rf $(NAMED_BUILDS) '$(BUILD)'

# Cleaning needs none of them, and refuses a BUILD before it is walked through.
ifeq ($(filter clean,$(MAKECMDGOALS)),)
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
endif
