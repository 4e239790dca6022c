#!/usr/bin/env python3
"""INPUT: its forms, the step by step resolution, what is refused (doc/spec/cli.md 2)."""
import gzip
import os
import pty
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import PROGRAM, SANITIZED, Folder, document, done, equal, failed, ok, region, run, skip, stats, text, unprivileged  # noqa: E402

folder = Folder()
RECORDS = region()
TRACE = folder.put('t.jsonl', RECORDS)


def shown(path, **more):
    answer = document('query', path, '--kind', 'capabilities', **more)
    return answer and answer['input']


def raw(requested, trace):
    return {'evidence_source': 'trace_reconstruction', 'gpu_identity_bound': False, 'kind': 'raw_trace',
            'requested_path': requested, 'trace_path': trace}


# ---- what is read, and how it is named ----
equal(shown(TRACE), raw(TRACE, TRACE), 'a raw trace')
equal(shown('t.jsonl', cwd=folder.path), raw('t.jsonl', 't.jsonl'), 'a relative path stays relative')
equal(shown('./t.jsonl', cwd=folder.path), raw('./t.jsonl', './t.jsonl'), 'and is not made shorter')
os.symlink('t.jsonl', folder('link.anything'))
equal(shown(folder('link.anything')), raw(folder('link.anything'), folder('link.anything')), 'links are followed, any name will do')
folder.put('dir/trace.jsonl', RECORDS)
folder.put('dir/other.txt', 'ignored')
equal(shown(folder('dir')), raw(folder('dir'), folder('dir/trace.jsonl')), 'a raw-trace directory')
equal(shown(folder('dir/')), raw(folder('dir/'), folder('dir/trace.jsonl')), 'with a slash behind')
equal(shown('.', cwd=folder('dir')), raw('.', './trace.jsonl'), 'the current directory')
equal(shown('-', stdin=text(RECORDS).encode()), raw('-', '-'), 'standard input')
folder.put('z.jsonl.gz', gzip.compress(text(RECORDS).encode()))
equal(shown(folder('z.jsonl.gz'))['kind'], 'raw_trace', 'a trace that is compressed with gzip')
equal(shown('-', stdin=gzip.compress(text(RECORDS).encode()))['kind'], 'raw_trace', 'the same from standard input')
name = 'späße ünd 空白.jsonl'
folder.put(name, RECORDS)
equal(shown(name, cwd=folder.path), raw(name, name), 'a path that is not ASCII')

# ---- refused: status 3, one line that names the path ----
folder.put('empty/readme', '')
folder.put('nested/trace.jsonl/x', '')
folder.put('aug1/trace.jsonl', RECORDS)
folder.put('aug1/evidence.json', '{}')
folder.put('aug2/any.jsonl', RECORDS)
os.mkdir(folder('aug2/nsight'))
folder.put('aug3/trace.jsonl', RECORDS)
os.symlink('nowhere', folder('aug3/nsight'))
folder.put('odd1/trace.jsonl', RECORDS)
os.mkdir(folder('odd1/bundle.json'))
folder.put('odd2/trace.jsonl', RECORDS)
os.symlink('nowhere', folder('odd2/bundle.json'))
os.mkfifo(folder('fifo'))
REFUSED = {'missing': 'nowhere.jsonl', 'a dangling link': 'odd2/bundle.json', 'an empty directory': 'empty',
           'trace.jsonl that is a directory': 'nested', 'a FIFO': 'fifo', 'a path behind a file': 't.jsonl/x',
           'a directory with evidence.json': 'aug1', 'the trace in it': 'aug1/trace.jsonl',
           'a trace of another name beside nsight': 'aug2/any.jsonl', 'a directory with a link nsight': 'aug3',
           'bundle.json that is a directory': 'odd1', 'the trace beside it': 'odd1/trace.jsonl',
           'bundle.json that is a dangling link': 'odd2', 'the trace beside that': 'odd2/trace.jsonl'}
