#!/usr/bin/env python3
"""Processes and threads: every way to make another process, many ranks at once, hosts and process ids that collide; threads that end in
every way, signal handlers. Each process that records has its own complete files, and the program does not notice."""
import collections
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, THREAD_SANITIZED, Run, environment, program  # noqa: E402

PROCESSES = program('processes')
HEADER_PID = 80  # common/capture.h: pid, rank, process_start_ticks


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def calls(path):
    return collections.Counter(r['api'] for r in lines(path) if r['kind'] == 'op')


def other_processes():
    for how, count in (('vfork', 2), ('spawn', 2), ('system', 2)):
        with Run([PROCESSES, how], record=False) as plain, Run([PROCESSES, how]) as run:
            tap.equal((run.status, run.out, run.err), (plain.status, plain.out, plain.err), f'{how}: unchanged')
            tap.equal((len(run.traces), [f for f in run.files if not f.endswith('.jsonl')], [v for t in run.traces for v in check(t)]), (count, [], []),
                      f'{how}: {count} processes with work, each its trace')
            tap.equal(sorted(calls(t)['cuMemAlloc_v2'] for t in run.traces), [1, 2], f'{how}: each its own calls')


def daemons():
    with Run([PROCESSES, 'daemon']) as run:
        work = f'{run.folder}/work'
        for _ in range(600):
            if {'daemon.done'} == {f for f in os.listdir(work) if not f.endswith('.jsonl')} and glob.glob(f'{work}/*.jsonl'):
                break
            time.sleep(0.05)
        tap.equal((run.status, run.out), (0, b'begins\n'), 'daemon: unchanged')
        tap.equal(sorted(os.path.splitext(f)[1] for f in os.listdir(work)), ['.done', '.jsonl'], 'daemon: its trace, and nothing of the process that began it')
        tap.equal((open(f'{work}/daemon.done').read(), [v for t in glob.glob(f'{work}/*.jsonl') for v in check(t)]), ('value 2\n', []),
                  'daemon: no byte of ours in its files, a valid trace')


def together(folder, count, **more):
    """So many processes that wait for one pipe to be closed; their results."""
    reader, writer = os.pipe()
    running = [subprocess.Popen([PROCESSES, 'work', 'wait'], cwd=folder, env=environment(True, RANK=rank, **more), stdin=reader, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, close_fds=True) for rank in range(count)]
    os.close(reader)
    os.close(writer)
    return [(p.communicate(), p.returncode) for p in running]


def ranks():
    with tempfile.TemporaryDirectory() as folder:
        results = together(folder, 64)
        tap.equal(results, [((b'value 3\n', b''), 0)] * 64, '64 ranks at once: unchanged')
        traces = sorted(os.listdir(folder))
        tap.equal((len(traces), [v for t in traces for v in check(f'{folder}/{t}')]), (64, []), '64 ranks at once: 64 traces')
        tap.equal(sorted(lines(f'{folder}/{t}')[0]['rank'] for t in traces), list(range(64)), '64 ranks at once: each its rank')
        tap.ok(all(t.split('.')[3] == f'r{lines(f"{folder}/{t}")[0]["rank"]}' for t in traces), '64 ranks at once: named by it', traces)
    with tempfile.TemporaryDirectory() as folder:
        together(folder, 32, CGTRACE_OUTPUT='same.jsonl')
        traces = sorted(os.listdir(folder))
        tap.equal((len(traces), len({lines(f'{folder}/{t}')[0]['pid'] for t in traces}), [v for t in traces for v in check(f'{folder}/{t}')]), (32, 32, []),
                  '32 processes and one name: 32 traces, nothing overwritten')
    with tempfile.TemporaryDirectory() as folder:
        together(folder, 6, CGTRACE_RANKS='0,2-3')
        tap.equal(sorted(lines(f'{folder}/{t}')[0]['rank'] for t in os.listdir(folder)), [0, 2, 3], 'CGTRACE_RANKS: those alone')


def namespaces():
    enter = ['unshare', '--pid', '--uts', '--fork', '--mount-proc']
    if not shutil.which('unshare') or subprocess.run([*enter, 'true'], capture_output=True).returncode:
        tap.skip('hosts and process ids that collide', 'namespaces are not allowed here')
        return
    with tempfile.TemporaryDirectory() as folder:
        for host in ('one', 'two', 'one'):
            result = subprocess.run([*enter, 'sh', '-c', f'hostname {host}; exec "$0" work', PROCESSES], cwd=folder, env=environment(True), capture_output=True)
            tap.equal((result.returncode, result.stdout), (0, b'value 3\n'), f'host {host}: unchanged')
        tap.equal(sorted(os.listdir(folder)), ['cgtrace.one.1.1.jsonl', 'cgtrace.one.1.jsonl', 'cgtrace.two.1.jsonl'],
                  'two hosts and a process id that comes again: three traces')


