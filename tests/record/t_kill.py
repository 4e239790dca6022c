#!/usr/bin/env python3
"""What cg-analyze recover makes of what a program left: one that died, one that still runs, damaged files. Ends at random moments:
tests/faults/t_deaths.py."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import check_trace  # noqa: E402
from tap import done, equal, ok  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
DRIVE, ANALYZE = f'{BUILD}/tests/record/drive', f'{BUILD}/cg-analyze'


def start(folder, *command, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_')}
    env.update({f'CGTRACE_{k}': v for k, v in settings.items()}, CGTRACE_OUTPUT='t.jsonl')
    return subprocess.Popen([DRIVE, *map(str, command)], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def recover(folder, *more):
    return subprocess.run([ANALYZE, 'recover', 't.jsonl.cgt', *more], cwd=folder, capture_output=True, text=True, timeout=60)


def numbers(path):
    """Of each thread (by the block's width) the numbers of its launches, in file order."""
    seen = {}
    with open(path) as f:
        for line in f:
            record = json.loads(line)
            if record['kind'] == 'op' and 'grid' in record:
                seen.setdefault(record['block'][0], []).append(record['grid'][0])
    return seen


def deaths():
    for command in ('abort', 'exec'):
        with tempfile.TemporaryDirectory(prefix='cgtrace-kill-') as folder:
            program = start(folder, command)
            program.communicate()
            result = recover(folder)
            ok(result.returncode == 0, f'{command}: recovered', result.stderr)
            equal(check_trace.check(f'{folder}/t.jsonl'), [], f'{command}: valid')
            lines = [json.loads(line) for line in open(f'{folder}/t.jsonl')]
            equal(sum(r['kind'] == 'op' for r in lines), 11, f'{command}: every call')
            equal((lines[0]['phase'], lines[0]['device'], lines[0]['capture_contract']['operations']), ('train', 'cuda:0', 'partial'), f'{command}: meta')
            equal(json.loads(result.stdout)['live_storages'], 1, f'{command}: storages that were alive')
            equal(lines[-1]['outcome'], 'failed', f'{command}: failed')


def running():
    with tempfile.TemporaryDirectory(prefix='cgtrace-kill-') as folder:
        program = start(folder, 'journal', 4, 1, OVERFLOW='block', RING_BYTES='64K')
        program.stdout.read1(8)
        time.sleep(0.1)
        result = recover(folder)
        ok(result.returncode == 1 and '--live' in result.stderr, 'a program that runs: refused, with the way out', result.stderr)
        # stopped: else it waits for its pipe to be read anyway
        result = recover(folder, '--live', '-o', 'live.jsonl')
        equal(result.returncode, 0, 'a program that runs: --live')
        faults = check_trace.check(f'{folder}/live.jsonl')
        seen = numbers(f'{folder}/live.jsonl')
        ok(not faults and seen and all(n == list(range(1, len(n) + 1)) for n in seen.values()), 'a program that runs: a valid trace of what there is',
           '\n'.join(faults))
        program.kill()
        program.communicate()


def overview(folder, name):
    os.makedirs(f'{folder}/tmp', exist_ok=True)
    result = subprocess.run([ANALYZE, 'overview', name], cwd=folder, capture_output=True, text=True, env=dict(os.environ, TMPDIR=f'{folder}/tmp'))
    left = os.listdir(f'{folder}/tmp')
    return result.returncode, result.stdout, result.stderr, left


def automatic():
    """Other commands take what a program left for the trace that it did not complete."""
    with tempfile.TemporaryDirectory(prefix='cgtrace-kill-') as folder:
        start(folder, 'abort').communicate()
        before = sorted(os.listdir(folder))
        seen = [overview(folder, name) for name in ('t.jsonl', 't.jsonl.part', 't.jsonl.cgt')]
        for (status, _, told, left), name in zip(seen, ('the trace', '.part', '.cgt')):
            ok(status == 0 and told.count('\n') == 1 and 'recovered' in told and 'how is unknown' in told and not left,
               f'overview of {name}: recovered, said in one line, nothing left', f'{status} {told} {left}')
        equal(sorted(set(os.listdir(folder)) - {'tmp'}), before, 'overview of what was left: nothing is changed')
        recover(folder)
        status, out, told, _ = overview(folder, 't.jsonl')
        equal((status, told), (0, ''), 'overview of a trace that is there: as it is')
        differ = {line.strip() for _, o, _, _ in seen for line in set(o.splitlines()) ^ set(out.splitlines())}
        ok(all('_path": "t.jsonl' in line for line in differ) and '"trace_path": "t.jsonl.cgt"' in differ,
           'overview of what was left: that of what recover makes, but for what was read', differ)
        os.unlink(f'{folder}/t.jsonl')
        with open(f'{folder}/t.jsonl.cgt', 'r+b') as f:
            f.write(b'something')
        status, out, told, left = overview(folder, 't.jsonl')
        ok(status == 3 and out == '' and told.count('\n') == 1 and 't.jsonl.cgt: not a capture file' in told and not left, 'a damaged one: refused in one line', told)
        os.unlink(f'{folder}/t.jsonl.cgt')
        status, _, told, _ = overview(folder, 't.jsonl')
        ok(status == 3 and 'No such file' in told, 'nothing beside it: not there', told)
    with tempfile.TemporaryDirectory(prefix='cgtrace-kill-') as folder:
        program = start(folder, 'journal', 1, 1, OVERFLOW='block', RING_BYTES='64K')
        program.stdout.read1(8)
        time.sleep(0.1)
        status, _, told, left = overview(folder, 't.jsonl')
        ok(status == 0 and 'still running' in told and not left, 'overview of a program that runs', told)
        program.kill()
        program.communicate()


def damage():
    """Files that a broken disk, or somebody, left: never a trace that is not valid, never a crash."""
    chance = random.Random(7)
    with tempfile.TemporaryDirectory(prefix='cgtrace-kill-') as folder:
        program = start(folder, 'abort', RING_BYTES='64K')
        program.communicate()
        with open(f'{folder}/t.jsonl.cgt.end', 'w') as f:
            f.write('killed by SIGKILL: out of memory\n')
        recover(folder)
        equal(json.loads(open(f'{folder}/t.jsonl').read().splitlines()[-1])['reason'], 'killed by SIGKILL: out of memory', "the launcher's word is the reason")
        result = recover(folder)
        ok(result.returncode == 2 and 'exists' in result.stderr, 'a trace that exists is not replaced unasked', result.stderr)
        os.unlink(f'{folder}/t.jsonl.part')
        result = recover(folder, '-o', 'u.jsonl')
        ok(result.returncode == 0 and json.loads(result.stdout)['part_missing'], 'without .part: what the rings hold', result.stderr)
        equal(check_trace.check(f'{folder}/u.jsonl'), [], 'without .part: valid')
        size = os.path.getsize(f'{folder}/t.jsonl.cgt')
        with open(f'{folder}/t.jsonl.cgt', 'rb') as f:
            whole = f.read(16384 + 2 * 8400 + 140000)
        faults = []
        for _ in range(60):
            damaged = bytearray(whole)
            for _ in range(chance.choice((1, 3, 30))):
                place = chance.randrange(len(damaged)) if chance.random() < 0.5 else chance.randrange(400)
                damaged[place] = chance.randrange(256)
            with open(f'{folder}/t.jsonl.cgt', 'r+b') as f:
                f.write(damaged)
            result = recover(folder, '-o', 'd.jsonl')
            if result.returncode not in (0, 3) or (result.returncode and not result.stderr.startswith('cg-analyze: ')):
                faults.append(f'status {result.returncode}: {result.stderr}')
            if result.returncode == 0:
                try:
                    check_trace.read(f'{folder}/d.jsonl')
                except check_trace.Rejected as rejected:
                    faults.append(str(rejected))
        ok(not faults, '60 damaged capture files: refused in one line, or a trace that readers take', '\n'.join(faults))
        with open(f'{folder}/t.jsonl.cgt', 'r+b') as f:
            f.write(whole)
        for cut in (0, 7, 100, 4096, 200000, 20 << 20):
            os.truncate(f'{folder}/t.jsonl.cgt', cut)
            result = recover(folder, '-o', 'c.jsonl')
            ok(result.returncode == 3 and result.stderr.count('\n') == 1, f'cut at {cut}: refused in one line', result.stderr)
            with open(f'{folder}/t.jsonl.cgt', 'r+b') as f:
                f.write(whole)
                f.truncate(size)
        with open(f'{folder}/t.jsonl.cgt', 'r+b') as f:
            f.write(whole)
        for name in ('t.jsonl.part', 't.jsonl.cgt.end', 't.jsonl.cgt'):
            if os.path.lexists(f'{folder}/{name}'):
                os.unlink(f'{folder}/{name}')
            os.mkfifo(f'{folder}/{name}')
            result = recover(folder, '-o', 'f.jsonl')  # none of them may hold it up
            wanted = 3 if name == 't.jsonl.cgt' else 0
            ok(result.returncode == wanted, f'a FIFO in place of {name}: status {wanted}', result.stderr)


for test in (deaths, running, automatic, damage):
    test()
done()
