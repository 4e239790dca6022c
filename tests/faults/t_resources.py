#!/usr/bin/env python3
"""What a process needs of its system runs short, goes away or changes under it: descriptors, memory, sizes of files, the disk, folders, clocks,
time itself. The program does what it does without us; of the trace there is what could be kept, valid, and one line says what is missing."""
import collections
import contextlib
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run, environment, program  # noqa: E402

MIDWAY, ROUNDS = program('midway'), 20
ALLOCATIONS = 2 * ROUNDS + 1  # before, after, and one when the driver is gone
SUM = f'sum {ROUNDS * (ROUNDS - 1) // 2}\n'
OUT = f'{SUM}half\n{SUM}cuMemAlloc(&pointer, 1024): 4\n'.encode()
MIB = 1 << 20


def allocations(trace):
    with open(trace) as f:
        return sum(r['kind'] == 'op' and r['api'] == 'cuMemAlloc_v2' for r in map(json.loads, f))


def limited(kind, value):
    return ['prlimit', f'--{kind}={value}']


def told(err):
    """Our lines but the one at the end that names the trace."""
    return [line for line in err.splitlines() if line.startswith(b'cgtrace: ') and b' records, ' not in line]


def rest(err):
    return b''.join(line for line in err.splitlines(True) if not line.startswith(b'cgtrace: '))