for command in (['import'], ['query', '--kind', 'memory']):
    for name, path in REFUSED.items():
        status, out, err = run(command[0], folder(path), *command[1:])
        ok((status, out) == (3, '') and folder(path.split('/')[0]) in err and err.count('\n') == 1, f'{command[0]}: {name} is refused',
           f'{status} {out!r} {err!r}')
equal(run('import', '/dev/null')[0], 3, 'a device is refused')
equal(run('import', b'\xff.jsonl')[0], 3, 'a path that is not UTF-8 is refused')
equal(run('import', '-', stdin=b'')[0], 3, 'standard input that is empty is refused')
GOOD, CUT = text(RECORDS).encode(), b'{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1},{"na'
for stdin, words in ((b'', ('import', '-')), (b'no', ('import', '-')), (b'no', ('overview', '-')), (b'no', ('symbolize', '-')), (b'', ('symbolize', '-')),
                     (b'no', ('convert', '-', '-o', folder('c.jsonl'))), (b'{}', ('convert', '-', '-o', '-')), (b'\x80\x04no', ('convert', '-', '-o', '-')),
                     (b'PK', ('convert', '-', '-o', '-')), (b'', ('convert', '-', '-o', '-')), (CUT, ('convert', '-', '-o', '-')),
                     (b'no', ('report', '-', '--bundle', folder('b'))), (b'no', ('view', '-', '-o', folder('v.html'))),
                     (b'no', ('export', '-', '--to', 'csv', '-o', folder('e.csv'))), (b'no', ('nsight-manifest', folder.path, '--trace', '-')),
                     (GOOD, ('query', '-', '--kind', 'ledger', '--device', 'none')), (GOOD, ('query', '-', '--kind', 'idle', '--input', 'none')),
                     (text([*RECORDS[:-1], failed('x')]).encode(), ('summary', '-', '--require-valid')),
                     (text([*RECORDS[:-1], failed('x')]).encode(), ('query', '-', '--kind', 'slowest-host'))):
    err = run(*words, stdin=stdin)[2]
    ok(err.startswith('cg-analyze: standard input:') and err.count('\n') == 1, f'messages call it standard input: {" ".join(words[:4])}', err)
status, out, err = run('import', folder.put('broken.jsonl', text(RECORDS) + 'x'))
ok(status == 3 and 'broken.jsonl:7' in err, 'what is wrong in a trace is named with its line', err)
os.chmod(folder.path, 0o755)
os.chmod(folder.put('secret.jsonl', RECORDS), 0)
os.chmod(os.path.dirname(folder.put('locked/t.jsonl', RECORDS)), 0)
for name, path in (('a trace', 'secret.jsonl'), ('a directory', 'locked/t.jsonl')):
    answer = unprivileged('import', folder(path))
    if answer:
        ok(answer[0] == 5 and 'Permission denied' in answer[1] and path in answer[1], f'{name} without permission: status 5', answer)
    else:
        skip(f'{name} without permission: status 5', 'the program cannot be run as another user')
os.chmod(folder('locked'), 0o755)

# ---- a graph kind on a capture without a graph ----
from cli import failed  # noqa: E402
FAILED = folder.put('failed.jsonl', region(terminal=failed('out of memory')))
for kind in ('slowest-host', 'slowest-device', 'heaviest', 'spans', 'tensors', 'gradients'):
    status, out, err = run('query', FAILED, '--kind', kind)
    ok((status, out) == (3, '') and kind in err and 'failed' in err, f'{kind} on a failed capture: status 3', err)
for kind in ('memory', 'tensor-stats', 'labels', 'capabilities', 'gpu-status', 'gpu-correlation', 'gpu-phases', 'gpu-kernels',
             'gpu-attribution-gaps', 'kernels', 'copies', 'api'):
    equal(run('query', FAILED, '--kind', kind)[0], 0, f'{kind} on a failed capture: status 0')


