#!/usr/bin/env python3
"""The examples that are not C: each is run on the simulated device, or says why it cannot be. Its traces are checked."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(HERE, '..', 'ledger'), os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from compare import judge, lost  # noqa: E402
from harness import BUILD, SANITIZED, Run, environment, program  # noqa: E402

KERNELS = {'SIM_KERNELS': f'{BUILD}/examples/libtrainer_kernels.so'}
EXAMPLES = f'{ROOT}/examples'
SKIPPED = 77


def run(command, folder, **more):
    env = environment(False, **more)
    env['PATH'] = f'{BUILD}:{env["PATH"]}'
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)


def rust():
    if not os.path.exists(program('trainer_rs')):
        tap.skip('Rust', 'no rustc')
        return
    with Run([program('trainer_rs'), '60'], **KERNELS) as r:
        first, last = (float(x) for x in re.findall(rb'loss ([0-9.]+) at first, ([0-9.]+)', r.out)[0])
        tap.ok(r.status == 0 and last < first / 100, 'Rust: the loss goes down to under a hundredth', r.out)
        recorded, found = judge(r)
        tap.ok(not found and lost(recorded) == 0, 'Rust: trace equals ledger', '\n'.join(found))
    for words in (['0'], ['many'], ['1', '2']):
        with Run([program('trainer_rs'), *words], record=False) as r:
            tap.ok(r.status == 2 and r.err.startswith(b'usage: trainer_rs') and r.err.count(b'\n') == 1, f'Rust: {" ".join(words)}: usage', r.err)


def torch():
    with tempfile.TemporaryDirectory() as folder:
        r = run([sys.executable, f'{EXAMPLES}/train_torch.py', 'none'], folder)
        if r.returncode == SKIPPED:
            tap.skip('PyTorch', r.stderr.strip())
            return
        tap.ok(r.returncode == 2 and r.stderr.startswith('usage:'), 'PyTorch: usage', r.stderr)
        r = run(['cgtrace', 'record', '--quiet', '--', sys.executable, f'{EXAMPLES}/train_torch.py', '5'], folder)
        if r.returncode == SKIPPED:
            tap.skip('PyTorch: a run', r.stderr.strip())
            return
        traces = glob.glob(f'{folder}/*.jsonl')
        tap.ok(r.returncode == 0 and len(traces) == 1 and not check(traces[0]), 'PyTorch: a valid trace', r.stderr)


# ---- cgtrace.py ----
PROGRAM = '''
import cgtrace
with cgtrace.session('train', 3, own_measured=True, path={path!r}) as paths:
    with cgtrace.span('train_step', measured=True):
        with cgtrace.span('forward'):
            cgtrace.scalar('loss', 0.25)
        cgtrace.values('weights', [2, 2], [1.0, -1.0, 2.0, 0.0])
        cgtrace.tag('job', '7')
        assert cgtrace.recording() in (True, {recording})
try:
    cgtrace.scalar(' ', 1)
    print('accepted')
except cgtrace.CgtraceError as error:
    print(error)
print(cgtrace.version(), len(paths))
'''


def table_order():
    header = open(f'{ROOT}/preload/cgtrace.h', encoding='utf-8').read()
    header = header[header.index('#define CGTRACE_FUNCTIONS'):header.index('how it works')]
    module = open(f'{EXAMPLES}/cgtrace.py', encoding='utf-8').read()
    names = re.findall(r"^    \('(\w+)', (?:CFUNCTYPE|None)", module, re.M)
    tap.equal(names, re.findall(r'^    F\(cgtrace_(\w+),', header, re.M), 'cgtrace.py: the functions of cgtrace.h, in their order')


def module():
    table_order()
    with tempfile.TemporaryDirectory() as folder:
        source = f'{folder}/program.py'
        with open(source, 'w', encoding='utf-8') as file:
            file.write(PROGRAM.format(path=f'{folder}/x.jsonl', recording=False))
        r = run([sys.executable, source], folder, PYTHONPATH=EXAMPLES)
        tap.equal((r.returncode, r.stdout, r.stderr, sorted(os.listdir(folder))), (0, 'accepted\n 0\n', '', ['program.py']), 'cgtrace.py without the library: nothing')
        if SANITIZED:
            tap.skip('cgtrace.py with the library', 'a sanitizer must be preloaded first')
            return
        r = run(['cgtrace', 'record', '--quiet', '--', sys.executable, source], folder, PYTHONPATH=EXAMPLES)
        told = r.stdout.splitlines()
        tap.ok(r.returncode == 0 and told[0].startswith('cgtrace_scalar: -2') and told[1].endswith(' 1'), 'cgtrace.py: a blank label is refused, the path is told', (r.stdout, r.stderr))
        if not tap.ok(os.path.exists(f'{folder}/x.jsonl'), 'cgtrace.py: a trace', os.listdir(folder)):
            return
        tap.equal(check(f'{folder}/x.jsonl'), [], 'cgtrace.py: it is valid')
        lines = [json.loads(line) for line in open(f'{folder}/x.jsonl', encoding='utf-8')]
        spans = [(s['name'], s['measured']) for s in lines if s['kind'] == 'span_start' and s['source'] == 'api']
        tap.equal(spans, [('train_step', True), ('forward', False)], 'cgtrace.py: its spans')
        stats = [s for s in lines if s['kind'] == 'tensor_stats' and s['label'] == 'weights']
        tap.equal([(s['shape'], s['elements'], s['abs_max'], s['mean']) for s in stats], [([2, 2], 4, 2.0, 0.5)], 'cgtrace.py: statistics')
        meta = lines[0]
        tap.equal((meta['entrypoint'], meta['capture_step'], meta['tags'].get('job')), ('train', 3, '7'), 'cgtrace.py: the session')


# ---- cgtrace_callback.py ----
# Two batches, hooks in Lightning's order; the third one raises in its forward part.
HOOKS = '''
from cgtrace_callback import CgtraceCallback
callback = CgtraceCallback()
for i in range(2):
    callback.on_train_batch_start(None, None, None, i)
    callback.on_before_backward(None, None, 0.5 - i / 4)
    callback.on_after_backward(None, None)
    callback.on_before_optimizer_step(None, None, None)
    callback.on_train_batch_end(None, None, None, None, i)
callback.on_train_batch_start(None, None, None, 2)
callback.on_exception(None, None, ValueError())
print('trained')
'''


def callback():
    with tempfile.TemporaryDirectory() as folder:
        source = f'{folder}/program.py'
        with open(source, 'w', encoding='utf-8') as file:
            file.write(HOOKS)
        r = run([sys.executable, source], folder, PYTHONPATH=EXAMPLES)
        tap.equal((r.returncode, r.stdout, r.stderr, sorted(os.listdir(folder))), (0, 'trained\n', '', ['program.py']), 'callback without the library: nothing')
        if SANITIZED:
            tap.skip('callback with the library', 'a sanitizer must be preloaded first')
            return
        r = run(['cgtrace', 'record', '--quiet', '--output', f'{folder}/x.jsonl', '--', sys.executable, source], folder, PYTHONPATH=EXAMPLES)
        if not tap.ok(r.returncode == 0 and r.stdout == 'trained\n' and os.path.exists(f'{folder}/x.jsonl'), 'callback: a trace', (r.stdout, r.stderr)):
            return
        tap.equal(check(f'{folder}/x.jsonl'), [], 'callback: it is valid')
        lines = [json.loads(line) for line in open(f'{folder}/x.jsonl', encoding='utf-8')]
        spans = [s for s in lines if s['kind'] == 'span_start' and s.get('source') == 'api']
        names = {s['id']: s['name'] for s in spans}
        parts = [('forward', 'forward'), ('backward', 'backward'), ('optimizer', 'optimizer')]
        tap.equal([(s['name'], s.get('step'), names.get(s['parent_id'])) for s in spans],
                  2 * [('train_step', None, None), *((name, step, 'train_step') for name, step in parts)] +
                  [('train_step', None, None), ('forward', 'forward', 'train_step')], 'callback: its spans, their steps and parents')
        tap.equal(sum(s['kind'] == 'span_end' for s in lines if s.get('span_id', s.get('id')) in names), 10, 'callback: each of them ends')
        tap.equal([s['mean'] for s in lines if s['kind'] == 'tensor_stats' and s['label'] == 'loss'], [0.5, 0.25], 'callback: the losses')


# ---- scripts ----
def gate():
    if SANITIZED:
        tap.skip('CI gate', 'times of sanitized programs say nothing')
        return
    script = f'{EXAMPLES}/ci_gate.sh'
    trainer = f'{program("trainer_nvtx")} 3'
    with tempfile.TemporaryDirectory() as folder:
        r = run(['bash', script], folder)
        tap.ok(r.returncode == 2 and r.stderr.startswith('usage:'), 'CI gate: usage', r.stderr)
        r = run(['bash', script, 'false', 'false'], folder, RANGE='train_step')
        tap.ok(r.returncode == 1 and 'run 1 of the baseline failed' in r.stderr, 'CI gate: a program that fails', r.stderr)
        # Simulated kernels that take long enough for the machine's noise to be small beside them.
        for name, us, status in (('the same', 8000, 0), ('three times as slow', 24000, 1)):
            for _ in range(5):  # again where the machine stood still in one of the ten runs
                r = run(['bash', script, f'env SIM_KERNEL_US=8000 {trainer}', f'env SIM_KERNEL_US={us} {trainer}'], folder, RANGE='train_step', STEP='2',
                        MIN_EFFECT='100', SIM_KERNELS=None)
                if r.returncode == status:
                    break
            tap.ok(r.returncode == status and 'verdict' in r.stdout and 'ineligible' not in r.stdout, f'CI gate: {name}', (r.returncode, r.stdout[-1500:], r.stderr))
        tap.equal(os.listdir(folder), [], 'CI gate: nothing is left')


def slurm():
    if SANITIZED:
        tap.skip('Slurm', 'a sanitizer must be preloaded first')
        return
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f'{folder}/bin')
        with open(f'{folder}/bin/srun', 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nfor i in 0 1 2 3 4 5 6 7; do SLURM_PROCID=$i "$@" & done\nwait\n')
        os.chmod(f'{folder}/bin/srun', 0o755)
        path = f'{folder}/bin:{BUILD}:{os.environ["PATH"]}'
        env = dict(environment(False, SLURM_JOB_ID='41', SLURM_SUBMIT_DIR=folder, TRAINER=f'{program("trainer_nvtx")} 12', **KERNELS), PATH=path)
        r = subprocess.run(['bash', f'{EXAMPLES}/trainer.slurm'], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
        names = sorted(n.split('.r')[1] for n in os.listdir(f'{folder}/traces.41') if '.r' in n)
        tap.ok(r.returncode == 0 and len(names) == 2 and [n[0] for n in names] == ['0', '4'], 'Slurm: two of eight ranks, the tenth step of each', (r.stderr, names))
        if shutil.which('sbatch') is None:
            print('# the queue itself was not tried: there is no sbatch')


def main():
    rust()
    torch()
    module()
    callback()
    gate()
    slurm()
    tap.done()


if __name__ == '__main__':
    main()
