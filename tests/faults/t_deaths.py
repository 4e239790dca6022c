#!/usr/bin/env python3
"""Programs of 1, 4 and 16 threads that end while all their threads record. Through a pipe of its own each thread tells what it has
committed; the trace, recovered where the program could not complete it, must hold all of that once, whole and in order, and nothing else.

make faults: 1,000 kills, 200 of each other ending. Here, as part of make check: a few of each. DEATHS=N sets the number of kills (the others:
a fifth), SEED=N the moments, JOBS=N how many programs run at a time."""
import collections
import concurrent.futures
import glob
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import check_trace  # noqa: E402
from harness import SANITIZED  # noqa: E402
from tap import done, ok, skip  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
DRIVE, ANALYZE = f'{BUILD}/tests/record/drive', f'{BUILD}/cg-analyze'
DEATHS, JOBS = int(os.environ.get('DEATHS', '10')), int(os.environ.get('JOBS', '1'))
# The kill comes when it should, on a busy machine too, where that may be asked for.
AT_ONCE = ['chrt', '-f', '1'] if shutil.which('chrt') and subprocess.run(['chrt', '-f', '1', 'true'], capture_output=True).returncode == 0 else []
CHILD, CHILD_NUMBERS, NODE_TYPES = 1000, 1000, 15  # tests/record/drive.c, common/capture.h

# Ending: how many, whether its traces are complete without recovery: the program's own, its child's (None: it has none).
Ending = collections.namedtuple('Ending', 'name share own child status')
ENDINGS = (Ending('kill', 1, False, None, -signal.SIGKILL), Ending('abort', 0.2, False, None, -signal.SIGABRT), Ending('_exit', 0.2, True, None, 7),
           Ending('exec', 0.2, False, None, 0), Ending('fork', 0.1, True, True, 0), Ending('fork-kill', 0.1, True, False, 0))


class Plan:
    """The settings of one run, drawn at random."""

    def __init__(self, chance, ending):
        self.threads = chance.choice((1, 4, 16))
        self.ring, self.every = chance.choice(('64K', '256K', '4M')), chance.choice((1, 7, 64))
        self.overflow = chance.choice(('block', 'block', 'block' if ending.child is not None else 'drop'))
        self.microseconds = int(chance.random() ** 3 * 20000)
        if self.overflow == 'drop':  # what is told committed may be missing then: a ring that does not fill
            self.ring, self.every, self.microseconds = '64M', 1, self.microseconds // 4

    def __str__(self):
        return f'{self.threads} threads, ring {self.ring}, every {self.every}, {self.overflow}, {self.microseconds} us'


def read_log(pipe):
    """Of each thread the last number that it told, before the program began to end where it says so."""
    log, data = {}, pipe.read()
    for thread, number in struct.iter_unpack('=II', data[:len(data) - len(data) % 8]):
        if thread == 0:
            break
        log[thread] = number
    return log


