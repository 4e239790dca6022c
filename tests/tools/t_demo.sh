#!/usr/bin/env bash
# The demo on a machine without a GPU: it says so, trains, leaves a valid trace and shows what is in it.
set -u
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
if ldd "$build/libcgtrace.so" | grep -q 'libasan\|libtsan'; then
    echo 1..1
    echo "ok 1 - demo # SKIP the library is built with a sanitizer, whose runtime must be preloaded before it"
    exit 0
fi
echo 1..5
n=0
result() {
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$out" | head -40
        bad=1
    fi
}
bad=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
BUILD=$build scripts/demo >"$out" 2>&1
result $? "exit status 0"
grep -q "^Recording the example trainer, with NVTX ranges, on \|SIMULATED device" "$out"
result $? "says what it runs on"
grep -q "^step  200  loss 0\.0[0-4]" "$out"
result $? "the network has learnt"
python3 tests/tools/check_trace.py "$build/demo/trainer.jsonl" >>"$out" 2>&1
result $? "the trace is valid"
grep -q "^The trace: .*trainer.jsonl" "$out" && grep -q "peak live" "$out"
result $? "names the trace and shows its memory"
exit $bad
