#!/usr/bin/env python3
"""CG_ANALYZE_VECTORS: what is printed and what is refused is the same with the widest vectors of this processor and without any, byte for byte."""
import glob
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import ROOT, Folder, complete, done, end, equal, interval, memory, ok, op, region, run, start, text  # noqa: E402

WIDTHS = ('portable', 'avx2', 'avx512')
BLOCK = 256 << 10  # of the first one every line is parsed; behind it those that are like earlier ones are held against these
folder = Folder()


def answers(path, *words):
    """The answer, and those of the widths that differ from it."""
    first, *more = (run('import', path, *words, env={'CG_ANALYZE_VECTORS': width}) for width in WIDTHS)
    return first, [(path, width, answer, first) for width, answer in zip(WIDTHS[1:], more) if answer != first]


# Lines that are alike but for their numbers and names, as recorders write them: what wide vectors compare with earlier ones.
records = []
for i in range(2100):
    now = 100 + i // 5 * 2
    records += [start(f's{i}', 'm', f'layer.{i % 9}', now), op(f's{i}', f'op{i % 7}', now, 1, shape=[i % 90, 4], inputs=[f't{i % 50}']),
                memory('alloc', now, f'{i}', 64 * (i % 9 + 1), f's{i}', shape=[i % 61, 3]), interval(f's{i}', now, 2), end(f's{i}', 2)]
whole = text(region(*records, terminal=complete(1500))).encode()
different, status = [], []
for path in sorted(glob.glob(os.path.join(ROOT, 'tests', 'conformance', 'traces', '*.jsonl'))):
    first, other = answers(path)
    status.append(first[0])
    different += other
ok(len(whole) > 5.5 * BLOCK, 'the trace has many blocks', len(whole))
equal(len(status), 160, 'there are the conformance traces')
ok(not different and status.count(0) >= 100, 'conformance traces', f'{different!r:.3000}')
first, other = answers(folder.put('whole.jsonl', whole), '--threads', '1')
ok(first[0] == 0 and not other, 'a trace of 10,500 lines that are alike', f'{first!r:.1000} {other!r:.2000}')

random.seed(8)
different, status = [], []
for i in range(120):
    data = bytearray(whole)
    at = random.randrange(BLOCK if i % 6 else 0, len(data) - BLOCK)
    if i % 3:  # within what differs from line to line
        before = random.choice((b'"layer.', b'"op_name": "op', b'"span_id": "s', b'"shape": [', b'_ns": '))
        at = data.index(before, at) + len(before)
    length = i % 4  # 0: it is longer by one byte
    data[at:at + length] = random.choice((b'"', b'\\', b'9', b'\xff', b' ', b'-', b'\n')) * max(1, length)
    first, other = answers(folder.put('damaged.jsonl', bytes(data)), '--threads', '1')
    status.append(first[0])
    different += other
ok(not different and 0 < status.count(3) < len(status), 'damaged ones', f'{status} {different!r:.3000}')

status, out, err = run('overview', folder('whole.jsonl'), env={'CG_ANALYZE_VECTORS': 'wide'})
equal((status, out, err), (2, '', "cg-analyze: CG_ANALYZE_VECTORS is 'wide': expected portable, avx2 or avx512\n"), 'another word is refused')
ODD = {'CG_ANALYZE_VECTORS': 'a\n\x1b]0;x\u009b'}
equal(run('overview', folder('whole.jsonl'), env=ODD),
      (2, '', "cg-analyze: CG_ANALYZE_VECTORS is 'a\\x0a\\x1b]0;x\\x9b': expected portable, avx2 or avx512\n"), 'on one line, its controls shown')
for words in (['--version'], ['--help'], ['help', 'overview'], ['overview', '--help']):
    equal(run(*words, env=ODD), run(*words), f'{" ".join(words)} needs no vectors')
equal(run('overview', folder('whole.jsonl'), env={'CG_ANALYZE_VECTORS': ''})[0], 0, 'an empty one is none')
done()
