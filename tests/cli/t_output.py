#!/usr/bin/env python3
"""Where results go: whole or not at all, and never over an input or into a bundle (doc/spec/cli.md 1.3 and 3)."""
import fcntl
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import PROGRAM, SANITIZED, Folder, done, equal, ok, read, region, run, skip, unprivileged  # noqa: E402

folder = Folder()
TRACE = folder.put('t.jsonl', region())
BAD = folder.put('bad.jsonl', 'not json\n')
EXPECTED = run('import', TRACE)[1].encode()


def left_over(directory):
    return [n for n in os.listdir(directory) if 'cg-analyze' in n]


# ---- written whole ----
out = folder('new/deep/er/out.json')
equal((run('import', TRACE, '-o', out)[0], read(out)), (0, EXPECTED), 'missing parent directories are made')
umask = os.umask(0)
os.umask(umask)
equal(stat.S_IMODE(os.stat(out).st_mode), 0o666 & ~umask, 'a new file has the usual mode')
os.chmod(out, 0o640)
before = os.stat(out).st_ino
open(out, 'w').write('old and longer than the new one' * 10000)
equal((run('import', TRACE, '-o', out)[0], read(out), stat.S_IMODE(os.stat(out).st_mode)), (0, EXPECTED, 0o640),
      'an existing file is replaced and keeps its mode')
ok(os.stat(out).st_ino != before, 'it is replaced by a new file, not rewritten')
link = folder('link.json')
os.symlink(out, link)
open(out, 'w').write('old')
equal((run('import', TRACE, '-o', link)[0], os.path.islink(link), read(out)), (0, True, EXPECTED),
      'a link stays a link; the file behind it is replaced')
equal(left_over(folder('new/deep/er')) + left_over(folder.path), [], 'no temporary file is left')
equal((run('import', 't.jsonl', '-o', 'plain.json', cwd=folder.path)[0], read(folder('plain.json')) == EXPECTED), (0, True),
      'a bare name is a file here')

# ---- or not at all ----
open(out, 'w').write('old')
status, stdout, err = run('import', BAD, '-o', out)
equal((status, stdout, read(out)), (3, '', b'old'), 'a bad input leaves an existing file alone')
equal((run('import', BAD, '-o', folder('none.json'))[0], os.path.exists(folder('none.json'))), (3, False), 'and makes no new one')
status, stdout, err = run('import', TRACE, '-o', '/dev/full')
ok((status, stdout) == (5, '') and err.count('\n') == 1 and '/dev/full' in err and 'No space left' in err, 'disk full: status 5', err)
status = subprocess.run([PROGRAM, 'import', TRACE], stdout=open('/dev/full', 'w'), stderr=subprocess.PIPE)
ok(status.returncode == 5 and b'standard output' in status.stderr, 'standard output on a full disk: status 5', status)
equal(subprocess.run([PROGRAM, '--help'], stdout=open('/dev/full', 'w'), stderr=subprocess.PIPE).returncode, 5, 'so is help')
equal(run('import', TRACE, '-o', folder('t.jsonl/x'))[0], 5, 'a parent that is a file: status 5')
equal(run('import', TRACE, '-o', folder('new'))[0], 5, 'an output that is a directory: status 5')
os.chmod(folder.path, 0o755)
os.mkdir(folder('closed'), 0o555)
os.chmod(folder.put('readonly.json', 'old'), 0o444)
for name, path in (('a directory', 'closed/x'), ('a file', 'readonly.json')):
    answer = unprivileged('import', TRACE, '-o', folder(path))
    if answer:
        ok(answer[0] == 5 and 'Permission denied' in answer[1], f'{name} without permission: status 5', answer)
    else:
        skip(f'{name} without permission: status 5', 'the program cannot be run as another user')
equal(read(folder('readonly.json')), b'old', 'and the file is as it was')