# ---- bytes without an end of line that are no record: refused before they fill the memory ----
with open(folder('zeros.jsonl'), 'wb') as file:
    file.truncate(4 << 30)
NAME = '4 GB of zeros are refused in 1 GiB of memory'
if SANITIZED:
    skip(NAME, 'a sanitizer alone needs more address space')
else:
    p = subprocess.run(['prlimit', f'--as={1 << 30}', PROGRAM, 'import', folder('zeros.jsonl')], capture_output=True, text=True)
    ok(p.returncode == 3 and p.stderr.count('\n') == 1 and 'expected a JSON object' in p.stderr, NAME, (p.returncode, p.stderr))


# ---- progress: a bar on a terminal's standard error, once reading takes longer than a second ----
def slow_read(stderr, wait):
    """Reads a trace from a pipe that gives a part of it after each wait(), until that says that it is enough; standard output."""
    p = subprocess.Popen([PROGRAM, 'import', '-'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
    lines = text(region(*[stats(f'l{i}') for i in range(9000)])).encode()
    parts = iter([lines[at:at + len(lines) // 160 + 1] for at in range(0, len(lines), len(lines) // 160 + 1)])
    for part in parts:
        p.stdin.write(part)
        p.stdin.flush()
        if wait():
            break
    return p.communicate(b''.join(parts))[0]


master, slave = pty.openpty()
out = slow_read(slave, lambda: select.select([master], [], [], 0.1)[0])
# What was written to a terminal reaches its other side a little later.
shown = b''
while not shown.endswith(b'\r\x1b[K') and select.select([master], [], [], 10)[0]:
    shown += os.read(master, 65536)
ok(b'reading' in shown and b'MiB' in shown and shown.endswith(b'\r\x1b[K') and out.startswith(b'{'), 'progress is shown and taken away', shown)
os.close(slave)
os.close(master)
with tempfile.TemporaryFile() as file:
    begin = time.monotonic()
    slow_read(file, lambda: time.sleep(0.1) or time.monotonic() - begin > 1.5)
    file.seek(0)
    equal(file.read(), b'', 'no progress where standard error is no terminal')


# ---- INPUT left out ----
def on_terminal(cwd):
    """(status, standard output, standard error) with standard input on a terminal and the output on a pipe."""
    master, slave = pty.openpty()
    p = subprocess.run([PROGRAM, 'import'], cwd=cwd, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(slave)
    os.close(master)
    return p.returncode, p.stdout, p.stderr.decode()


for name, at in (('here/old.jsonl', 100), ('here/new.jsonl.gz', 300), ('here/mid.jsonl', 200), ('here/newest.txt', 900),
                 ('here/.hidden.jsonl', 950)):
    folder.put(name, gzip.compress(text(RECORDS).encode()) if name.endswith('gz') else RECORDS)
    os.utime(folder(name), (at, at))
status, out, err = on_terminal(folder('here'))
ok(status == 0 and 'new.jsonl.gz' in err and err.count('\n') == 1, 'left out on a terminal: the newest trace here, and it is said', err)
folder.put('here/run/trace.jsonl', RECORDS)
os.utime(folder('here/run/trace.jsonl'), (400, 400))
equal(on_terminal(folder('here'))[2], 'cg-analyze: reading run, the newest trace here\n', 'a directory with a trace counts')
folder.put('here/torn/trace.jsonl', RECORDS)
folder.put('here/torn/evidence.json', '{}')
os.utime(folder('here/torn/trace.jsonl'), (500, 500))
equal(on_terminal(folder('here'))[2], 'cg-analyze: reading run, the newest trace here\n', 'one that would be refused does not')
status, out, err = on_terminal(folder('empty'))
ok((status, out) == (2, b'') and 'no trace in this directory' in err, 'none there: status 2', err)
equal(run('import', cwd=folder('here'))[0], 2, 'left out without a terminal: status 2')
done()
