#!/usr/bin/env python3
"""cg-analyze index: the same bytes as without it, from every command; and whatever is wrong with an index, the trace is read."""
import glob
import os
import shutil
import stat
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
from cli import ROOT, complete, document, done, end, equal, memory, meta, ok, op, run, skip, start, text, unprivileged  # noqa: E402

KINDS = ('slowest-host', 'slowest-device', 'heaviest', 'memory', 'spans', 'labels', 'kernels', 'api', 'leaks', 'peak', 'ledger', 'oom')


def settle(folder):
    """Until a change of the files would show in their times."""
    newest = max(os.stat(p).st_ctime for p in glob.glob(f'{folder}/*'))
    time.sleep(max(0.0, newest + 2.05 - time.time()))


def conformance(folder):
    """Every trace that the analyzer takes, derived with and without its index."""
    paths = []
    for source in sorted(glob.glob(f'{ROOT}/tests/conformance/traces/*.jsonl')):
        shutil.copy(source, folder)
        paths.append(os.path.join(folder, os.path.basename(source)))
    settle(folder)
    same, refused, other = 0, 0, []
    for path in paths:
        status, out, err = run('index', path)
        plain = run('import', path, '--no-index')
        if status:
            refused += 1
            if os.path.exists(path + '.cgx') or plain[0] != status or plain[2].split(': ', 1)[1] not in err:
                other.append((path, status, err, plain))
            continue
        indexed = run('import', path)
        same += indexed == plain
        if indexed != plain or '"index_bytes"' not in out:
            other.append((path, indexed[0], indexed[2]))
    ok(len(paths) == 160 and not other and same > 100 and same + refused == 160, f'{same} of 160 traces: the same packet; the other {refused} have no index', other[:3])


def sample(path, more=()):
    """A trace with something of everything that queries ask for."""
    frames = [dict(module='/a.so', offset=16, symbol='f'), dict(module='/a.so', offset=32, symbol='main')]
    records = [meta(host='h', pid=1, rank=0, clock=dict(mult=1 << 32, shift=32, first=dict(tick=1, monotonic_ns=1, realtime_ns=1, spread_ticks=1))),
               start('r', None, 'session', 0), start('m', 'r', 'step', 10, measured=True), start('a', 'm', 'forward', 20)]
    for i in range(200):
        records += [op('a', f'op{i % 7}', 30 + i, 1, tid=5, api='cuLaunchKernel', correlation=i),
                    memory('alloc', 40 + i, f's{i}', 1000 + i, span='a', tid=5, memory_kind='device', stack=dict(id=f'stack:{i % 3}', frames=frames[i % 2:])),
                    dict(kind='device_interval', span_id='a', device='cuda:0', stream_id='7', clock_id='cuda:0/ctx:1', backend='events', start_ns=100 + 10 * i,
                         duration_ns=5, activity='kernel', name=f'k{i % 5}', correlation=i)]
    records += [memory('free', 300, f's{i}', 1000 + i, span='a', tid=5) for i in range(150)]
    records += [dict(kind='device_memory', timestamp_ns=310, device='cuda:0', used_bytes=5000, free_bytes=100, capacity_bytes=5100)]
    records += [end('a', 900), end('m', 950), end('r', 1000), *more, complete(1000)]
    with open(path, 'w') as file:
        file.write(text(records))
    return path


def all_commands(folder, path):
    different = []
    words = [['query', path, '--kind', kind] for kind in KINDS]
    words += [['summary', path], ['overview', path], ['import', path], ['query', path, '--kind', 'leaks', '--by', 'span', '--format', 'csv'],
              ['export', path, '--to', 'folded', '-o', '-'], ['export', path, '--to', 'chrome', '-o', '-'], ['query', path, '--kind', 'api', '--verify-index']]
    for command in words:
        plain = run(*[w for w in command if w != '--verify-index'], '--no-index')
        with_index = run(*command)
        if with_index != plain or plain[0]:
            different.append((command, with_index[0], with_index[2], plain[2]))
    ok(not different, f'{len(words)} commands: the same bytes with and without', different[:3])
    run('view', path, '-o', f'{folder}/a.html', '--no-index')
    run('view', path, '-o', f'{folder}/b.html')
    ok(open(f'{folder}/a.html', 'rb').read() == open(f'{folder}/b.html', 'rb').read(), 'the page is the same')


