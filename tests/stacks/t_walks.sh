#!/bin/sh
# The walk by kept rules against libgcc's own: programs without and with frame pointers. One of each: ok when all of it is.
dir=${BUILD:-build}/tests/stacks
number=0 failed=0
for program in walks walks_framed; do
    number=$((number + 1))
    output=$("$dir/$program")
    status=$?
    if [ $status = 0 ] && ! printf '%s\n' "$output" | grep -q '^not ok' && printf '%s\n' "$output" | grep -q '^1\.\.'; then
        echo "ok $number - $program"
    else
        echo "not ok $number - $program"
        printf '%s\n' "$output" | sed 's/^/# /'
        failed=1
    fi
done
echo "1..$number"
exit $failed