# ---- standard output that is closed ----
closed = subprocess.run(f'"{PROGRAM}" import "{TRACE}" >&-', shell=True, stderr=subprocess.PIPE)
ok(closed.returncode == 5 and b'standard output' in closed.stderr, 'standard output closed beforehand: status 5', closed)
closed = subprocess.run(f'"{PROGRAM}" import "{TRACE}" -o "{folder("c.json")}" >&- <&-', shell=True, stderr=subprocess.PIPE)
equal((closed.returncode, read(folder('c.json'))), (0, EXPECTED), 'a file is written all the same, and nothing else into it')
big = folder.put('big.jsonl', region(*[dict(kind='tensor_stats', span_id='m', label=f'l{i}', shape=[1], dtype='f32', elements=1,
                                            non_finite=0, rms=0.0, abs_max=0.0, mean=0.0) for i in range(60000)]))
reader = subprocess.Popen([PROGRAM, 'import', big], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
reader.stdout.read(10)
reader.stdout.close()
equal((reader.wait(), reader.stderr.read()), (0, b''), 'a reader that goes away: it ends quietly')
fifo = folder('fifo')
os.mkfifo(fifo)
reader = subprocess.Popen(['cat', fifo], stdout=subprocess.PIPE)
equal((run('import', TRACE, '-o', fifo)[0], reader.communicate()[0] == EXPECTED), (0, True), 'a pipe is written in place')
ok(stat.S_ISFIFO(os.stat(fifo).st_mode), 'and stays a pipe')

# ---- names that lead to a descriptor ----
for name in ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'):
    equal(run('import', TRACE, '-o', name), (0, EXPECTED.decode(), ''), f'{name}, a pipe')
    mine, its = socket.socketpair()
    equal((subprocess.run([PROGRAM, 'import', TRACE, '-o', name], stdout=its).returncode, its.close(), mine.makefile('rb').read()),
          (0, None, EXPECTED), f'{name}, a socket')
    mine.close()
    with tempfile.TemporaryFile() as removed:
        removed.write(b'old and longer' * 10000)
        removed.flush()
        equal((run('import', TRACE, '-o', name, stdout=removed)[0], removed.seek(0), removed.read()), (0, 0, EXPECTED), f'{name}, a file without a name')
    out = folder('descriptor.json')
    with open(out, 'w') as target:
        before = os.stat(out).st_ino
        equal((run('import', TRACE, '-o', name, stdout=target)[0], read(out), os.stat(out).st_ino == before), (0, EXPECTED, False),
              f'{name}, a file: replaced in one step like any other')
    equal((run('import', TRACE, '-o', name, stdout=open('/dev/null', 'w'))[0], run('import', TRACE, '-o', '/dev/null')), (0, (0, '', '')), f'{name}, /dev/null')
    status, _, err = run('import', TRACE, '-o', name, stdout=open('/dev/full', 'w'))
    equal((status, err), (5, 'cg-analyze: standard output: cannot write: No space left on device\n'), f'{name}, a full disk: status 5 and one line')
    reader, writer = os.pipe()
    os.close(reader)
    equal((run('import', TRACE, '-o', name, stdout=writer)[::2], os.close(writer)), ((0, ''), None), f'{name}: a reader that went away is no error')
equal(subprocess.run(['bash', '-c', '"$0" import "$1" -o >(cat); wait $!', PROGRAM, TRACE], stdout=subprocess.PIPE).stdout, EXPECTED, '-o >(cat)')
equal(run('import', BAD, '-o', '/dev/stdout')[:2], (3, ''), 'a bad input writes nothing to /dev/stdout')
chrome = folder.put('descriptor/chrome.json', '{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]}')
equal(run('convert', chrome, '-o', '/dev/stdout'), run('convert', chrome, '-o', '-'), 'what else a command would say does not follow its trace')
equal(subprocess.run([PROGRAM, 'import', TRACE, '-o', '/dev/null'], stdout=None, preexec_fn=lambda: os.close(1)).returncode, 0,
      '/dev/null while standard output is closed')

# ---- a limit on the size of files is met like a full disk ----
limited = folder.put('limit/out.json', 'old')
answer = subprocess.run([PROGRAM, 'import', big, '-o', limited], stderr=subprocess.PIPE, text=True,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
ok(answer.returncode == 5 and 'File too large' in answer.stderr, 'over the limit on file size: status 5', answer)
equal((left_over(folder('limit')), read(limited)), ([], b'old'), 'and nothing is left over')

# ---- a signal while it writes: nothing torn, nothing left over ----
KILLER = os.path.join(os.path.dirname(PROGRAM), 'tests', 'cli', 'killer.so')
signalled = folder.put('signal/out.json', 'old')
for signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU):
    if SANITIZED:
        skip(f'{signal_number.name} while it writes', 'the sanitizer must be the first library')
        continue
    # One that our caller ignores (nohup, a background job) would be left ignored.
    writer = subprocess.Popen([PROGRAM, 'import', big, '-o', signalled], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, LD_PRELOAD=KILLER, KILLER='stop,names'), preexec_fn=lambda: signal.signal(signal_number, signal.SIG_DFL))
    while writer.poll() is None and read(f'/proc/{writer.pid}/stat').split(b') ')[1][:1] not in b'TZ':
        pass
    caught = left_over(folder('signal'))
    writer.send_signal(signal_number)
    writer.send_signal(signal.SIGCONT)
    writer.wait()
    equal((caught, writer.returncode, left_over(folder('signal')), read(signalled)), (['.cg-analyze.0'], -signal_number, [], b'old'), f'{signal_number.name} while it writes')