def same_bytes(path):
    """No byte of it that nothing set, and none that says where in memory something stood."""
    indexes = []
    for fill in (1, 255):  # what malloc() gives is filled with; addresses are others in each process
        equal(run('index', path, env={'MALLOC_PERTURB_': str(fill)})[0], 0, 'an index is made')
        with open(path + '.cgx', 'rb') as file:
            indexes.append(file.read())
    different = [i for i, (a, b) in enumerate(zip(*indexes)) if a != b]
    ok(len(indexes[0]) == len(indexes[1]) and not different, 'an index made again has the same bytes', different[:20])


def not_used(path, words, name, kind='memory'):
    """A query answers from the trace, and says why the index is left."""
    plain = run('query', path, '--kind', kind, '--no-index')
    got = run('query', path, '--kind', kind)
    ok(got[:2] == plain[:2] and plain[0] == 0 and got[2].count('\n') == 1 and 'not used' in got[2] and words in got[2], name, f'{got[0]} {got[2]}')


def stale(folder):
    path = sample(f'{folder}/stale.jsonl')
    settle(folder)
    run('index', path)
    before = os.stat(path)
    content = open(path, 'rb').read()
    at = content.index(b'"bytes": 1000') + 9
    with open(path, 'r+b') as file:  # in place: the same inode
        file.seek(at)
        file.write(b'2')
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(path)
    equal((after.st_size, after.st_mtime_ns, after.st_ino), (before.st_size, before.st_mtime_ns, before.st_ino), 'a trace changed by a byte, of the same size and mtime')
    not_used(path, 'its content is another one', 'is noticed')
    ok(document('query', path, '--kind', 'memory')['result'] != document('query', shutil.copy(f'{folder}/sample.jsonl', f'{folder}/other.jsonl'),
                                                                         '--kind', 'memory')['result'], 'and its own answer is given')
    with open(path, 'wb') as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    status, _, err = run('query', path, '--kind', 'memory')
    equal((status, err), (0, ''), 'the old content again: its hash is right, whatever the times say')
    with open(path, 'ab') as file:
        file.write(b'\n')
    not_used(path, 'another size', 'a trace that has grown')


def copied(folder, path):
    shutil.copy(path, f'{folder}/copy.jsonl')
    shutil.copy(path + '.cgx', f'{folder}/copy.jsonl.cgx')
    status, _, err = run('query', f'{folder}/copy.jsonl', '--kind', 'memory')
    equal((status, err), (0, ''), 'a copy of a trace and its index: the hash is right')
    other = sample(f'{folder}/copy.jsonl', [op('a', 'more', 500, 1)])
    not_used(other, 'another size', 'the index of another trace')


