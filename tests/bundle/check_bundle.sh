#!/bin/bash
# Checks a bundle with coreutils and jq alone, independently of cg-analyze (doc/spec/bundle.md 2, 6, 7).
# usage: check_bundle.sh BUNDLE; exit status 0 when it verifies, else one line on standard error and 1.
set -u
fail() { echo "$1" >&2; exit 1; }
cd -- "$1" 2>/dev/null || fail 'not a directory'
[ -f bundle.json ] && [ ! -L bundle.json ] || fail 'no manifest'
jq -e '.schema == "candle-graph/bundle/1" and (.run_id | type == "string")' bundle.json >/dev/null || fail 'bad manifest'
[ -z "$(find . -mindepth 1 ! -type f ! -type d -print -quit)" ] || fail 'a link or a special file'
LC_ALL=C
declared=$(jq -r '.files[].path' bundle.json | sort)
observed=$(find . -type f ! -path ./bundle.json -printf '%P\n' | sort)
[ "$declared" = "$observed" ] || fail 'declared and observed files differ'
jq -r '.files[] | "\(.sha256)  \(.path)"' bundle.json | sha256sum --check --strict --status || fail 'a digest differs'
while read -r bytes path; do
    [ "$(stat -c %s -- "$path")" = "$bytes" ] || fail "$path: its size differs"
done < <(jq -r '.files[] | "\(.bytes) \(.path)"' bundle.json)
