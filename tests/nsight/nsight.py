"""What the tests of Nsight reports share: directories of reports, and the evidence that comes of them."""
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from cli import Folder, document, done, end, equal, ok, query, region, run, skip, start  # noqa: E402,F401

NAMES = dict(kernels='cuda_gpu_kern_sum', runtime_calls='cuda_api_sum', memory_operations='cuda_gpu_mem_time_sum',
             nvtx_ranges='nvtx_gpu_proj_trace', gpu_timeline='cuda_gpu_trace')
PROJECTION = 'Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n'
KEYED = 'Name,Start (ns),Duration (ns),Projected Start (ns),Projected Duration (ns),Num GPU Ops,CorrId,Device,Ctx,Strm\n'
TIMELINE = ('Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),'
            'SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n')
SUMMARY = 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n'

folder = Folder()
_count = 0


def trace(expected=(), cpu_only=(), required=None, **changes):
    """Path of a whole trace whose contract has these labels, each the name of one span."""
    global _count
    _count += 1
    required = sorted({*expected, *cpu_only}) if required is None else required
    contract = dict(required_semantic_labels=list(required))
    if cpu_only:
        contract.update(gpu_expected_semantic_labels=list(expected), cpu_only_semantic_labels=list(cpu_only))
    spans = []
    for i, label in enumerate(required):
        spans += [start('l%d' % i, 'm', label, 200 + i), end('l%d' % i, 1)]
    return folder.put('trace%d.jsonl' % _count, region(*spans, contract=contract, **changes))


def directory(files):
    global _count
    _count += 1
    path = folder('reports%d' % _count)
    os.mkdir(path)
    for name, content in files.items():
        with open(os.path.join(path, name), 'wb') as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    return path


def packet(files, source=None, **labels):
    """The evidence packet of a trace with these reports."""
    global _count
    _count += 1
    bundle = folder('bundle%d' % _count)
    path = files if isinstance(files, str) else directory(files)
    status, _, err = run('report', source or trace(**labels), '--nsight-dir', path, '--bundle', bundle)
    if status:
        return dict(gpu=None, error=err)
    with open(os.path.join(bundle, 'evidence.json'), encoding='utf-8') as file:
        return json.load(file)


def gpu(files, source=None, **labels):
    result = packet(files, source, **labels)
    return result['gpu'] or result['error']


def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def manifest_of(path, expected=(), cpu_only=(), **changes):
    """A manifest that binds the directory to trace(), made without the program under test."""
    result = dict(schema='candle-graph/nsight-capture/1', run=dict(id='run-1'), correlation=dict(id='c-1'),
                  tool=dict(name='nsys', version='2026.1'), commands=[], hardware={}, source_revisions={},
                  required_semantic_labels=sorted({*expected, *cpu_only}),
                  artifacts=[dict(path=name, size_bytes=os.path.getsize(os.path.join(path, name)), sha256=digest(os.path.join(path, name)))
                             for name in sorted(os.listdir(path)) if name != 'capture-manifest.json'])
    if cpu_only:
        result.update(gpu_expected_semantic_labels=list(expected), cpu_only_semantic_labels=list(cpu_only))
    result.update(changes)
    return result