# ---- never over an input ----
hard = folder('hard.jsonl')
os.link(TRACE, hard)
os.symlink(TRACE, folder('soft.jsonl'))
content = read(TRACE)
for name, path in (('the input', TRACE), ('a link to it', folder('soft.jsonl')), ('a hard link to it', hard),
                   ('the input by another path', folder('new/../t.jsonl'))):
    status, stdout, err = run('import', TRACE, '-o', path)
    ok((status, stdout, read(TRACE)) == (2, '', content) and 'refused' in err and err.count('\n') == 1, f'{name} is refused as output', err)
for words in (['summary', TRACE], ['query', TRACE, '--kind', 'memory'], ['overview', TRACE], ['view', TRACE], ['export', TRACE, '--to', 'chrome'],
              ['convert', TRACE], ['index', TRACE], ['ranks', TRACE, TRACE.replace('t.jsonl', 'u.jsonl')], ['report', TRACE, '--bundle', folder('b')]):
    if words[0] == 'ranks':
        for i, path in enumerate(words[1:]):
            clock = dict(mult=1 << 32, shift=32, first=dict(tick=1, monotonic_ns=1, realtime_ns=1, spread_ticks=1))
            folder.put(os.path.basename(path), region(run_id=f'run-{i}', rank=i, clock=clock))
    content = read(TRACE)
    equal((run(*words, '-o', TRACE)[0], read(TRACE)), (2, content), f'{words[0]}: no output is one that is read')
folder.put('t.jsonl', region())
equal((run('symbolize', TRACE, '-o', TRACE)[0], read(TRACE)), (0, read(hard)), 'but for symbolize, as its page says')
with tempfile.TemporaryFile() as nameless:
    nameless.write(read(TRACE))
    nameless.flush()
    place = f'/dev/fd/{nameless.fileno()}'
    status = subprocess.run([PROGRAM, 'symbolize', place, '-o', place], pass_fds=[nameless.fileno()], stderr=subprocess.PIPE).returncode
    equal((status, nameless.seek(0), nameless.read()), (2, 0, read(TRACE)), 'a file without a name, which cannot be replaced, not even there')
os.unlink(hard)
os.link(TRACE, hard)
content = read(TRACE)
os.mkdir(folder('raw'))
os.link(TRACE, folder('raw/trace.jsonl'))
equal((run('import', folder('raw'), '-o', folder('raw/trace.jsonl'))[0], read(TRACE)), (2, content), 'the trace of a directory too')

