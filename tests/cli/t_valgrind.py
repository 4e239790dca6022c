#!/usr/bin/env python3
"""cg-analyze under valgrind: nothing is read that was not written, and nothing is lost. A few traces of tests/conformance and one command of
each kind; VALGRIND=all (`make valgrind`): every trace, every kind of query, every format, also of traces that are refused."""
import concurrent.futures
import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import PROGRAM, ROOT, SANITIZED, Folder, document, done, equal, ok, run, skip  # noqa: E402

ALL = os.environ.get('VALGRIND') == 'all'
MEMCHECK = ['valgrind', '-q', '--error-exitcode=99', '--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite']
CASES = f'{ROOT}/tests/conformance'
TRACES = sorted(glob.glob(f'{CASES}/traces/*.jsonl'))
FULL = f'{CASES}/traces/case064.jsonl'  # a record of each kind
folder = Folder()
number = itertools.count()


def under_valgrind(words):
    """What valgrind tells of a command, or how its status differs from that without valgrind; None: nothing. OUT stands for a new path."""
    outs = [folder(f'out{next(number)}') for _ in range(2)]
    status, _, _ = run(*(w.replace('OUT', outs[0]) for w in words))
    p = subprocess.run([*MEMCHECK, PROGRAM, *(w.replace('OUT', outs[1]) for w in words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True, errors='replace')
    told = [line for line in p.stderr.splitlines() if line.startswith('==')]
    for out in outs:
        shutil.rmtree(out) if os.path.isdir(out) else os.path.exists(out) and os.remove(out)
    return None if p.returncode == status and not told else (words, status, p.returncode, told[:40])


def check(name, commands):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        equal([told for told in pool.map(under_valgrind, commands) if told], [], f'{name}: {len(commands)} commands')


def accepted():
    """The traces of the cases that are not refused."""
    def refused(path):
        with open(path.replace('/traces/', '/expected/').replace('.jsonl', '.json'), encoding='utf-8') as file:
            return json.load(file).get('rejected')
    return [path for path in TRACES if not refused(path)]


def bundles(traces):
    made = [folder('bundles', str(i)) for i in range(len(traces))]
    for path, bundle in zip(traces, made):
        status, _, err = run('report', path, '--bundle', bundle)
        ok(status == 0, 'a bundle for it', err)
    return made


def captured():
    """The capture file of a program that was aborted."""
    os.makedirs(folder('capture'))
    subprocess.run([os.path.join(os.path.dirname(PROGRAM), 'tests/record/drive'), 'abort'], cwd=folder('capture'),
                   env=dict(os.environ, CGTRACE_OUTPUT='t.jsonl'), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder('capture/t.jsonl.cgt')


def copies(traces):
    """Copies, for what is written beside a trace."""
    os.makedirs(folder('copies'))
    return [shutil.copy(path, folder('copies')) for path in traces]


def formats():
    with open(f'{ROOT}/analyzer/export/formats.def', encoding='utf-8') as file:
        return [name.replace('_', '-') for name in re.findall(r'^FORMAT\((\w+)\)', file.read(), re.M)]


def main():
    if SANITIZED or not shutil.which('valgrind'):
        skip('under valgrind', 'a sanitizer is at work' if SANITIZED else 'valgrind is not installed')
        return
    good = accepted()
    kinds = [kind['name'] for kind in document('protocol')['query_kinds']]
    cohorts = [sorted(glob.glob(f'{CASES}/compare/k00/{side}-*.jsonl')) for side in ('base', 'cand')]
    bundle = bundles([FULL])[0]
    compare = ['compare', '--unverified-traces', '--structure', '--baseline', *cohorts[0], '--candidate', *cohorts[1]]
    check('traces, taken and refused', [['import', path] for path in (TRACES if ALL else TRACES[1:160:80])])
    stacks = f'{ROOT}/tests/fuzz/corpus/trace/faults.jsonl'
    check('indexes', [['index', path] for path in copies([*(good[::8] if ALL else [FULL]), stacks])])
    check('bundles', [['report', path, '--bundle', 'OUT'] for path in (good[::8] if ALL else [FULL])] + [['verify', '--semantic', bundle]] +
          ([['overview', bundle], ['series', bundle], ['view', bundle, '-o', 'OUT']] if ALL else []))
    check('pages', [['view', path, '-o', 'OUT'] for path in (good[::8] if ALL else [FULL])])
    check('queries', [['query', path, '--kind', kind] for path in (good[::40] if ALL else [FULL]) for kind in (kinds if ALL else ['leaks'])])
    check('exports', [['export', path, '--to', name, '-o', 'OUT'] for path in (good[::20] if ALL else [FULL])
                      for name in (formats() if ALL else ['perfetto'])])
    check('comparisons', [compare] + ([[*compare, '--min-effect', '1'], ['compare', '--baseline', bundle, '--candidate', bundle]] if ALL else []))
    check('capture files', [['recover', captured(), '-o', 'OUT']])
    check('call stacks', [['symbolize', stacks, '-o', 'OUT']])


main()
done()
