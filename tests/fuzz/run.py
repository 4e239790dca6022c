#!/usr/bin/env python3
"""usage: run.py FOLDER SECONDS [WORD...]: runs FOLDER/fuzz_* one after the other for so many seconds each; prints what each did as a table.

Ends with 1 when one found a crash, a leak, an input that takes over a second, or more than 2 GiB of memory; the input is kept in FOLDER."""
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = ['-timeout=10', '-report_slow_units=1', '-rss_limit_mb=2048', '-print_final_stats=1']


def inputs(name):
    more = [os.path.join(HERE, '..', 'conformance', 'traces')] if name in ('trace', 'evidence') else []
    return [p for p in [os.path.join(HERE, 'corpus', name), *more] if os.path.isdir(p)]


def fuzz(binary, folder, seconds):
    name = os.path.basename(binary)[len('fuzz_'):]
    corpus = os.path.join(folder, 'corpus', name)
    os.makedirs(corpus, exist_ok=True)
    words = next(p for p in (os.path.join(HERE, f'{name}.dict'), os.path.join(HERE, 'json.dict')) if os.path.exists(p))
    command = [binary, f'-max_total_time={seconds}', f'-dict={words}', f'-artifact_prefix={folder}/{name}-', *LIMITS, corpus, *inputs(name)]
    begin = time.monotonic()
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors='replace',
                            env=dict(os.environ, ASAN_OPTIONS='allocator_may_return_null=1'))
    text = result.stderr
    runs = re.search(r'stat::number_of_executed_units:\s*(\d+)', text) or re.search(r'#(\d+)\s+\S+(?!.*#\d)', text, re.S)
    edges = re.findall(r'cov: (\d+)', text)
    slow = re.findall(r'Test unit written to (\S*slow-unit\S*)', text)
    found = [line for line in text.splitlines() if re.match(r'.*(SUMMARY|ERROR: |runtime error)', line)]
    print(f'| {name} | {int(runs.group(1)) if runs else 0} | {edges[-1] if edges else 0} | {time.monotonic() - begin:.0f} | {len(slow)} | '
          f'{"none" if result.returncode == 0 else found[-1] if found else f"status {result.returncode}"} |', flush=True)
    if result.returncode:
        sys.stderr.write(text[-6000:])
    return result.returncode == 0 and not slow, int(runs.group(1)) if runs else 0


def main():
    folder, seconds, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    good, total = True, 0
    print('| target | executions | edges covered | seconds | inputs over 1 s | found |\n|---|---|---|---|---|---|', flush=True)
    for binary in sorted(p for p in glob.glob(f'{folder}/fuzz_*') if not os.path.splitext(p)[1]):
        if words and not any(w in binary for w in words):
            continue
        fine, runs = fuzz(binary, folder, seconds)
        good, total = good and fine, total + runs
    print(f'| all | {total} | | | | {"none" if good else "see above"} |')
    sys.exit(0 if good and total else 1)


main()