# ---- never into a bundle, whatever the input is ----
folder.put('bundle/bundle.json', '{}')
folder.put('bundle/nsight/x.csv', '')
folder.put('bundles/beside', '')
os.symlink(folder('bundle'), folder('to-bundle'))
os.symlink(folder('bundle/nsight/x.csv'), folder('to-file'))
inside = {'a file in a bundle': 'bundle/nsight/x.csv', 'a new file in it': 'bundle/new', 'bundle.json': 'bundle/bundle.json',
          'a new folder in it': 'bundle/a/b/c', 'through a link': 'to-bundle/new', 'a link to a file in it': 'to-file',
          'down and up inside': 'bundle/nsight/../new'}
for name, path in inside.items():
    status, stdout, err = run('import', TRACE, '-o', folder(path))
    ok((status, stdout) == (2, '') and 'bundle' in err and err.count('\n') == 1, f'{name} is refused', f'{status} {err}')
    status, stdout, err = run('import', 't.jsonl', '-o', path, cwd=folder.path)
    equal((status, stdout), (2, ''), f'{name} is refused as a relative path')
equal(run('import', '../t.jsonl', '-o', 'x', cwd=folder('bundle'))[0], 2, 'a bare name while inside a bundle is refused')
equal(run('protocol', '-o', folder('bundle/p.json'))[0], 2, 'commands without input are refused there too')
equal(sorted(os.listdir(folder('bundle'))), ['bundle.json', 'nsight'], 'nothing was made in it')
equal(run('import', TRACE, '-o', folder('bundles/ok.json'))[0], 0, 'a name that begins like the bundle is no bundle')
os.symlink(folder('nowhere/at/all'), folder('dangling'))
equal(run('import', TRACE, '-o', folder('dangling'))[0], 5, 'a dangling link is an error')
equal(left_over(folder.path), [], 'no temporary file is left at all')

# ---- killed while it writes ----
CHROME = folder.put('chrome.json', '{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]}')


def killed(how, *words):
    p = subprocess.run([PROGRAM, *words], env=dict(os.environ, LD_PRELOAD=KILLER, KILLER=how), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return p.returncode


if SANITIZED:
    skip('killed while it writes', 'the sanitizer must be the first library')
else:
    LEFT = '.cg-analyze.0'
    for name, words in (('import', ['import', TRACE]), ('convert', ['convert', CHROME])):
        out = folder(f'killed/{name}')
        equal((killed('', *words, '-o', out), killed('names', *words, '-o', out + '.named')), (0, 0), f'{name}: with and without files that have no name')
        whole, alike = read(out), read(out) == read(out + '.named')
        equal((killed('write', *words, '-o', out), read(out) == whole, left_over(folder('killed'))), (-signal.SIGKILL, True, []),
              f'{name}, killed: the old file, nothing left beside it')
        equal((alike, killed('write', *words, '-o', out + '.new'), os.path.exists(out + '.new'), left_over(folder('killed'))), (True, -signal.SIGKILL, False, []),
              f'{name}, killed: no new file, nothing left')
        equal((killed('write,names', *words, '-o', out), read(out) == whole, left_over(folder('killed'))), (-signal.SIGKILL, True, [LEFT]),
              f'{name}, killed where every file has a name: it is left')
        with open(folder('killed/.cg-analyze.1'), 'w') as other:  # another one writes it
            fcntl.flock(other, fcntl.LOCK_EX)
            equal((killed('write,names', *words, '-o', out), sorted(left_over(folder('killed')))), (-signal.SIGKILL, [LEFT, '.cg-analyze.1']),
                  f'{name}, killed twice: the one has removed what the other left')
        equal((killed('names', *words, '-o', out), read(out) == whole, left_over(folder('killed'))), (0, True, ['.cg-analyze.1']),
              f'{name}: so has the next run')
        os.unlink(folder('killed/.cg-analyze.1'))
    trace = folder.put('killed/t.jsonl', region())
    equal((killed('write', 'index', trace), killed('write,names', 'index', trace), sorted(os.listdir(folder('killed'))).count('t.jsonl.cgx'), left_over(folder('killed'))),
          (-signal.SIGKILL, -signal.SIGKILL, 0, [LEFT]), 'index, killed: no index, and nothing left where files need no name')
    equal((killed('names', 'index', trace), left_over(folder('killed')), os.path.exists(trace + '.cgx')), (0, [], True), 'index: the next run removes what was left')
done()
