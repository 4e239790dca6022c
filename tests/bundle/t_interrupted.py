#!/usr/bin/env python3
"""Publication that is killed, runs out of space, or meets another one: a whole bundle or none (doc/spec/bundle.md 5)."""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bundles import HERE, PROGRAM, Folder, done, equal, ok, op, read, region, run, skip  # noqa: E402

KILLS = 200
ENOUGH = 10  # of them at each of the moments that matter
folder = Folder()
TRACE = folder.put('t.jsonl', region(*[op('m', f'op{i % 7}', 200, 10) for i in range(3000)]))
STATES = ('whole', 'none', 'half')


def start(trace, bundle):
    return subprocess.Popen([PROGRAM, 'report', trace, '--bundle', bundle], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def state(bundle):
    if not os.path.lexists(bundle):
        return 'none'
    return 'whole' if run('verify', '--semantic', bundle)[0] == 0 else 'half'


def clear(place):
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)


def seconds(bundle):
    """What a whole publication takes, now."""
    begin = time.monotonic()
    start(TRACE, bundle).wait()
    return time.monotonic() - begin


# ---- killed ----
start(TRACE, folder('first')).wait()
place = folder('killed')
chance = random.Random(5)
seen = dict.fromkeys(STATES, 0)
attempts = staged = again = 0
while attempts < KILLS or min(seen['none'], staged) <= ENOUGH and attempts < 5 * KILLS:
    clear(place)
    if attempts % 20 == 0:  # the machine may be busier, or less so, than it was
        duration = seconds(place + '/b')
        clear(place)
    attempts += 1
    publisher = start(TRACE, place + '/b')
    time.sleep(chance.uniform(0, 1.2 * duration))
    publisher.send_signal(signal.SIGKILL)
    publisher.communicate()
    found = state(place + '/b')
    seen[found] += 1
    staged += any('.tmp-' in name for name in os.listdir(place))
    if found == 'none':
        again += run('report', TRACE, '--bundle', place + '/b')[0] != 0
equal(seen['half'], 0, f'{KILLS} kills, or more: never half a bundle')
equal(again, 0, 'after each the next attempt works')
ok(min(seen['none'], staged) > ENOUGH, 'kills came before the end, and while files were staged', f'{seen} {staged} staged')

# ---- killed at every call that changes something ----
calls = ('mkdirat', 'openat', 'write', 'fsync', 'fchmod', 'renameat2', 'rename')
# A leak sanitizer traces its program too, and there can be only one.
tracer = ['strace', '-f', '-E', 'ASAN_OPTIONS=detect_leaks=0', '-o', '/dev/null']
if shutil.which('strace') and subprocess.run([*tracer, 'true'], capture_output=True).returncode == 0:
    small = folder.put('small.jsonl', region())
    seen = dict.fromkeys(STATES, 0)
    bad = []
    for call in calls:
        for number in range(1, 60):
            clear(place)
            killed = subprocess.run([*tracer, '-e', f'trace={call}', '-e', f'inject={call}:signal=KILL:when={number}', PROGRAM, 'report', small, '--bundle', place + '/b'],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            found = state(place + '/b')
            seen[found] += 1
            if found == 'half' or (found == 'none' and run('report', small, '--bundle', place + '/b')[0] != 0):
                bad.append((call, number, found))
            if killed.returncode == 0:
                break
    equal(bad, [], 'killed at each call: whole or none, and the next attempt works')
    ok(seen['none'] > 20 and seen['whole'] > 3, 'both were met', seen)
    # Failing instead of killing: each call once with EIO; nothing may be left.
    left = []
    for call in ('mkdirat', 'write', 'fsync', 'fchmod', 'renameat2'):
        for number in range(1, 60):
            clear(place)
            failed = subprocess.run([*tracer, '-e', f'trace={call}', '-e', f'inject={call}:error=EIO:when={number}', PROGRAM, 'report', small, '--bundle', place + '/b', '-o', folder('receipt')],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            found, names = state(place + '/b'), os.listdir(place)
            if failed.returncode == 0:
                break
            if failed.returncode != 5 or found == 'half' or (found == 'none' and names) or failed.stderr.count(b'\n') != 1:
                left.append((call, number, failed.returncode, found, names, failed.stderr))
    equal(left, [], 'an error at each call: status 5, one line, whole or nothing at all')
else:
    skip('killed at each call', 'strace cannot be used here')

# ---- the disk full at each step ----
disk = folder('disk')
os.mkdir(disk)


def mount(options):
    return subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'none', disk], capture_output=True).returncode == 0


def fills(name, options, limits):
    """With growing limits: fails, leaving nothing, until it works."""
    faults, failures, works = [], 0, False
    for limit in limits:
        if not mount(options.format(limit)):
            return skip(name, 'a small file system cannot be mounted here')
        try:
            status, out, err = run('report', TRACE, '--bundle', disk + '/b')
            works = status == 0
            failures += not works
            if works and state(disk + '/b') != 'whole':
                faults.append((limit, 'not whole'))
            if not works and (status != 5 or out or err.count('\n') != 1 or 'No space' not in err or os.listdir(disk)):
                faults.append((limit, status, err, os.listdir(disk)))
        finally:
            subprocess.run(['umount', disk], check=True)
        if works:
            break
    equal(faults, [], f'{name}: status 5, one line, nothing left')
    ok(works and failures > 3, f'{name}: until there is room', f'{failures} failures')


need = sum(os.path.getsize(folder('first', name)) for name in os.listdir(folder('first'))) // 1024
fills('no space', 'size={}k', [*range(4, 40, 4), *range(40, 2 * need, max(4, need // 30 // 4 * 4))])
fills('no inodes', 'nr_inodes={}', range(2, 20))

# ---- two at once ----
outcomes, wrong = set(), []
for attempt in range(20):
    clear(place)
    publishers = [start(TRACE, place + '/b') for _ in range(3)]
    errors = [publisher.communicate()[1] for publisher in publishers]
    statuses = sorted(publisher.returncode for publisher in publishers)
    outcomes.add(tuple(statuses))
    if statuses.count(0) != 1 or not set(statuses) <= {0, 2, 5} or state(place + '/b') != 'whole' or os.listdir(place) != ['b']:
        wrong.append((statuses, errors, os.listdir(place)))
equal(wrong, [], 'three publishers of one destination: one wins, the others fail and leave nothing')

# ---- a destination that appears meanwhile, a trace that is truncated meanwhile ----
def publisher_met_late(make):
    """A publisher whose destination was made between its last file and its rename, and its message; made again as long as this process is not there in time."""
    while True:
        clear(place)
        late = subprocess.Popen([*tracer, '-e', 'trace=renameat2', '-e', 'inject=renameat2:delay_enter=400000', PROGRAM, 'report', TRACE, '--bundle', place + '/b'],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while late.poll() is None and not any(os.path.exists(f'{place}/{entry}/bundle.json') for entry in os.listdir(place)):
            time.sleep(0.005)
        try:
            make(place + '/b')
        except FileExistsError:
            late.communicate()
            continue
        return late, late.communicate()[1]


if shutil.which('strace') and subprocess.run([*tracer, 'true'], capture_output=True).returncode == 0:
    for name, make in (('an empty directory', os.mkdir), ('a file', lambda path: open(path, 'x').close()), ('a link', lambda path: os.symlink('/nowhere', path))):
        late, message = publisher_met_late(make)
        ok(late.returncode == 5 and os.listdir(place) == ['b'] and message.count(b'\n') == 1, f'{name} that appears late is not replaced', (late.returncode, message, os.listdir(place)))
else:
    skip('a destination that appears late', 'strace cannot be used here')
done()