def recovered(capture, name, count):
    """What can be made of a capture file: a valid trace with so many allocations."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([f'{BUILD}/cg-analyze', 'recover', capture, '-o', f'{folder}/r.jsonl'], capture_output=True, text=True)
        if tap.ok(result.returncode == 0, f'{name}: recovered', result.stderr):
            tap.equal((check(f'{folder}/r.jsonl'), allocations(f'{folder}/r.jsonl')), ([], count), f'{name}: recovered with each call')


def unchanged(name, words, prefix=(), whole=None, lines=None, **more):
    """A run against one without us, both behind prefix. whole: whether there is a trace with every call (None: whatever is left is valid); lines: how
    many lines we may say of it."""
    command = [*prefix, MIDWAY, *words, str(ROUNDS)]
    with Run(command, record=False, **more) as plain, Run(command, CGTRACE_QUIET=None, **more) as run:
        tap.equal((run.status, run.out, rest(run.err)), (plain.status, plain.out, plain.err), f'{name}: unchanged')
        faults = [v for t in run.traces for v in check(t)]
        tap.equal((len(told(run.err)) <= (1 if lines is None else lines), faults), (True, []), f'{name}: what is left is valid, and one line says what is missing')
        if whole is not None:
            tap.equal([allocations(t) for t in run.traces], [ALLOCATIONS] if whole else [], f'{name}: {"every call" if whole else "no trace"}')
        for capture in glob.glob(f'{run.folder}/work/*.cgt'):
            result = subprocess.run([f'{BUILD}/cg-analyze', 'recover', capture, '-o', f'{run.folder}/r.jsonl'], capture_output=True, text=True)
            tap.equal((result.returncode, check(f'{run.folder}/r.jsonl')), (0, []), f'{name}: what is left can be recovered')


# ---- limits ----

def descriptors():
    for limit in (4, 5, 6, 8, 12, 16, 32, 64):
        unchanged(f'{limit} descriptors', ['count'], limited('nofile', limit), True if limit >= 8 else None)
    unchanged('no descriptor for a while, of 64', ['take-all'], limited('nofile', 64), whole=True, lines=0)
    unchanged('no descriptors from the midst on', ['descriptors'], whole=True, lines=0)


def memory():
    if SANITIZED:
        tap.skip('limits of memory', 'the shadow memory of a sanitizer is larger')
        return
    for size in (16, 24, 32, 48, 64, 96, 128, 192, 256):
        unchanged(f'{size} MiB of address space', ['nothing'], limited('as', size * MIB), False, 1)
    for size in (16, 32, 64, 128, 200):
        unchanged(f'{size} MiB of data', ['nothing'], limited('data', size * MIB), False, 1)
    for kind, size in (('as', 800), ('data', 600)):
        unchanged(f'{size} MiB ({kind})', ['nothing'], limited(kind, size * MIB), True, 0)
    unchanged('no memory from the midst on', ['memory'])


def file_sizes():
    for size in (0, 4096, 64 << 10, 40 * MIB, 64 * MIB, 300 * MIB):
        unchanged(f'files of {size} bytes', ['nothing'], limited('fsize', size), size >= 40 * MIB or False)
    unchanged('files of 4096 bytes from the midst on', ['file-size'])


def small_stacks():
    if SANITIZED:
        tap.skip('the smallest stack of a thread', "a sanitizer's frames need more")
        return
    with Run([MIDWAY, 'small-stack', str(ROUNDS)], record=False) as plain, Run([MIDWAY, 'small-stack', str(ROUNDS)]) as run:
        tap.equal((run.status, run.out, run.err), (plain.status, plain.out, plain.err), 'the smallest stack of a thread: unchanged')
        tap.equal(([v for t in run.traces for v in check(t)], [allocations(t) for t in run.traces]), ([], [ALLOCATIONS + 20]),
                  'the smallest stack of a thread: a valid trace, every call')


# ---- descriptors and places that go away ----

def environment_goes():
    with tempfile.TemporaryDirectory() as folder:
        with Run([MIDWAY, 'title', str(ROUNDS)], CGTRACE_DIR=folder, CGTRACE_OUTPUT='kept.jsonl', CGTRACE_TAGS='kept=yes', CGTRACE_ENTRYPOINT='kept') as run:
            tap.equal((run.status, run.out, run.err), (3, OUT.replace(b'half\n', b''), b''), 'a title over the environment: unchanged')
        tap.equal(os.listdir(folder), ['kept.jsonl'], 'a title over the environment: the settings are those of the start')
        with open(f'{folder}/kept.jsonl') as f:
            meta = json.loads(f.readline())
        tap.equal((meta['entrypoint'], meta['tags'], check(f'{folder}/kept.jsonl')), ('kept', {'kept': 'yes'}, []), 'a title over the environment: a valid trace')


def descriptors_go():
    unchanged('every descriptor closed', ['close-range'], whole=True, lines=0)
    with Run([MIDWAY, 'own-numbers', str(ROUNDS)]) as run:
        tap.ok(b'own file: 0 bytes\n' in run.out, "the program's files take our numbers: no byte of ours in them", run.out)
        tap.equal(([v for t in run.traces for v in check(t)], [allocations(t) for t in run.traces]), ([], [ALLOCATIONS]),
                  "the program's files take our numbers: a valid trace, every call")
    with Run([MIDWAY, 'daemon', str(ROUNDS)]) as run:
        tap.equal((run.status, run.out), (0, SUM.encode()), 'daemon() after calls: unchanged')
        captures = glob.glob(f'{run.folder}/work/*.cgt')
        tap.equal((len(captures), run.traces), (1, []), 'daemon() after calls: it ends its parent without a word, which leaves its capture')
        for capture in captures:
            recovered(capture, 'daemon() after calls', ROUNDS)


class Half:
    """A program that waits in its midst; done() lets it go on and compares what it has said."""

    def __init__(self, name, folder, **more):
        self.name = name
        self.process = subprocess.Popen([MIDWAY, 'wait', str(ROUNDS)], cwd=folder, env=environment(True, CGTRACE_QUIET=None, **more), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.head = self.process.stdout.readline() + self.process.stdout.readline()

    def done(self, lines, *parts):
        out, err = self.process.communicate(timeout=120)
        tap.equal((self.process.returncode, self.head + out, rest(err)), (3, OUT, b''), f'{self.name}: unchanged')
        said = told(err)
        tap.ok(len(said) == lines and all(part in b''.join(said) for part in parts), f'{self.name}: {"one line says so" if lines else "not a word"}', err)


def folders():
    with tempfile.TemporaryDirectory() as folder:
        for name, settings, expected in (('a folder that is not there', {'CGTRACE_DIR': f'{folder}/a/b/c'}, 1),
                                         ('a file in the place of a folder', {'CGTRACE_DIR': f'{folder}/file/a'}, 0)):
            with open(f'{folder}/file', 'w'):
                pass
            with Run([MIDWAY, 'nothing', str(ROUNDS)], CGTRACE_QUIET=None, **settings) as run:
                tap.equal((run.status, run.out, rest(run.err), len(told(run.err))), (3, OUT.replace(b'half\n', b''), b'', 1 - expected), f'{name}: unchanged, told')
        tap.equal([allocations(t) for t in glob.glob(f'{folder}/a/b/c/*.jsonl')], [ALLOCATIONS], 'a folder that is not there: it is made')
    with tempfile.TemporaryDirectory() as folder:
        half = Half('the folder is removed', folder, CGTRACE_DIR=f'{folder}/traces')
        shutil.rmtree(f'{folder}/traces')
        half.done(1, b'moved or removed')
        tap.equal(os.listdir(folder), [], 'the folder is removed: it does not come again')
    with tempfile.TemporaryDirectory() as folder:
        half = Half('the folder is renamed', folder, CGTRACE_DIR=f'{folder}/traces', CGTRACE_OUTPUT='t.jsonl')
        os.rename(f'{folder}/traces', f'{folder}/moved')
        half.done(1, b'moved or removed')
        recovered(f'{folder}/moved/t.jsonl.cgt', 'the folder is renamed', ALLOCATIONS)
    changed_root()


def declared_files():
    """They are the program's user's, who may empty them, or write the next run's, while this one goes on."""
    identity = dict(workload_id='w', model_id='m', config_id='c', data_id='d', seed_policy='s', physical_batch=1, accumulation_steps=1, precision='p',
                    device_state='d', implementation_id='i' * 200)
    contract = dict(measurement_scope='component', operations='none', activations='none', tensors='none', gradients='none', logical_memory='none',
                    physical_memory='none', device_timing='none', required_semantic_labels=['x' * 90 + str(i) for i in range(200)])
    for name, content in (('emptied', ''), ('written anew', '{}')):
        with tempfile.TemporaryDirectory() as folder:
            paths = {'CGTRACE_IDENTITY': f'{folder}/identity.json', 'CGTRACE_CONTRACT': f'{folder}/contract.json'}
            for path, what in zip(paths.values(), (identity, contract)):
                with open(path, 'w') as f:
                    json.dump(what, f)
            half = Half(f'declared files are {name}', folder, CGTRACE_OUTPUT='t.jsonl', **paths)
            for path in paths.values():
                with open(path, 'w') as f:
                    f.write(content)
            half.done(0)
            with open(f'{folder}/t.jsonl') as f:
                meta = json.loads(f.readline())
            tap.equal((meta['comparison_identity'], meta['capture_contract']), (identity, contract), f'declared files are {name}: what stood in them when it began')


