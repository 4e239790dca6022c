#!/usr/bin/env python3
"""Files that become shorter, or are written over, while cg-analyze reads them: it answers, as of one of the two states or with one line, whatever its parent did to SIGBUS; and
a signal that somebody sends ends it as it would any other program."""
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import PROGRAM, SANITIZED, Folder, complete, done, equal, memory, ok, read, region, run, skip, text  # noqa: E402

TIMES = 12
SETTLED = 2.05  # seconds after which a trace is looked at where it stands
folder = Folder()
records = [record for i in range(20000) for record in (memory('alloc', i, f's{i}', 64 + i), memory('free', i, f's{i}', 64 + i))]
whole = text(region(*records, terminal=complete(30000)))
path = folder.put('trace.jsonl', whole)
random.seed(1)


def blocked():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGBUS])


def cut(names, words, size, content, mask, answers, settled=0.0):
    """What is wrong with the answers about each of the files while it is cut at a random moment; None is right. answers: those that may be given."""
    for name in names:
        with open(name, 'wb') as file:
            file.write(content)
    time.sleep(settled)
    for i, name in enumerate(names):
        process = subprocess.Popen([PROGRAM, *words(name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=mask)
        time.sleep(random.random() * 0.05)
        os.truncate(name, random.choice(size))
        out, err = process.communicate(timeout=60)
        if process.returncode not in (0, 3, 5) or err.count(b'\n') > 1 or process.returncode != 5 and out.replace(name.encode(), b'').replace(path.encode(), b'') not in answers:
            return f'run {i}: status {process.returncode}, {err!r:.300}, {out!r:.300}'
    return None


content = whole if isinstance(whole, bytes) else whole.encode()
ok(len(content) > 4 << 20, 'a trace of some blocks', str(len(content)))
SIZES = (0, 4096, len(content) // 2, len(content) - 1)
MEMORY = ['--kind', 'memory', '--no-index']


def answer_of(bytes_):
    with open(path, 'wb') as file:
        file.write(bytes_)
    return subprocess.run([PROGRAM, 'query', path, *MEMORY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.replace(path.encode(), b'')


of_sizes = [answer_of(content[:size]) for size in SIZES]
of_whole = answer_of(content)
ok(of_whole and of_whole not in of_sizes[:3], 'another answer, or none, when it is shorter', of_sizes)
copies = [folder(f'copy{i}.jsonl') for i in range(TIMES)]
for mask, name in ((None, 'as usual'), (blocked, 'with SIGBUS blocked by its parent'), (lambda: signal.signal(signal.SIGBUS, signal.SIG_IGN), 'with SIGBUS ignored')):
    equal(cut(copies, lambda copy: ['query', copy, *MEMORY], SIZES, content, mask, [of_whole, *of_sizes], SETTLED), None, f'a trace, {name}')

with open(path, 'wb') as file:
    file.write(content)
equal(run('index', path)[0], 0, 'an index')
with open(path + '.cgx', 'rb') as file:
    index = file.read()
for mask, name in ((None, 'as usual'), (blocked, 'with SIGBUS blocked by its parent')):
    told = [cut([path + '.cgx'], lambda _: ['query', path, '--kind', 'memory'], (0, 4096, len(index) // 2), index, mask, [of_whole]) for _ in range(TIMES)]
    equal([wrong for wrong in told if wrong], [], f'an index, {name}')

# ---- an index that somebody writes into ----
EXPORT = ['export', path, '--to', 'ndjson-flat', '--output']
BROKEN = b'cg-analyze: an index was written into while it was looked at\n'


def put_index():
    """Of some time ago: a write in the very tick of the clock that the last one was in shows in no time."""
    with open(path + '.cgx', 'wb') as file:
        file.write(index)
    os.utime(path + '.cgx', (10**9, 10**9))


def half_answered(change):
    """(status, whether there is an answer to the end, what is said) when that is done to the index once the first of the answer is out."""
    put_index()
    process = subprocess.Popen([PROGRAM, *EXPORT, '-'], bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = process.stdout.read(1)  # the rest does not fit into a pipe
    change()
    out, err = process.communicate(timeout=60)
    return process.returncode, first + out == answer, err.replace(losses, b'')


def write_over(byte):
    with open(path + '.cgx', 'r+b') as file:
        file.write(byte * len(index))


def replace():
    with open(path + '.new', 'wb') as file:
        file.write(b'\xff' * len(index))
    os.replace(path + '.new', path + '.cgx')


def written_over():
    for byte in (b'\xff', b'\x01'):
        status, _, said = half_answered(lambda: write_over(byte))
        equal((status, said), (5, BROKEN), f'one that is written over with {byte}')
    told = []
    for _ in range(4 * TIMES):
        put_index()
        process = subprocess.Popen([PROGRAM, *EXPORT, folder('answer')], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(random.random() * 0.05)
        write_over(random.choice((b'\xff', b'\x01', b'\0')))
        _, err = process.communicate(timeout=60)
        err = err.replace(losses, b'')
        there = os.path.exists(folder('answer'))
        good = process.returncode in (0, 5) and err.count(b'\n') <= 1 and (there or process.returncode == 5) and (not there or read(folder('answer')) == answer)
        told.append(process.returncode if good else (process.returncode, there, err[:300]))
        if there:
            os.remove(folder('answer'))
    equal([one for one in told if one not in (0, 5)], [], 'written over at any moment: an answer from what it was or from the trace, or one line and none')


plain = subprocess.run([PROGRAM, *EXPORT, '-', '--no-index'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
answer, losses = plain.stdout, plain.stderr
ok(len(answer) > 4 << 20, 'an answer that takes its time', len(answer))
equal(half_answered(lambda: None), (0, True, b''), 'an index that nobody touches')
equal(half_answered(replace), (0, True, b''), 'one that is replaced')
equal(half_answered(lambda: os.chmod(path + '.cgx', 0o600)), (0, True, b''), 'one that gets other rights')
if SANITIZED:
    skip('one that is written over', 'a sanitizer tells of what comes of it before the program can')
else:
    written_over()

process = subprocess.Popen([PROGRAM, 'overview', '-'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
time.sleep(0.2)
process.send_signal(signal.SIGBUS)
out, err = process.communicate(timeout=60)
equal((process.returncode, out, err), (-signal.SIGBUS, b'', b''), 'a signal that was sent')
done()
