#!/usr/bin/env python3
"""--threads: what is printed and what is refused is the same with one, two and five threads, byte for byte."""
import glob
import gzip
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import ROOT, Folder, complete, done, end, equal, interval, memory, ok, op, read, region, run, start, text  # noqa: E402

COMMANDS = (('import',), ('overview',), ('query', '--kind', 'memory'))
THREADS = ('1', '2', '5')
BLOCK = 256 << 10  # bytes that a thread takes at a time
folder = Folder()


def answers(path, commands=COMMANDS, stdin=b''):
    """The answer of each command, and those of how many threads differ from it."""
    first, other = [], []
    for command in commands:
        one, *more = (run(command[0], path, *command[1:], '--threads', n, stdin=stdin) for n in THREADS)
        first.append(one)
        other += [(command, n, answer, one) for n, answer in zip(THREADS[1:], more) if answer != one]
    return first, other


def same(path, name, **more):
    first, other = answers(path, **more)
    ok(not other, name, f'{other!r:.3000}')
    return first


# ---- the conformance traces, drawn out by blank lines to many blocks ----
paths = sorted(glob.glob(os.path.join(ROOT, 'tests', 'conformance', 'traces', '*.jsonl')))
different, accepted = [], 0
for path in paths:
    lines = read(path).splitlines(keepends=True)
    blank = (b' ' * 1023 + b'\n') * (6 * BLOCK // 1024 // len(lines) + 1)
    drawn = folder.put('drawn.jsonl', blank.join(lines))
    first, other = answers(drawn)
    accepted += first[0][0] == 0
    different += [(path, *o) for o in other]
equal(len(paths), 160, 'there are the conformance traces')
ok(accepted >= 100, 'most of them are accepted', accepted)
ok(not different, 'conformance traces', f'{different!r:.3000}')

# ---- a trace of several blocks, and what a damaged one is refused for ----
inside, now = [], 100
for i in range(3000):
    now += 10
    inside += [start(f's{i}', 'm', f'layer.{i % 40}', now), op(f's{i}', f'op{i % 7}', now, 3, shape=[i % 90, 4], inputs=[f't{i % 50}']),
               memory('alloc', now, f'{i % 300}-{i}', 64 * (i % 9 + 1), f's{i}', shape=[i % 61, 3]),
               interval(f's{i}', now, 2), end(f's{i}', 5)]
records = region(*inside, terminal=complete(now + 5000))
records[-3]['duration_ns'] = now + 1000
records[-2]['duration_ns'] = now + 3000
whole = text(records).encode()
ok(len(whole) > 8 * BLOCK, 'the trace has many blocks', len(whole))
path = folder.put('whole.jsonl', whole)
first = same(path, 'a trace of many blocks')
equal([a[0] for a in first], [0, 0, 0], 'which is accepted')

bundles = []
for n in THREADS:
    equal(run('report', path, '--bundle', folder(f'bundle{n}'), '--threads', n)[0], 0, f'report with {n} threads')
    bundles.append({name: read(folder(f'bundle{n}', name)) for name in os.listdir(folder(f'bundle{n}'))})
ok(len(bundles[0]) > 3 and bundles[1:] == bundles[:-1], 'a bundle has the same bytes', [sorted(b) for b in bundles])

processors = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(processors)})
alone = [run(c[0], path, *c[1:]) for c in COMMANDS]
os.sched_setaffinity(0, processors)
ok(alone == first, 'it does not depend on how many processors there are')
ok([run(c[0], path, *c[1:]) for c in COMMANDS] == first, 'without --threads it is the same')

time.sleep(max(0.0, os.stat(path).st_ctime + 2.05 - time.time()))  # an index says so when a change would not show in the times of its trace
indexes = []
for n in THREADS:
    equal(run('index', path, '--threads', n)[0], 0, f'index with {n} threads')
    indexes.append(open(f'{path}.cgx', 'rb').read())
ok(indexes[1:] == indexes[:-1] and len(indexes[0]) > 0, 'an index has the same bytes, too', [len(i) for i in indexes])
os.remove(f'{path}.cgx')

gz = folder.put('whole.jsonl.gz', gzip.compress(whole, 1))
equal([a[0] for a in same(gz, 'compressed', commands=COMMANDS[:1])], [0], 'which is accepted')
ok(same('-', 'standard input', commands=COMMANDS[:1], stdin=whole)[0][1] == first[0][1], 'and says the same')

random.seed(10)
different, refused = [], 0
for i in range(40):
    data = bytearray(whole)
    for _ in range(i % 3 + 1):
        at = random.randrange(len(data))
        change = random.randrange(4)
        if change == 0:
            data[at] = random.choice(b'{}[]":,\\\0\n\xff9')
        elif change == 1:
            del data[at:at + random.randrange(1, 400)]
        elif change == 2:
            data[at:at] = data[at - 300:at]
        else:
            del data[at + (len(data) - at) // 2:]
    first, other = answers(folder.put('damaged.jsonl', bytes(data)), COMMANDS[:1])
    refused += first[0][0] == 3
    different += other
ok(refused >= 20, 'most of the damaged traces are refused', refused)
ok(not different, 'damaged traces', f'{different!r:.3000}')

# ---- what is odd ----
lines = whole.splitlines(keepends=True)
middle = len(lines) // 2
for name, data, status, message in (
        ('cut in the middle of a line', b''.join(lines[:middle])[:-9], 3, 'the file is cut off here'),
        ('carriage returns', whole.replace(b'\n', b'\r\n'), 0, ''),
        ('no last line feed', whole[:-1], 0, ''),
        ('a byte order mark', b'\xef\xbb\xbf' + whole, 3, ':1:1: byte order mark'),
        ('a byte order mark late', b''.join(lines[:middle] + [b'\xef\xbb\xbf'] + lines[middle:]), 3, f':{middle + 1}:1: byte order mark'),
        ('a zero byte', b''.join(lines[:middle] + [b'\0\n'] + lines[middle:]), 3, f':{middle + 1}:1: expected a JSON object'),
        ('a record behind the terminal', whole + lines[middle], 3, f':{len(lines) + 1}: a record follows the terminal'),
        ('a line of 100 MB', lines[0] + lines[1] + b'{"kind":"op","x":"' + b'y' * 100_000_000 + b'"}\n' + b''.join(lines[2:]), 3, ':3:'),
        ('a line of 100 MB that is none', lines[0] + b'y' * 100_000_000 + b'\n' + b''.join(lines[1:]), 3, ':2:1: expected a JSON object'),
        ('two defects', b''.join(lines[:middle] + [b'{"kind":1}\n'] + lines[middle:] + [b'x\n']), 3, f':{middle + 1}:9: '),
        ('nothing', b'', 3, 'no record at all')):
    path = folder.put('odd.jsonl', data)
    (answer,) = same(path, name, commands=COMMANDS[:1])
    ok(answer[0] == status and message in answer[2], f'{name}: the answer', f'{answer!r:.2000}')

for words in (('0',), ('65',), ('two',)):
    status, out, err = run('overview', folder('whole.jsonl'), '--threads', *words)
    ok(status == 2 and 'from 1 to 64' in err, f'--threads {words[0]} is refused', err)
done()
