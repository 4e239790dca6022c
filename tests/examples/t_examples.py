#!/usr/bin/env python3
"""The example trainers learn, and their kernels are what they say: the PTX passes the toolkit's assembler, and the PTX, the host functions
and the CUDA C++ kernels have the same names and parameters."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, Run, missing, program  # noqa: E402

KERNELS = {'SIM_KERNELS': f'{BUILD}/examples/libtrainer_kernels.so'}
SIZES = {'u64': 8, 'u32': 4, 'f32': 4}


def text(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def losses(out):
    return [float(value) for value in re.findall(rb'^step +\d+  loss ([0-9.]+)$', out, re.M)]


def training():
    with Run([program('trainer'), '400'], record=False, **KERNELS) as run:
        seen = losses(run.out)
        tap.ok(run.status == 0 and len(seen) == 9, 'trainer: runs and prints its loss', (run.status, run.out, run.err))
        tap.ok(seen and seen[-1] < seen[0] / 100 and seen[-1] < 0.02, 'trainer: the loss goes down to under a hundredth', seen)
        first = seen
    with Run([program('trainer'), '400'], record=False, **KERNELS) as run:
        tap.equal(losses(run.out), first, 'trainer: the same at every run')
    with Run([program('trainer'), '10', '33', '7'], record=False, **KERNELS) as run:
        tap.ok(run.status == 0 and losses(run.out), 'trainer: sizes that are no multiple of a block', (run.status, run.err))
    for words in (['0'], ['many'], ['10', '-3']):
        with Run([program('trainer'), *words], record=False, **KERNELS) as run:
            tap.ok(run.status == 2 and run.err.startswith(b'usage: trainer') and run.err.count(b'\n') == 1, f'trainer {" ".join(words)}: usage', run.err)
    if reason := missing(['trainer_cuda']):
        tap.skip('trainer_cuda: the loss goes down', reason)
        return
    with Run([program('trainer_cuda'), '400'], record=False, **KERNELS) as run:
        seen = losses(run.out)
        tap.ok(run.status == 0 and seen and seen[-1] < seen[0] / 100, 'trainer_cuda: the loss goes down', (run.status, run.out, run.err))


def spans():
    """The trainer with explicit calls: the same training, and one step captured as it declares it."""
    with Run([program('trainer'), '60'], record=False, **KERNELS) as run:
        plain = run.out
    for record, more in ((False, {}), (True, {}), (True, dict(TRAINER_CAPTURE='7'))):
        name = f'trainer_spans{", recorded" if record else ""}{", step 7" if more else ""}'
        with Run([program('trainer_spans'), '60'], record=record, **KERNELS, **more) as run:
            tap.equal((run.status, run.out, run.err), (0, plain, b''), f'{name}: trains as the trainer does, without a complaint')
            tap.equal(len(run.traces), int(record), f'{name}: a trace only of the selected step')
            if record and run.traces:
                step_trace(run.traces[0], int(more.get('TRAINER_CAPTURE', 50)), name)


def step_trace(path, step, name):
    tap.equal(check(path), [], f'{name}: a valid trace')
    with open(path, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    meta = lines[0]
    tap.equal((meta['capture_step'], meta['correlation_id'], meta['capture_contract']['gradients']), (step, f'trainer/update-{step}', 'complete'),
              f'{name}: the step, and its gradients as declared')
    parts = [(line['name'], line.get('step')) for line in lines if line['kind'] == 'span_start' and line.get('source') == 'api' and not line['measured']]
    tap.equal(parts, [('train_step', None), ('forward', 'forward'), ('backward', 'backward'), ('optimizer', 'optimizer')], f'{name}: the parts of the step')
    keys = ['first.weight', 'first.bias', 'second.weight', 'second.bias']
    gradients = [line for line in lines if line['kind'] == 'gradient']
    stats = {line['label']: line for line in lines if line['kind'] == 'tensor_stats'}
    tap.equal(([g['key'] for g in gradients], {*stats}), (keys, {*keys, 'loss'}), f'{name}: gradients, statistics, the loss')
    # the norm of n values is sqrt(n) times their root mean square
    norms = [g['norm'] / (stats[g['key']]['elements'] ** 0.5 * stats[g['key']]['rms']) for g in gradients if stats[g['key']]['rms'] > 0]
    tap.ok(len(norms) == 4 and all(abs(n - 1) < 1e-6 for n in norms), f'{name}: norms and statistics agree', norms)
    tap.ok(sum(line['kind'] == 'op' and 'grid' in line for line in lines) >= 12, f'{name}: the launches of the step')
    preexisting = [line for line in lines if line['kind'] == 'memory' and line.get('preexisting')]
    tap.equal(len(preexisting), 13, f'{name}: parameters, velocities and the batch are alive at its start')


def assembler():
    ptxas = shutil.which('ptxas') or next((p for p in ('/usr/local/cuda/bin/ptxas',) if os.path.exists(p)), None)
    programs = ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', text('tests/programs/target.c').split('target_ptx[] =')[1]))
    for name, ptx in (('examples/trainer_kernels.ptx', text('examples/trainer_kernels.ptx')),
                      ('the target programs', programs.replace('\\n', '\n'))):
        if not ptxas:
            tap.skip(f'PTX of {name}', 'no ptxas')
            continue
        with tempfile.TemporaryDirectory() as folder:
            with open(f'{folder}/a.ptx', 'w', encoding='utf-8') as file:
                file.write(ptx)
            for architecture in ('sm_75', 'sm_90'):
                result = subprocess.run([ptxas, f'-arch={architecture}', f'{folder}/a.ptx', '-o', f'{folder}/a.cubin'], capture_output=True, text=True)
                tap.ok(result.returncode == 0, f'PTX of {name}: ptxas takes it for {architecture}', result.stderr)


def signatures():
    ptx = {name: [SIZES[kind] for kind in re.findall(r'\.param \.(\w+)', parameters)]
           for name, parameters in re.findall(r'\.entry (\w+)\(([^)]*)\)', text('examples/trainer_kernels.ptx'))}
    host = {name: [int(size) for size in sizes.split(',')]
            for name, sizes in re.findall(r'^KERNEL\((\w+), ([0-9, ]+)\)', text('examples/trainer_kernels_host.c'), re.M)}
    cuda = {name: [8 if '*' in parameter else 4 for parameter in parameters.split(',')]
            for name, parameters in re.findall(r'__global__ void (\w+)\(([^)]*)\)', text('examples/trainer_cuda.cu'))}
    tap.ok(len(ptx) == 8, 'eight kernels', sorted(ptx))
    tap.equal(host, ptx, 'host functions: names and parameters of the PTX')
    tap.equal(cuda, ptx, 'CUDA C++: names and parameters of the PTX')


def main():
    training()
    spans()
    assembler()
    signatures()
    tap.done()


if __name__ == '__main__':
    main()
