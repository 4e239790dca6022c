#!/usr/bin/env python3
"""usage: run.py FOLDER SECONDS JOBS [WORD...]: runs FOLDER/fuzz_* for so many seconds each, JOBS at a time; prints what each did as a table.

Ends with 1 when one found a crash, a leak, an input that takes over a second, or more than 2 GiB of memory; the input is kept in FOLDER. Three
quarters of the time go to short inputs, of which many more can be tried."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = ['-timeout=60', '-report_slow_units=1', '-rss_limit_mb=2048', '-print_final_stats=1']
TRACES = ('trace', 'evidence', 'query', 'export')
SHORT, LONG = 4352, 32768  # bytes of an input; the first holds all of corpus/trace


def inputs(name, long):
    kept = [os.path.join(HERE, 'corpus', name)]
    if name in TRACES:
        kept.append(os.path.join(HERE, 'corpus', 'trace'))
        if long:
            kept.append(os.path.join(HERE, '..', 'conformance', 'traces'))
    return [p for p in dict.fromkeys(kept) if os.path.isdir(p)]


def takes(binary, path):
    """Seconds of processor time for one input. libFuzzer goes by the clock, by which everything is slow once others are busy."""
    child = subprocess.Popen([binary, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, child.returncode, usage = os.wait4(child.pid, 0)
    return usage.ru_utime + usage.ru_stime


def once(binary, name, folder, seconds, long):
    """(executions, edges, inputs over a second, found or None, output) of one process."""
    corpus = os.path.join(folder, 'corpus', name)
    os.makedirs(corpus, exist_ok=True)
    words = next(p for p in (os.path.join(HERE, f'{name}.dict'), os.path.join(HERE, 'json.dict')) if os.path.exists(p))
    command = [binary, f'-max_total_time={seconds}', f'-max_len={LONG if long else SHORT}', f'-dict={words}', f'-artifact_prefix={folder}/{name}-', *LIMITS,
               corpus, *inputs(name, long)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors='replace',
                            env=dict(os.environ, ASAN_OPTIONS='allocator_may_return_null=1:quarantine_size_mb=16'))
    text = result.stderr
    runs = re.search(r'stat::number_of_executed_units:\s*(\d+)', text) or re.search(r'#(\d+)\s+\S+(?!.*#\d)', text, re.S)
    edges = re.findall(r'cov: (\d+)', text)
    slow = sum(takes(binary, path) > 1 for path in re.findall(r'Test unit written to (\S*slow-unit\S*)', text))
    told = [line for line in text.splitlines() if re.match(r'.*(SUMMARY|ERROR: |runtime error)', line)]
    found = None if result.returncode == 0 else told[-1] if told else f'status {result.returncode}'
    return int(runs.group(1)) if runs else 0, int(edges[-1]) if edges else 0, slow, found, text


def fuzz(binary, folder, seconds):
    name = os.path.basename(binary)[len('fuzz_'):]
    begin, runs, edges, slow, found = time.monotonic(), 0, 0, 0, None
    for long in (False, True):
        more, edges_now, slow_now, found, text = once(binary, name, folder, max(1, seconds // 4 if long else seconds - seconds // 4), long)
        runs, edges, slow = runs + more, max(edges, edges_now), slow + slow_now
        if found:
            sys.stderr.write(text[-6000:])
            break
    print(f'| {name} | {runs} | {edges} | {time.monotonic() - begin:.0f} | {slow} | {found or "none"} |', flush=True)
    return not found and not slow, runs


def main():
    folder, seconds, jobs, words = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    binaries = sorted(p for p in glob.glob(f'{folder}/fuzz_*') if not os.path.splitext(p)[1])
    binaries = [b for b in binaries if not words or any(w in b for w in words)]
    begin = time.monotonic()
    print('| target | executions | edges covered | seconds | inputs over 1 s | found |\n|---|---|---|---|---|---|', flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda binary: fuzz(binary, folder, seconds), binaries))
    good, total = all(fine for fine, _ in results), sum(runs for _, runs in results)
    print(f'| all | {total} | | {time.monotonic() - begin:.0f} | | {"none" if good else "see above"} |')
    sys.exit(0 if good and total else 1)


main()
