#!/usr/bin/env python3
"""Sessions that come and go under threads that allocate, free and nest ranges without pause (stress.c): every trace is valid, whatever the
threads were doing at its borders; also where the kernel does not order the threads for us (membarrier)."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED  # noqa: E402

STRESS = f'{BUILD}/tests/regions/stress'


def run(threads, sessions, *words):
    name = ' '.join([f'{sessions} sessions under {threads} threads', *words])
    seen = dict(freed=0, preexisting=0, straddling=0, start=0, end=0, both=0, wrong=[])
    with tempfile.TemporaryDirectory(prefix='cgtrace-stress-') as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_')}
        env.update(CGTRACE_OUTPUT='t.%n.jsonl', CGTRACE_RING_BYTES='256K', CGTRACE_QUIET='1')
        done = subprocess.run([STRESS, str(threads), str(sessions), *words], cwd=folder, env=env, capture_output=True, text=True, timeout=500)
        tap.equal((done.returncode, done.stdout, done.stderr), (0, f'captured {sessions}\n', ''), f'{name}: all are captured')
        tap.equal(sorted(os.listdir(folder)), sorted(f't.{n}.jsonl' for n in range(1, sessions + 1)), f'{name}: a trace each, and nothing else')
        for file in os.listdir(folder):
            path = f'{folder}/{file}'
            seen['wrong'] += check(path)[:3]
            look(path, seen)
    tap.ok(not seen['wrong'], f'{name}: every trace is valid', '\n'.join(seen['wrong'][:20]))
    # What the test is about has happened: without it the rest says nothing.
    tap.ok(all(seen[k] > 0 for k in ('freed', 'preexisting', 'straddling', 'start', 'end')), f'{name}: storages and ranges cross the borders, calls straddle them', seen)


def look(path, seen):
    before = set()
    with open(path, encoding='utf-8') as file:
        for line in map(json.loads, file):
            if line['kind'] == 'memory' and line.get('preexisting'):
                before.add(line['storage_id'])
                seen['preexisting'] += 1
                if line['timestamp_ns'] != 0:
                    seen['wrong'].append(f'{path}: {line["storage_id"]} is there before, but not at time 0')
            elif line['kind'] == 'memory' and line['action'] == 'free':
                seen['freed'] += line['storage_id'] in before
            elif line['kind'] == 'span_start' and line['measured']:
                if (line['name'], line.get('enclosing')) != ('step', ['around']):
                    seen['wrong'].append(f'{path}: the region is {line}')
            elif line['kind'] in ('span_start', 'span_end') and 'clipped' in line:
                seen[line['clipped']] += 1
            elif line['kind'] == 'terminal':
                seen['straddling'] += line['coverage']['not_covered']['straddling_calls']


run(16 if SANITIZED else 8, 20 if SANITIZED else 200)
run(4, 20, 'fences')  # no membarrier from the start: the threads have fences of their own
run(4, 20, 'refused')  # no membarrier from the second session on
tap.done()
