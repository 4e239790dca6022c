#!/usr/bin/env python3
"""The commands of EXAMPLES in the pages of cg-analyze, run as they stand, page after page in one folder that holds what they name; what each
leaves is held against a table. An example that the table lacks fails, and so does a line of the table that no page has."""
import glob
import gzip
import json
import os
import pickle
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path[:0] = [os.path.join(HERE, '..', 'cli'), os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from cli import Folder, end, op, region, start, stats  # noqa: E402
from harness import BUILD, SANITIZED, environment, program  # noqa: E402
from terminal import on_terminal  # noqa: E402

IDENTITY = dict(workload_id='w', model_id='m', config_id='c', data_id='d', seed_policy='fixed', physical_batch=8, accumulation_steps=1,
                precision='f32', device_state='locked')
# Exit status, and what standard output or the file that is written must hold. Durations of the cohorts below are the vector of doc/spec/compare.md
# 5 read backwards: the second is slower by 23, at least 20.
EXPECTED = {
    'cg-analyze import step10.jsonl -o step10-evidence.json': (0, 'step10-evidence.json', '"schema": "candle-graph/evidence/5"'),
    'zstd -dc big.jsonl.zst | cg-analyze import - | jq .health': (0, None, '"structurally_valid": true'),
    'cg-analyze view step10.jsonl -o step10.html': (0, 'step10.html', '<title>'),
    'cg-analyze view after.jsonl --against before.jsonl -o change.html': (0, 'change.html', '<title>'),
    'cg-analyze summary step10.jsonl --require-valid -o summary.json': (0, 'summary.json', '"structurally_valid": true'),
    "cg-analyze summary step10.jsonl | jq '.health.issues[].code'": (0, None, '"tensors_absent"'),
    'cg-analyze query run.jsonl --kind leaks --after-steps 2 --suppressions known.txt': (0, None, '"after_steps": 2'),
    'cg-analyze query step10.jsonl --kind idle --input next_batch': (0, None, '"next_batch"'),
    'cg-analyze query step10.jsonl --kind memory': (0, None, '"live_bytes": 273424'),
    'cg-analyze query step10.jsonl --kind spans --label-prefix layer. --limit 20': (0, None, '"name": "layer.1"'),
    'cg-analyze query step10.jsonl --kind tensor-stats --all -o stats.csv --format csv': (0, 'stats.csv', '^span:2,loss,'),
    'cg-analyze overview': (0, None, '  entrypoint                           trainer_nvtx'),
    'cg-analyze overview step10.jsonl --format json | jq .capabilities': (0, None, '"outer_wall_time"'),
    'cg-analyze compare --baseline main/* --candidate branch/*': (0, None, '"verdict": "candidate_slower"'),
    'cg-analyze compare --baseline main/* --candidate branch/* --require-eligible -o comparison.json': (0, 'comparison.json', '"comparable": true'),
    'cg-analyze compare --baseline main/* --candidate branch/* --noise again/* --min-effect 1 --fail-on slower': (1, None, '"verdict": "candidate_slower"'),
    'cg-analyze compare --baseline main/* --candidate branch/* --structure': (0, None, '"only_in_branch"'),
    'cg-analyze report step10.jsonl --bundle runs/step10': (0, 'runs/step10/report.md', '^# '),
    'cg-analyze report step10.jsonl --nsight-dir nsys --bundle runs/step10': (0, 'runs/step10/nsight/x_cuda_gpu_kern_sum.csv', 'linear_forward'),
    'cg-analyze verify runs/step10': (0, None, '"semantic": null'),
    'cg-analyze verify runs/step10 --semantic': (0, None, '"semantic": {'),
    'cg-analyze protocol | jq .schemas': (0, None, 'candle-graph/trace/10'),
    'cg-analyze campaign-status --manifest campaign.json': (0, None, '"missing": 0'),
    'cg-analyze series --bundle runs/step*': (0, None, '"capture_step": 20'),
    'cg-analyze series --manifest campaign.json --label-prefix encoder/ -o series.json': (0, 'series.json', '"encoder/w": '),
    'cg-analyze series --bundle runs/step* --svg series.svg -o series.json': (0, 'series.svg', '<svg'),
    'cg-analyze recover cgtrace.host.4711.jsonl.cgt': (0, 'cgtrace.host.4711.jsonl', '"outcome":"failed"'),
    'cg-analyze recover cgtrace.host.4711.jsonl.cgt --live -o now.jsonl': (0, 'now.jsonl', '"outcome":"failed"'),
    'cg-analyze symbolize run.jsonl -o run.jsonl': (0, 'run.jsonl', 'examples/trainer.c","line":'),
    'cg-analyze symbolize run.jsonl --debug-dir build/debug -o out.jsonl': (0, 'out.jsonl', '"kind":"terminal"'),
    'cg-analyze nsight-manifest nsys --trace step10.jsonl --tool-version 2026.1': (0, 'nsys/capture-manifest.json', '"version": "2026.1"'),
    'cg-analyze export run.jsonl --to chrome -o run.json': (0, 'run.json', '"traceEvents"'),
    'cg-analyze export run.jsonl --to folded --weight bytes -o - | flamegraph.pl > bytes.svg': (0, 'bytes.svg', r'^\S.* \d+$'),
    'cg-analyze export run.jsonl --to csv -o tables': (0, 'tables/op.csv', 'cuLaunchKernel'),
    'cg-analyze convert worker0.pt.trace.json.gz -o worker0.jsonl': (0, 'worker0.jsonl', '"op_name":"gemm"'),
    'cg-analyze convert snapshot.pickle -o memory.jsonl': (0, 'memory.jsonl', '"symbol":"forward"'),
    'cg-analyze index big.jsonl': (0, 'big.jsonl.cgx', ''),
    'cg-analyze query big.jsonl --kind kernels --verify-index': (0, None, '"name": "linear_forward"'),
    'cg-analyze ranks cgtrace.*.r*.jsonl': (0, None, '"rank": 1'),
    'cg-analyze ranks job/*.jsonl --label-prefix layer. --limit 20': (0, None, '"rank": 1'),
    'cg-analyze ranks job/*.jsonl --collective barrier --clock-error-ns 50000 --format csv -o ranks.csv': (0, 'ranks.csv', ','),
}


def examples():
    """[(page, command)]"""
    found = []
    for path in sorted(glob.glob(f'{BUILD}/man/cg-analyze-*.1')):
        with open(path, encoding='utf-8') as file:
            section = re.search(r'^\.Sh EXAMPLES\n(.*?)^\.Sh', file.read(), re.M | re.S)[1]
        found += [(os.path.basename(path), re.sub(r'\\(e|-)', lambda m: '\\' if m[1] == 'e' else '-', line)) for line in re.findall(r'^\.Dl (.*)$', section, re.M)]
    return found


def timed(records, duration):
    for record in records:
        if record.get('id') == 'm' and record['kind'] == 'span_end':
            record['duration_ns'] = duration
    return records


def synthetic(folder, run):
    """Bundles and plans: cohorts to compare, a series over two steps."""
    for side, durations, names in (('main', (75, 80, 78, 79, 77), ()), ('again', (76, 78, 80, 77, 79), ()), ('branch', (100, 102, 99, 101, 103), ('only_in_branch',))):
        for number, duration in enumerate(durations):
            records = timed(region(*[op('m', name, 110, 5) for name in names], run_id=f'{side}-{number}', device='cpu', measured_region_device_synchronized=True,
                                   contract=dict(measurement_scope='production_equivalent'), comparison_identity=dict(IDENTITY, implementation_id=side[0])), duration)
            run('report', folder.put(f'traces/{side}{number}.jsonl', records), '--bundle', f'{side}/{number}')
    for number in (10, 20):
        run('report', folder.put(f'traces/step{number}.jsonl', region(stats('encoder/w'), run_id=f's{number}', capture_step=number, warmup_steps=0)), '--bundle', f'series/{number}')
    folder.put('campaign.json', json.dumps(dict(schema='candle-graph/campaign/1', campaign_id='night', entrypoint='demo::step', planned=[
        dict(capture_step=10, bundle='series/10'), dict(capture_step=20, bundle='series/20')])))


def of_others(folder):
    """Files of PyTorch: a profiler's and a memory snapshot."""
    folder.put('worker0.pt.trace.json.gz', gzip.compress(json.dumps(dict(traceEvents=[
        dict(ph='X', cat='cuda_runtime', name='cudaLaunchKernel', pid=1, tid=1, ts=1, dur=2, args=dict(correlation=1)),
        dict(ph='X', cat='kernel', name='gemm', pid=0, tid=7, ts=2, dur=3, args=dict(correlation=1, device=0, stream=7))])).encode()))
    folder.put('snapshot.pickle', pickle.dumps(dict(segments=[], device_traces=[[
        dict(action='alloc', addr=1 << 20, size=512, time_us=1, frames=[dict(filename='train.py', line=1, name='forward')])]])))


def recorded(folder, env):
    """Traces of the trainers, in the files that the examples name."""
    def record(*words, **more):
        subprocess.run(['cgtrace', 'record', '--quiet', *words], cwd=folder.path, env=dict(env, **more), check=False, stdout=subprocess.DEVNULL, timeout=120)
    trainer = program('trainer_nvtx')
    record('--output', 'run.jsonl', '--', trainer, '20')
    record('--range', 'train_step', '--step', '10', '--output', 'step10.jsonl', '--', trainer, '10')
    # Spans and a statistic by the names that the examples use, at the beginning of the region.
    with open(folder('step10.jsonl'), encoding='utf-8') as file:
        lines = file.readlines()
    for at, line in enumerate(lines):
        measured = json.loads(line)
        if measured.get('measured'):
            break
    begin = measured['start_ns']
    more = [record for name in ('next_batch', 'layer.1') for record in (start(name, measured['id'], name, begin), end(name, 0))]
    more.append(dict(stats('loss'), span_id=measured['id']))
    with open(folder('step10.jsonl'), 'w', encoding='utf-8') as file:
        file.writelines([*lines[:at + 1], *(json.dumps(record) + '\n' for record in more), *lines[at + 1:]])
    for rank in '01':
        record('--', trainer, '5', RANK=rank)
    os.mkdir(folder('job'))
    for path in glob.glob(folder('cgtrace.*.r*.jsonl')):
        shutil.copy(path, folder('job'))
    record('--output', 'cgtrace.host.4711.jsonl', '--', program('endings'), 'kill', SIM_KERNELS=f'{BUILD}/tests/programs/lib_kernels.so')
    for name in ('before', 'after', 'big'):
        shutil.copy(folder('step10.jsonl'), folder(f'{name}.jsonl'))
    subprocess.run(['zstd', '-q', folder('big.jsonl')], check=True)


def files(folder):
    folder.put('known.txt', 'layer_*\n')
    folder.put('build/debug/none', '')
    folder.put('nsys/x.nsys-rep', 'raw')
    folder.put('nsys/x_cuda_gpu_kern_sum.csv', 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n100.0,500,5,100.0,100.0,90,110,5.0,linear_forward\n')
    # Stands for the script of that name, which draws what it is given.
    os.chmod(folder.put('bin/flamegraph.pl', '#!/bin/sh\nexec cat\n'), 0o755)


def holds(folder, path, pattern, out):
    if path:
        with open(folder(path), encoding='utf-8', errors='replace') as file:
            out = file.read()
    return re.search(pattern if '^' in pattern or '\\' in pattern else re.escape(pattern), out, re.M)


def main():
    if SANITIZED or not (shutil.which('jq') and shutil.which('zstd')):
        tap.skip('commands of EXAMPLES', 'a sanitizer must be preloaded first' if SANITIZED else 'jq or zstd is not installed')
        tap.done()
    folder = Folder()
    env = environment(False, SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so')
    env['PATH'] = f'{folder("bin")}:{BUILD}:{env["PATH"]}'
    files(folder)
    of_others(folder)
    recorded(folder, env)
    synthetic(folder, lambda *words: subprocess.run(['cg-analyze', *words], cwd=folder.path, env=env, check=True, stdout=subprocess.DEVNULL))
    found = examples()
    tap.equal(sorted(set(EXPECTED) - {command for _, command in found}), [], 'each line of the table is an example of a page')
    for page, command in found:
        if command not in EXPECTED:
            tap.ok(False, f'{page}: {command}', 'the table has no such line')
            continue
        if ' report ' in command:  # a bundle is never replaced
            shutil.rmtree(folder('runs'), ignore_errors=True)
        if 'runs/step*' in command:
            shutil.rmtree(folder('runs'), ignore_errors=True)
            for number in ('10', '20'):
                shutil.copytree(folder('series', number), folder('runs', f'step{number}'))
        if command == 'cg-analyze overview':  # takes the newest trace, on a terminal
            os.utime(folder('step10.jsonl'))
            ended, lines = on_terminal(command, folder.path, env)
            out, err = '\n'.join(lines), ''
        else:
            p = subprocess.run(command, shell=True, cwd=folder.path, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
            ended, out, err = p.returncode, p.stdout, p.stderr
        status, path, pattern = EXPECTED[command]
        good = ended == status and (not path or os.path.exists(folder(path))) and holds(folder, path, pattern, out)
        tap.ok(good, f'{page}: {command}', f'status {ended}, expected {status} and {pattern} in {path or "its output"}\n{err}{out[:1500]}')
    tap.done()


if __name__ == '__main__':
    main()