def changed_root():
    if os.geteuid() != 0:
        tap.skip('chroot in the midst', 'only root can')
        return
    with tempfile.TemporaryDirectory() as folder, Run([MIDWAY, 'chroot', str(ROUNDS)], CGTRACE_QUIET=None, CGTRACE_DIR=f'{folder}/traces', CGTRACE_OUTPUT='t.jsonl') as run:
        tap.equal((run.status, run.out, rest(run.err), len(told(run.err))), (3, OUT.replace(b'half\n', b''), b'', 1), 'chroot in the midst: unchanged, told')
        recovered(f'{folder}/traces/t.jsonl.cgt', 'chroot in the midst', ALLOCATIONS)


# ---- disks ----

@contextlib.contextmanager
def mounted(kind, *options):
    """A small file system of its own; None where none can be mounted."""
    with tempfile.TemporaryDirectory() as folder:
        point, command = f'{folder}/disk', ['mount', '-t', 'tmpfs', '-o', ','.join(('size=40m', *options)), 'none']
        os.mkdir(point)
        if kind == 'ext4':
            with open(f'{folder}/image', 'wb') as f:
                f.truncate(64 * MIB)
            made = shutil.which('mkfs.ext4') and subprocess.run(['mkfs.ext4', '-q', '-F', f'{folder}/image'], capture_output=True).returncode == 0
            command = ['mount', '-o', ','.join(('loop', *options)), f'{folder}/image'] if made else ['false']
        good = subprocess.run([*command, point], capture_output=True).returncode == 0
        try:
            yield point if good else None
        finally:
            if good:
                subprocess.run(['umount', point], check=True)