def damaged(folder, path):
    whole = open(path + '.cgx', 'rb').read()
    target = f'{folder}/damaged.jsonl'
    shutil.copy(path, target)
    plain = run('import', target, '--no-index')
    wrong, told = [], 0
    for at in [*range(0, 400, 7), *range(400, len(whole), max(1, len(whole) // 150))]:
        with open(target + '.cgx', 'wb') as file:
            file.write(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        got = run('import', target)
        told += 'not used' in got[2]
        if got[:2] != plain[:2]:
            wrong.append((at, got[0], got[2]))
    ok(not wrong and told > 50, f'flipped bytes: {told} were told, none changes the answer', wrong[:3])
    wrong = []
    for length in [*range(0, 300, 29), *range(300, len(whole), len(whole) // 20), len(whole) - 1]:
        with open(target + '.cgx', 'wb') as file:
            file.write(whole[:length])
        got = run('import', target)
        if got[:2] != plain[:2] or 'not used' not in got[2]:
            wrong.append((length, got[0], got[2]))
    ok(not wrong, 'cut indexes', wrong[:3])

    def patched(name, at, value, words):
        with open(target + '.cgx', 'wb') as file:
            file.write(whole[:at] + value + whole[at + len(value):])
        not_used(target, words, name)
    patched('an index of another version', 16, (99).to_bytes(8, 'little'), 'another version')
    patched('an index of the other byte order', 8, whole[8:16][::-1], 'another byte order')
    patched('another file', 0, b'GIF89a..', 'it is no index')
    os.remove(target + '.cgx')
    os.mkdir(target + '.cgx')
    not_used(target, 'no regular file', 'a folder in its place')
    os.rmdir(target + '.cgx')
    os.mkfifo(target + '.cgx')
    not_used(target, 'no regular file', 'a pipe in its place')
    os.remove(target + '.cgx')


def owners(folder, path):
    target = f'{folder}/theirs.jsonl'
    shutil.copy(path, target)
    shutil.copy(path + '.cgx', target + '.cgx')
    if os.geteuid() != 0:
        skip('an index of somebody else', 'needs to be root')
        return
    os.chown(target + '.cgx', 12345, 12345)
    not_used(target, 'belongs neither', 'an index of somebody else')
    os.chown(target, 12345, 12345)
    equal(run('query', target, '--kind', 'memory')[2], '', 'an index of the owner of the trace')


def places(folder, path):
    os.chmod(path, 0o640)
    equal((run('index', path)[0], stat.S_IMODE(os.stat(path + '.cgx').st_mode)), (0, 0o640), 'nobody may read the index who may not read the trace')
    os.chmod(path, 0o644)
    locked = f'{folder}/locked'
    os.mkdir(locked)
    shutil.copy(path, f'{locked}/t.jsonl')
    os.chmod(locked, 0o555)
    os.chmod(folder, 0o755)
    answer = unprivileged('index', f'{locked}/t.jsonl')
    if answer is None:
        skip('a folder that cannot be written', 'no other user to be had')
    else:
        ok(answer[0] == 5 and 't.jsonl.cgx' in answer[1] and os.listdir(locked) == ['t.jsonl'], 'a folder that cannot be written', answer)
    for name, words, status, said in (('standard input', ['-'], 2, 'standard input'), ('no such trace', [f'{folder}/none.jsonl'], 3, 'none.jsonl')):
        got = run('index', *words)
        ok(got[0] == status and said in got[2], name, got)
    os.system(f'gzip -k {path}')
    got = run('index', path + '.gz')
    ok(got[0] == 3 and 'compressed' in got[2] and not os.path.exists(path + '.gz.cgx'), 'a compressed trace has none', got)
    with open(f'{folder}/bad.jsonl', 'w') as file:
        file.write('{"kind":"meta"}\n')
    got = run('index', f'{folder}/bad.jsonl')
    ok(got[0] == 3 and not os.path.exists(f'{folder}/bad.jsonl.cgx'), 'nor has what is no trace', got)
    run('report', path, '--bundle', f'{folder}/bundle')
    got = run('index', f'{folder}/bundle/trace.jsonl')
    ok(got[0] == 2 and sorted(os.listdir(f'{folder}/bundle')) == sorted(n for n in os.listdir(f'{folder}/bundle') if not n.endswith('.cgx')),
       'nothing is written into a bundle', got)
    run('index', path)
    ranks = [path, shutil.copy(path, f'{folder}/rank1.jsonl')]
    second = open(ranks[1]).read().replace('"rank": 0', '"rank": 1').replace('run-1', 'run-2')
    with open(ranks[1], 'w') as file:
        file.write(second)
    run('index', ranks[1])
    equal(run('ranks', *ranks), run('ranks', *ranks, '--no-index'), 'ranks, from their indexes')


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f'{folder}/all')
        conformance(f'{folder}/all')
        path = sample(f'{folder}/sample.jsonl')
        settle(folder)
        made = document('index', path)
        equal((made['schema'], made['trace'], made['index'], made['trace_bytes'], made['index_bytes'], made['times_tell_changes']),
              ('cgtrace/index/1', path, path + '.cgx', os.path.getsize(path), os.path.getsize(path + '.cgx'), True), 'what is made')
        same_bytes(path)
        all_commands(folder, path)
        stale(folder)
        copied(folder, path)
        damaged(folder, path)
        owners(folder, path)
        places(folder, path)
    done()


main()