def reused_id():
    """A capture file whose process id is another process' now: told by when that began."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program('endings'), 'kill'], cwd=folder, env=environment(True, CGTRACE_OUTPUT='t.jsonl'), capture_output=True)
        with open('/proc/self/stat') as f:
            ticks = int(f.read().rsplit(')', 1)[1].split()[19])
        for start, status, what in ((ticks - 1, 0, 'began at another time: recovered'), (ticks, 1, 'is the very one: refused')):
            with open(f'{folder}/t.jsonl.cgt', 'r+b') as f:
                f.seek(HEADER_PID)
                f.write(struct.pack('=iiQ', os.getpid(), -1, start))
            result = subprocess.run([f'{BUILD}/cg-analyze', 'recover', 't.jsonl.cgt'], cwd=folder, capture_output=True, text=True)
            tap.equal((result.returncode, 'still records' in result.stderr), (status, status == 1), f'a process of the same id that {what}')
            if status == 0:
                os.unlink(f'{folder}/t.jsonl')


def strings_of_two():
    """What a child meets before it records is not written into the capture file that it has from its parent."""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_')}
        killed = subprocess.run([f'{BUILD}/tests/record/drive', 'strings-of-two'], cwd=folder, timeout=60,
                                env=dict(env, CGTRACE_OUTPUT='t.jsonl', CGTRACE_QUIET='1'))
        recovered = subprocess.run([f'{BUILD}/cg-analyze', 'recover', 't.jsonl.cgt'], cwd=folder, capture_output=True, text=True)
        tap.equal((killed.returncode, recovered.returncode), (-signal.SIGKILL, 0), 'strings of a child without records: its parent is killed and recovered')
        tap.equal([r['op_name'] for r in lines(f'{folder}/t.jsonl') if r['kind'] == 'op' and 'grid' in r], ['of the parent'],
                  'strings of a child without records: its parent has its own')


def thread_ends():
    # allocations that the program makes; None: as many as there was time for
    for how, allocations in (('cancel', None), ('destructors', 100 * 6), ('atfork', 3)):
        if THREAD_SANITIZED and how == 'destructors':
            tap.skip('destructors', 'the sanitizer forgets a thread in the last round, and the program records in it')
            continue
        with Run([program('thread_ends'), how], record=False) as plain, Run([program('thread_ends'), how], CGTRACE_OVERFLOW='block') as run:
            tap.equal((run.status, run.out, run.err), (plain.status, plain.out, plain.err), f'{how}: unchanged')
            tap.equal((len(run.traces), [v for t in run.traces for v in check(t)]), (1, []), f'{how}: a valid trace')
            records = lines(run.traces[0])
            seen = calls(run.traces[0])
            lost = records[-1]['lost']['total']
            tap.equal((seen['cuMemAlloc_v2'], lost), (allocations or seen['cuMemFree_v2'], 0), f'{how}: every call')


def handlers():
    """A handler that records while its thread is in the midst of recording: recorded, or counted as nested."""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_')}
        result = subprocess.run([f'{BUILD}/tests/record/drive', 'signals', '200000'], cwd=folder, capture_output=True, text=True, timeout=300,
                                env=dict(env, CGTRACE_OUTPUT='t.jsonl', CGTRACE_OVERFLOW='block', CGTRACE_QUIET='1'))
        if not tap.equal(result.returncode, 0, 'signal handlers that record: it ends'):
            return
        said = dict(line.split() for line in result.stdout.splitlines())
        records = lines(f'{folder}/t.jsonl')
        tap.equal(check(f'{folder}/t.jsonl'), [], 'signal handlers that record: valid')
        launches = collections.Counter(r['op_name'] for r in records if r['kind'] == 'op' and 'grid' in r)
        nested = records[-1]['coverage']['not_covered']['nested_calls']
        tap.equal((launches['loop'], launches['handler'] + nested), (200000, int(said['handled'])),
                  f'signal handlers that record: each of {said["handled"]} recorded once, or counted ({nested})')
        tap.ok(launches['handler'] > 0, 'signal handlers that record: some are recorded', dict(launches))


def jumps():
    """A handler that jumps out of the call that it has interrupted, for good: the thread goes on recording."""
    count = 3 * 50  # three moments of a call
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_')}
        result = subprocess.run([f'{BUILD}/tests/record/drive', 'jumps', str(count // 3)], cwd=folder, capture_output=True, text=True, timeout=60,
                                env=dict(env, CGTRACE_OUTPUT='t.jsonl', CGTRACE_QUIET='1'))
        tap.equal((result.returncode, result.stdout, check(f'{folder}/t.jsonl')), (0, '', []), 'calls that are left by a jump: a valid trace')
        records = lines(f'{folder}/t.jsonl')
        launches = collections.Counter(r['op_name'] for r in records if r['kind'] == 'op' and 'grid' in r)
        passed = records[-1]['coverage']['not_covered']
        tap.equal((dict(launches), passed['abandoned_calls'], passed['nested_calls'], records[-1]['lost']['total']),
                  ({'here': count, 'deeper': count}, count, count, 0),
                  'calls that are left by a jump: counted; what comes from deeper is taken for nested until a call comes from as high')


for test in (other_processes, daemons, ranks, namespaces, reused_id, strings_of_two, thread_ends, handlers, jumps):
    test()
tap.done()
