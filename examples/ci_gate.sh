#!/usr/bin/env bash
# Is the candidate slower? Five runs each of two builds of a program, taken in turn, compared by the duration of one range.
#
# usage: RANGE=train_step STEP=10 ci_gate.sh BASELINE CANDIDATE
#        BASELINE and CANDIDATE are commands, each one word: "./trainer-main 50" "./trainer-branch 50"
#
# Exit status: 0 it is not, 1 it is, or the runs cannot be compared, 2 usage. RUNS (5 or more, 5), MIN_EFFECT (percent that does not
# matter, 5), IDENTITY (a JSON file with what makes runs comparable; one that says so little is made up), OUT (a new folder that is kept).
set -eu

if [ $# -ne 2 ] || [ -z "${RANGE:-}" ]; then
    echo 'usage: RANGE=name [STEP=n] ci_gate.sh "BASELINE COMMAND" "CANDIDATE COMMAND"' >&2
    exit 2
fi
runs=${RUNS:-5} step=${STEP:-1} effect=${MIN_EFFECT:-5}
if [ -n "${OUT:-}" ]; then
    mkdir "$OUT" # a folder that is there holds other runs
    out=$OUT
else
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
fi

identity() { # side
    if [ -n "${IDENTITY:-}" ]; then
        cat "$IDENTITY"
        return
    fi
    cat <<EOF
{"implementation_id": "$1", "workload_id": "$RANGE", "model_id": "ci", "config_id": "ci", "data_id": "ci", "seed_policy": "fixed",
 "physical_batch": 1, "accumulation_steps": 1, "precision": "unknown", "device_state": "ci"}
EOF
}

record() { # side, run, command
    # A program's own failure is a failure of the gate: nothing can be said then.
    # Without device timing: the range's own time is compared, and nothing but the recorder's hooks is in it.
    cgtrace record --quiet --timing off --memory-sample-ms 0 --output "$out/$1.$2.jsonl" --range "$RANGE" --step "$step" --identity "$out/$1.json" \
        --contract "$out/contract.json" \
        -- sh -c "exec $3" >"$out/$1.$2.log" 2>&1 || { echo "ci_gate: run $2 of the $1 failed: see its output" >&2; cat "$out/$1.$2.log" >&2; exit 1; }
    cg-analyze report "$out/$1.$2.jsonl" --bundle "$out/$1.$2" >/dev/null
}

# What is measured stands for the program as it runs in production; of the rest the trace says what it saw.
cat >"$out/contract.json" <<EOF
{"measurement_scope": "production_equivalent", "operations": "partial", "logical_memory": "partial", "physical_memory": "none",
 "device_timing": "none"}
EOF
identity baseline >"$out/baseline.json"
identity candidate >"$out/candidate.json"
for run in $(seq "$runs"); do # in turn: what changes on the machine meanwhile meets both
    record baseline "$run" "$1"
    record candidate "$run" "$2"
done
baseline=() candidate=()
for run in $(seq "$runs"); do
    baseline+=("$out/baseline.$run")
    candidate+=("$out/candidate.$run")
done
cg-analyze compare --baseline "${baseline[@]}" --candidate "${candidate[@]}" --min-effect "$effect" --fail-on slower --format table
