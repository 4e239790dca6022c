#!/usr/bin/env python3
"""Pages of 64 KiB, as kernels for aarch64 and ppc64le may have them: the same calls are recorded as with pages of 4 KiB, a capture that was cut
off is recovered, and no page that is shared goes with one that is dropped."""
import collections
import json
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, LIBRARY, SANITIZED, Run, program  # noqa: E402

LARGE = 64 << 10
PAGES = f'{BUILD}/tests/faults/large_pages.so'
OFFSETS = '<24xQQQ8xQ'  # common/capture.h: publication, rings, strings, stacks


def records(run):
    """How many records of each kind and call the traces have, without samples that time decides on."""
    found = []
    for path in run.traces:
        with open(path, encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        found.append(collections.Counter((r['kind'], r.get('api'), r.get('action')) for r in lines if r['kind'] in ('op', 'memory', 'span_start')))
    return sorted(map(sorted, (c.items() for c in found)), key=str)


def same():
    for words in (['copies'], ['alloc_mix'], ['threads', '4', '2000', '200'], ['forks'], ['graphs'], ['processes', 'vfork']):
        command = [program(words[0]), *words[1:]]
        with Run(command) as small, Run(command, LD_PRELOAD=f'{LIBRARY}:{PAGES}') as large:
            tap.equal((large.status, large.out, large.err), (small.status, small.out, small.err), f'{" ".join(words)}: the program ends as it does')
            tap.equal([v for t in large.traces for v in check(t)], [], f'{" ".join(words)}: valid traces')
            tap.ok(records(large) == records(small) and len(large.traces) > 0, f'{" ".join(words)}: the same is recorded', f'{records(large)}\n{records(small)}')


def many():
    """Tables of live storages grow, and the smaller ones go."""
    program_text = ('import ctypes; cu = ctypes.CDLL("libcuda.so.1"); p, n = ctypes.c_void_p(), 20000; cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(p), 0); '
                    'cu.cuCtxSetCurrent(p)\ndef alloc():\n    p = ctypes.c_void_p()\n    assert cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(256)) == 0\n    return p\n'
                    'held = [alloc() for _ in range(n)]\nprint(sum(cu.cuMemFree_v2(p) for p in held))')
    with Run([sys.executable, '-c', program_text], LD_PRELOAD=f'{LIBRARY}:{PAGES}') as run:
        tap.equal((run.status, run.out, run.err), (0, b'0\n', b''), '20,000 storages: the program runs')
        found = dict(records(run)[0]) if run.traces else {}
        tap.equal([found.get(('memory', api, action)) for api, action in (('cuMemAlloc_v2', 'alloc'), ('cuMemFree_v2', 'free'))], [20000, 20000],
                  '20,000 storages: each is allocated, and freed')


def forked():
    """A signal's handler forks while its thread stores into its ring: what is left of the call goes into memory of the child's own."""
    if os.uname().machine != 'x86_64':
        tap.skip('a handler forks', "the stepping is x86-64's")
        return
    with Run([f'{BUILD}/tests/regions/between', 'fork-begin', '7'], LD_PRELOAD=f'{LIBRARY}:{PAGES}', CGTRACE_RING_BYTES='64K') as run:
        tap.equal((run.status, run.out, run.err), (0, b'', b''), 'a handler forks: each child goes on and ends as it wants to')
        spans = []
        for path in run.traces:
            with open(path, encoding='utf-8') as file:
                lines = [json.loads(line) for line in file]
            spans.append([line['name'] for line in lines if line['kind'] == 'span_start' and line.get('parent_id') and not line['measured']])
        tap.ok(len(spans) > 3 and sum('around' in names for names in spans) == 1, 'a handler forks: a trace of each', spans[:3])
        tap.equal([names for names in spans if 'child' in names and 'around' in names], [], 'a handler forks: nothing of a child is in the trace of its parent')
        tap.equal([v for path in run.traces for v in check(path)][:3], [], 'a handler forks: valid traces')


def cut_off():
    with Run([program('endings'), 'kill'], LD_PRELOAD=f'{LIBRARY}:{PAGES}') as run:
        work = f'{run.folder}/work'
        captures = [name for name in run.files if name.endswith('.cgt')]
        tap.equal(len(captures), 1, 'a killed program: its capture file')
        with open(f'{work}/{captures[0]}', 'rb') as file:
            offsets = struct.unpack_from(OFFSETS, file.read(4096))
        tap.ok(all(at > 0 and at % LARGE == 0 for at in offsets), 'its parts begin at large pages', offsets)
        done = subprocess.run([f'{BUILD}/cg-analyze', 'recover', f'{work}/{captures[0]}', '--output', f'{work}/r.jsonl'], capture_output=True, text=True)
        tap.equal((done.returncode, check(f'{work}/r.jsonl')), (0, []), 'it is recovered')


def main():
    if SANITIZED:
        tap.skip('pages of 64 KiB', 'sanitizers stand in for the same functions')
    else:
        same()
        many()
        forked()
        cut_off()
    tap.done()


main()