def run(plan, ending, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_')}
    env.update(CGTRACE_OUTPUT='t.%p.jsonl', CGTRACE_OVERFLOW=plan.overflow, CGTRACE_RING_BYTES=plan.ring, CGTRACE_QUIET='1')
    command = ['journal', plan.threads, plan.every] if ending.name == 'kill' else ['die', plan.threads, plan.every, plan.microseconds, ending.name]
    program = subprocess.Popen([DRIVE, *map(str, command)], cwd=folder, env=env, stdout=subprocess.PIPE)
    killer = None
    if ending.name == 'kill':
        first = program.stdout.read1(8)  # from its first record on
        killer = subprocess.Popen([*AT_ONCE, 'sh', '-c', f'sleep {plan.microseconds / 1e6:.4f}; kill -9 {program.pid}'])
        log = read_log(program.stdout) if len(first) == 8 else {}
        killer.wait()
    else:
        log = read_log(program.stdout)
    program.wait()
    return program, log


def split(lines):
    """Records of each thread by what the journal makes of them, in file order; and those that it cannot have made."""
    threads = collections.defaultdict(lambda: collections.defaultdict(list))
    strange, addresses = [], {}
    for record in lines:
        if record['kind'] == 'op':
            if 'grid' in record:
                number, thread = record['grid'][0], record['block'][0]
                good = (record['op_name'], record['grid'][1:], record['block'][1:]) == ('numbered', [1, 1], [1, 1])
                threads[thread]['launch'].append(number)
            elif 'nodes' in record:
                number, thread = int(record['graph'].split(':')[1]), record['kernels'].get('numbered')
                good = list(record['nodes'].values()) == list(range(number, number + NODE_TYPES)) and len(record['kernels']) == 1
                threads[thread]['graph'].append(number)
            else:
                good = record['api'] in ('cuMemAlloc_v2', 'cuMemFree_v2', 'cuCtxSynchronize')
        elif record['kind'] == 'memory':
            address = int(record['address'], 16)
            number, thread = address >> 8 & 0xffffffff, address >> 40
            good = record['bytes'] == number and addresses.setdefault(record['storage_id'], address) == address
            threads[thread][record['action']].append(number)
        else:
            good = record['kind'] in ('meta', 'terminal', 'span_start', 'span_end')
        if not good:
            strange.append(f'not of the journal: {record}')
    return threads, strange


def expected(kind, last):
    """The numbers of a thread whose last launch is `last`: of what follows a launch within its number the end may be missing."""
    return {'launch': list(range(1, last + 1)), 'graph': list(range(8, last + 1, 8)), 'alloc': list(range(4, last + 1, 4)),
            'free': [n - 2 for n in range(6, last + 1, 4)]}[kind]


def compare(path, log):
    """(missing, torn or invented, committed) of one trace; log: what its threads told."""
    strange = check_trace.check(path)
    with open(path) as f:
        threads, more = split(map(json.loads, f))
    strange += more
    missing = [f'thread {thread}: nothing' for thread in log if log[thread] and thread not in threads]
    for thread, kinds in threads.items():
        last, told = len(kinds['launch']), log.get(thread, 0)
        for kind in ('launch', 'graph', 'alloc', 'free'):
            got, want, least = kinds[kind], expected(kind, last), expected(kind, told)
            if len(got) < len(least):
                missing.append(f'thread {thread}: {kind}: {len(least)} committed, {len(got)} in the trace')
            if got not in (want, want[:-1] if want and want[-1] >= last - 2 else want):
                at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
                strange.append(f'thread {thread}: {kind}: place {at}: {got[at:at + 3]}, not {want[at:at + 3]}')
    return missing, strange, sum(log.values())


def recover(folder, capture):
    trace = capture[:-len('.cgt')]
    result = subprocess.run([ANALYZE, 'recover', capture, '-o', trace], cwd=folder, capture_output=True, text=True)
    return None if result.returncode == 0 else f'recover: {result.returncode}: {result.stderr}'


def once(plan, ending):
    with tempfile.TemporaryDirectory(prefix='cgtrace-death-') as folder:
        program, log = run(plan, ending, folder)
        own = {t: n for t, n in log.items() if t < CHILD}
        child = {t: n for t, n in log.items() if t >= CHILD}
        missing, strange, committed, late = [], [], 0, 0
        if program.returncode != ending.status:
            strange.append(f'status {program.returncode}')
        if log and ending.child is not None and child.get(CHILD, 0) < CHILD_NUMBERS - plan.every:
            strange.append(f'the child told {child}')
        traces = glob.glob(f'{folder}/*.jsonl')
        recovered = []
        for capture in glob.glob(f'{folder}/*.cgt'):
            if fault := recover(folder, capture):
                missing.append(fault)
            else:
                recovered.append(capture[:-len('.cgt')])
        is_own = {path: f'.{program.pid}.' in path for path in traces + recovered}
        for path, mine in is_own.items():
            whole = ending.own if mine else ending.child
            if path in traces and not whole:
                strange.append(f'{path}: complete')
            late += path in recovered and whole
            a, b, count = compare(path, own if mine else child)
            missing, strange, committed = missing + a, strange + b, committed + count
        wanted = (1 if own else 0) + (1 if child else 0)
        if len(is_own) < wanted:
            missing.append(f'{len(is_own)} traces of {wanted}: {os.listdir(folder)}')
        return missing, strange, committed, late


def main():
    chance = random.Random(int(os.environ.get('SEED', '1')))
    print('# ending      runs  committed  missing  torn or invented  not in time, recovered', flush=True)
    for ending in ENDINGS:
        if SANITIZED and ending.child is not None:
            skip(ending.name, 'the child waits for ever where another thread was within the allocator of the sanitizer')
            continue
        count = max(1, round(DEATHS * ending.share))
        missing, strange, committed, late = [], [], 0, 0
        plans = [Plan(chance, ending) for _ in range(count)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            results = list(pool.map(once, plans, [ending] * count))
        for plan, (a, b, told, slow) in zip(plans, results):
            missing += [f'{plan}: {fault:.300}' for fault in a]
            strange += [f'{plan}: {fault:.300}' for fault in b]
            committed, late = committed + told, late + slow
        print(f'# {ending.name:10} {count:5} {committed:10} {len(missing):8} {len(strange):17} {late:23}', flush=True)
        ok(not missing and not strange and committed >= count, f'{count} times {ending.name}: every committed record once, whole, in order',
           '\n'.join(missing + strange))
    done()


main()