def fill(folder):
    with open(f'{folder}/filler', 'wb', buffering=0) as f:
        for size in (MIB, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    if f.write(b'x' * size) < size:
                        break


def await_written(part, count):
    """Until the writer has written so many allocations."""
    for _ in range(2000):
        with open(part, 'rb') as f:
            if f.read().count(b'"api":"cuMemAlloc_v2"') >= 2 * count:  # each has an operation and a storage
                return
        time.sleep(0.01)


def full_disks():
    for kind in ('tmpfs', 'ext4'):
        with mounted(kind) as disk:
            if not disk:
                tap.skip(f'a full disk ({kind})', 'it cannot be mounted here')
                continue
            fill(disk)
            there = sorted(os.listdir(disk))
            with Run([MIDWAY, 'nothing', str(ROUNDS)], CGTRACE_QUIET=None, CGTRACE_DIR=disk) as run:
                tap.equal((run.status, run.out, rest(run.err)), (3, OUT.replace(b'half\n', b''), b''), f'a disk that is full beforehand ({kind}): unchanged')
                tap.ok(b'No space left' in b''.join(told(run.err)), f'a disk that is full beforehand ({kind}): told', run.err)
            tap.equal(sorted(os.listdir(disk)), there, f'a disk that is full beforehand ({kind}): nothing is left there')
        with mounted(kind) as disk:
            half = Half(f'a disk that fills in the midst ({kind})', disk, CGTRACE_OUTPUT='t.jsonl')
            await_written(f'{disk}/t.jsonl.part', ROUNDS)
            fill(disk)
            half.done(1, b'No space left')
            os.unlink(f'{disk}/filler')
            left = sorted(f for f in os.listdir(disk) if f.startswith('t.'))
            if left == ['t.jsonl']:  # the room that the cut gave back was enough for the end
                with open(f'{disk}/t.jsonl') as f:
                    terminal = json.loads(f.readlines()[-1])
                seen = {family: tuple(terminal['coverage'][family].values()) for family in ('memory', 'launch', 'copy')}
                tap.equal((check(f'{disk}/t.jsonl'), terminal['outcome'], terminal['lost']['not_written'] > 0), ([], 'failed', True),
                          f'a disk that fills in the midst ({kind}): what was written, and that it failed')
                # Each round: an allocation and a free, a launch, a copy; at the end one allocation more. The last page had some room yet.
                tap.equal([seen[family][0] for family in ('memory', 'launch', 'copy')], [4 * ROUNDS + 1, 2 * ROUNDS, 2 * ROUNDS],
                          f'a disk that fills in the midst ({kind}): every call is seen')
                tap.ok(all(ROUNDS <= recorded < all_seen == recorded + lost for all_seen, recorded, lost in seen.values()),
                       f'a disk that fills in the midst ({kind}): of each family recorded and lost', seen)
            else:
                recovered(f'{disk}/t.jsonl.cgt', f'a disk that fills in the midst ({kind})', ROUNDS)
    with mounted('tmpfs', 'ro') as disk:
        if not disk:
            tap.skip('a read-only disk', 'it cannot be mounted here')
            return
        with Run([MIDWAY, 'nothing', str(ROUNDS)], CGTRACE_QUIET=None, CGTRACE_DIR=disk) as run:
            tap.equal((run.status, run.out, rest(run.err), len(told(run.err)), b'Read-only' in run.err), (3, OUT.replace(b'half\n', b''), b'', 1, True),
                      'a read-only disk: unchanged, one line')


# ---- time ----

def clocks():
    shim = f'{BUILD}/tests/beside/clock_jumps.so'
    if SANITIZED:
        tap.skip('clocks that jump', 'sanitizers stand in for the same function')
    else:
        base = environment(True)['LD_PRELOAD']
        for clock in ('realtime', 'monotonic'):
            for seconds in (-86400, 86400):
                for call in (1, 10, 20, 30, 40, 60, 100, 200):
                    with Run([MIDWAY, 'nothing', str(ROUNDS)], LD_PRELOAD=f'{base}:{shim}', JUMP=f'{clock}:{seconds}:{call}') as run:
                        tap.equal((run.status, run.out, run.err, [v for t in run.traces for v in check(t)], [allocations(t) for t in run.traces]),
                                  (3, OUT.replace(b'half\n', b''), b'', [], [ALLOCATIONS]), f'{clock} jumps by {seconds} s at call {call}: a valid trace, every call')
    enter = ['unshare', '--time', '--monotonic', '1000000', '--boottime', '1000000', '--fork']
    if not shutil.which('unshare') or subprocess.run([*enter, 'true'], capture_output=True).returncode:
        tap.skip('a time namespace', 'not allowed here')
        return
    with Run([*enter, MIDWAY, 'nothing', str(ROUNDS)]) as run:
        tap.equal((run.status, [v for t in run.traces for v in check(t)], [allocations(t) for t in run.traces]), (3, [], [ALLOCATIONS]), 'a time namespace: a valid trace')


def stopped():
    """As a suspended machine looks from inside: every thread stands still at once, wherever it is."""
    with tempfile.TemporaryDirectory() as folder:
        rounds = 4000
        process = subprocess.Popen([program('threads'), '4', str(rounds), '500'], cwd=folder, env=environment(True, CGTRACE_OVERFLOW='block'),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3):
            time.sleep(0.02)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(0.8)
            os.kill(process.pid, signal.SIGCONT)
        out, err = process.communicate(timeout=300)
        tap.equal((process.returncode, err), (0, b''), 'stopped and continued: unchanged')
        traces = glob.glob(f'{folder}/*.jsonl')
        counts = collections.Counter()
        for trace in traces:
            with open(trace) as f:
                counts.update(r['api'] for r in map(json.loads, f) if r['kind'] == 'op')
        tap.equal(([v for t in traces for v in check(t)], counts['cuLaunchKernel'], counts['cuMemAlloc_v2']), ([], 4 * rounds, 4 * 500),
                  'stopped and continued: a valid trace, every call')
        tap.ok(f'{rounds} launches'.encode() in out, 'stopped and continued: it has worked', out)


# ---- control groups ----

def control_group():
    """A limit of memory that our files in memory count against, too."""
    with open('/proc/self/cgroup') as f:
        own = [line[3:].strip() for line in f if line.startswith('0::')]
    mine = f'/sys/fs/cgroup{own[0]}' if own else ''
    group = f'{mine}/cgtrace-test-{os.getpid()}'
    try:
        with open(f'{mine}/cgroup.subtree_control') as f:
            if 'memory' not in f.read().split():
                raise OSError('the memory controller of control groups (version 2) is not given to us')
        os.mkdir(group)
    except OSError as error:
        tap.skip('a control group with a limit of memory', f'no control group of version 2 can be made here: {error.strerror or error}')
        return
    try:
        with open(f'{group}/memory.max', 'w') as f:
            f.write(str(192 * MIB))
        with Run(['sh', '-c', f'echo $$ > {group}/cgroup.procs; exec "$@"', 'sh', MIDWAY, 'nothing', str(ROUNDS)]) as run:
            tap.equal((run.status, run.out, [v for t in run.traces for v in check(t)]), (3, OUT.replace(b'half\n', b''), []), 'a control group of 192 MiB: unchanged, valid')
    finally:
        os.rmdir(group)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for test in (descriptors, memory, file_sizes, small_stacks, environment_goes, descriptors_go, folders, declared_files, full_disks, clocks, stopped, control_group):
        test()
    tap.done()


main()
