#!/usr/bin/env python3
"""The recording core by itself: what tests/record/drive records against what it must have recorded, worked out by hand."""
import json
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import check_trace  # noqa: E402
from harness import SANITIZED, fresh_folder  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
DRIVE = f'{BUILD}/tests/record/drive'


class Run:
    def __init__(self, *command, limits=None, folder=None, **settings):
        self.folder = folder or fresh_folder('cgtrace-record-')
        env = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_')}
        env.pop('RANK', None)
        env.setdefault('TSAN_OPTIONS', 'die_after_fork=0')  # the child has a writer of its own
        env.update({f'CGTRACE_{k}': v for k, v in settings.items()})
        done_ = subprocess.run([DRIVE, *map(str, command)], cwd=self.folder, env=env, capture_output=True, timeout=300,
                               preexec_fn=limits)
        self.status, self.out, self.err = done_.returncode, done_.stdout, done_.stderr.decode(errors='replace')
        self.names = sorted(os.listdir(self.folder))

    def traces(self):
        return [os.path.join(self.folder, n) for n in self.names if n.endswith('.jsonl')]

    def lines(self):
        with open(self.traces()[0], 'rb') as f:
            return [json.loads(line) for line in f]


def kinds(lines, kind):
    return [r for r in lines if r['kind'] == kind]


def valid(run, name, status=0):
    """The traces are, and the program ended as it does without them; a sanitizer that has found something ends it otherwise."""
    equal(run.status, status, f'{name}: status unchanged')
    faults = [f for t in run.traces() for f in check_trace.check(t)]
    ok(run.traces() and not faults, f'{name}: valid', '\n'.join(faults) or run.err)


def everything():
    run = Run('everything', TAGS='a=1,b=,c=x=y')
    valid(run, 'everything')
    lines = run.lines()
    meta, terminal = lines[0], lines[-1]
    spans = kinds(lines, 'span_start')
    equal([s['name'] for s in spans], ['drive', 'process', 'trainer/update-000000000010/forward', 'layer\n"1"\\\x01 \ufffdé', 'backward',
                                       'never ended'], 'names of the spans in order')
    parent = {s['id']: s.get('parent_id') for s in spans}
    equal([parent[s['id']] for s in spans], [None, 'span:1', 'span:2', 'span:3', 'span:2', 'span:2'], 'parents of the spans')
    equal([s.get('step') for s in spans], [None, None, 'forward', None, 'backward', None], 'steps from the last part of the names')
    equal(spans[3]['name_raw'], '6c617965720a2231225c0120ffc3a9', 'the bytes of a name that is not UTF-8')
    equal(len(kinds(lines, 'span_end')), 6, 'every span is ended')
    ops = [(o['op_name'], o['api'], o['span_id'], o.get('error'), o.get('requested_bytes'), o.get('bytes')) for o in kinds(lines, 'op')]
    equal(ops, [('cuMemAlloc', 'cuMemAlloc_v2', 'span:2', None, None, 4096), ('_Z6kernelPf', 'cuLaunchKernel_ptsz', 'span:3', None, None, None),
                ('cuMemAlloc', 'cuMemAlloc_v2', 'span:4', None, None, 100), ('cuMemAlloc', 'cuMemAlloc_v2', 'span:3', 2, 1 << 60, None),
                ('cuMemcpyHtoD', 'cuMemcpyHtoD_v2_ptds', 'span:3', None, None, 4096), ('cuMemFree', 'cuMemFree_v2', 'span:5', None, None, 100),
                ('cuMemFree', 'cuMemFree_v2', 'span:5', None, None, None), ('cuMemFree', 'cuMemFree_v2', 'span:5', 700, None, None),
                ('cuDevicePrimaryCtxReset', 'cuDevicePrimaryCtxReset_v2', 'span:2', None, None, None),
                ('cuMemAlloc', 'cuMemAlloc_v2', 'span:2', None, None, 8), ('cuCtxSynchronize', 'cuCtxSynchronize', 'span:6', None, None, None)],
          'operations: names, spans, errors, bytes')
    memory = [(m['action'], m['storage_id'], m['bytes'], m['address'], m['category'], m.get('end_reason')) for m in kinds(lines, 'memory')]
    equal(memory, [('alloc', 'storage:1', 4096, '0x1000', 'other', None), ('alloc', 'storage:2', 100, '0x2000', 'activation', None),
                   ('free', 'storage:2', 100, '0x2000', 'activation', None), ('free', 'storage:1', 4096, '0x1000', 'other', 'primary_reset'),
                   ('alloc', 'storage:3', 8, '0x4000', 'other', None)], 'storages: begin, end, category, reason')
    launch = next(o for o in kinds(lines, 'op') if 'grid' in o)
    equal((launch['grid'], launch['block'], launch['shared_bytes'], launch['stream_id']), ([2, 3, 4], [32, 2, 1], 48, 'stream:1'), 'a launch whole')
    sample = kinds(lines, 'device_memory')
    equal([{k: v for k, v in s.items() if k.endswith('bytes')} for s in sample], [{'used_bytes': 10, 'free_bytes': 90, 'capacity_bytes': 100}],
          'a sample: what is not known is left out')
    equal((meta['phase'], meta['device'], meta['tags']), ('train', 'cuda:0', {'a': '1', 'b': '', 'c': 'x=y'}), 'phase, device and tags')
    equal(meta['cuda'], {'driver': 13000, 'devices': [{'device': 'cuda:0', 'name': 'Simulated "device"', 'bytes': 1 << 30}]}, 'devices and driver')
    equal(meta['capture_contract']['operations'], 'partial', 'an unknown free lowers the coverage')
    gaps = terminal['coverage']['not_covered']
    equal((terminal['outcome'], terminal['lost']['total'], gaps['unknown_frees'], gaps['unknown_span_ends']), ('complete', 0, 1, 1), 'terminal')
    ok('records, 0 lost' in run.err and run.err.count('\n') == 1 and 'cg-analyze overview' in run.err, 'one line at the end', run.err)


def names():
    run = Run('names')
    valid(run, 'names')
    ops = [o for o in kinds(run.lines(), 'op') if 'grid' in o]
    long, exact, over = ops[0], ops[1], ops[2]
    equal((len(exact['op_name']), exact['op_name'].strip('x')), (256, ''), '256 bytes stand whole')
    equal((len(long['op_name']), long['name_full'], len(over['name_full'])), (256, 'x' * 3000, 257), 'longer names: shortened, whole once')
    equal([('name_full' in o, o['op_name'] == ops[i % 3]['op_name']) for i, o in enumerate(ops[3:9])], [(False, True)] * 6, 'later the same short name')
    ok(long['op_name'] != over['op_name'], 'different long names stay different')
    got = [o['op_name'] for o in ops[9:]]
    want = [('a' + chr(b) + 'b') if b < 128 else 'a\ufffdb' for b in range(256)]
    equal(got, want, 'every byte in a name')
    equal([o.get('name_raw') for o in ops[9:]], [None if b < 128 else f'61{b:02x}62' for b in range(256)], 'bytes that are not UTF-8 are kept')


def threads():
    for count, overflow, ring in ((1, 'block', '64K'), (4, 'block', '64K'), (16, 'block', '4M'), (16, 'drop', '64K')):
        total = 64000
        run = Run('threads', count, total // count, OVERFLOW=overflow, RING_BYTES=ring)
        name = f'{count} threads, {overflow}'
        valid(run, name)
        lines = run.lines()
        coverage, lost = lines[-1]['coverage'], lines[-1]['lost']
        # of 16 records: 4 allocations, 4 frees, 8 launches, a span; a free whose allocation was dropped is no storage's
        for family, issued in (('launch', total // 2), ('span', total // 16), ('memory', total // 2)):
            equal(coverage[family]['seen'], issued, f'{name}: {family}: recorded and lost are issued')
        equal(lost['total'], sum(lost['threads'].values()), f'{name}: losses of the threads make up the total')
        equal(lines[0]['capture_contract']['operations'], 'partial' if lost['total'] else 'complete', f'{name}: coverage')
        if overflow == 'block':
            equal(lost['total'], 0, f'{name}: none lost')
        if lost['total'] == 0:
            equal(len(kinds(lines, 'span_start')), total // 16 + 2, f'{name}: spans')


def full():
    run = Run('full-ring', 20000, RING_BYTES='64K')
    valid(run, 'a full ring')
    lines = run.lines()
    ok(lines[-1]['lost']['total'] > 0, 'a full ring: records are lost')
    live = set()
    for m in kinds(lines, 'memory'):
        (live.add if m['action'] == 'alloc' else live.discard)(m['storage_id'])
    equal(live, set(), 'a full ring: no freed storage looks retained')


def forks():
    run = Run('fork')
    valid(run, 'fork')
    equal(len(run.traces()), 2, 'fork: parent and child have a trace each')
    counts = sorted(len(kinds([json.loads(line) for line in open(t)], 'op')) for t in run.traces())
    equal(counts, [11, 22], 'fork: each its own calls')
    run = Run('fork-names')
    valid(run, 'fork with names')
    launches = [[o['op_name'] for o in map(json.loads, open(t)) if 'grid' in o] for t in run.traces()]
    equal(sorted(launches), [[], ['known before the fork'] * 2 + ['new in the child']], 'fork: numbers of strings stay right in the child')


def endings():
    for command, status in (('_exit', 7), ('quick_exit', 8)):
        run = Run(command)
        valid(run, command, status)
        equal(run.lines()[-1]['end'], command, f'{command}: named in the trace')
    if SANITIZED:
        skip('fork', 'the child waits for ever where another thread was within the allocator of the sanitizer')
    else:
        forks()
    equal(Run('nothing').names, [], 'a program that records nothing leaves nothing')
    run = Run('close-all')
    equal(run.out, b'', 'closed descriptors: nothing written into files of the program')
    valid(run, 'closed descriptors')
    # Nothing dropped, or a machine whose writer does not get a turn is what is tested.
    run = Run('come-and-go', 50, 64, OVERFLOW='block')
    valid(run, '200 threads that come and go')
    equal(run.lines()[-1]['coverage']['launch']['recorded'], 50 * 4 * 32, '200 threads: every launch')


def settings():
    for name, value in (('OVERFLOW', 'wait'), ('RING_BYTES', '12'), ('RECORD', 'memory,foo'), ('RANKS', '1-'), ('DISABLE', 'yes'),
                        ('IDENTITY', '/nonexistent.json')):
        run = Run('everything', **{name: value})
        ok(run.status == 0 and run.names == [] and value in run.err and run.err.count('\n') == 1, f'{name}={value}: one line, unprofiled', run.err)
        ok(name == 'IDENTITY' or f'CGTRACE_{name}' in run.err, f'{name}: named')
    equal(Run('everything', OVERFLOW='wait', QUIET='1').err, '', 'quiet holds for bad settings too')
    equal(Run('everything', DISABLE='1').names, [], 'disabled')
    run = Run('everything', RECORD='launch')
    valid(run, 'launches alone')
    equal((len(kinds(run.lines(), 'op')), len(kinds(run.lines(), 'memory'))), (1, 0), 'launches alone: one')
    folder = fresh_folder('cgtrace-record-')
    for _ in range(3):
        Run('everything', folder=folder, OUTPUT='sub/t.jsonl')
    equal(sorted(os.listdir(f'{folder}/sub')), ['t.1.jsonl', 't.2.jsonl', 't.jsonl'], 'nothing is overwritten')
    with open(f'{folder}/c.json', 'w') as f:
        f.write('{"measurement_scope": "profiled_work",\n "operations":"none","logical_memory":"complete",\n"required_semantic_labels":["backward"]}')
    with open(f'{folder}/i.json', 'w') as f:
        json.dump({'workload_id': 'w', 'model_id': 'm', 'config_id': 'c', 'data_id': 'd', 'seed_policy': 's', 'physical_batch': 1,
                   'accumulation_steps': 1, 'precision': 'p', 'device_state': 'x'}, f, indent=1)
    run = Run('everything', CONTRACT=f'{folder}/c.json', IDENTITY=f'{folder}/i.json', ENTRYPOINT='my "run"', PHASE='infer')
    valid(run, 'contract and identity')
    meta = run.lines()[0]
    contract = meta['capture_contract']
    equal((contract['measurement_scope'], contract['operations'], contract['logical_memory'], contract['required_semantic_labels']),
          ('profiled_work', 'none', 'partial', ['backward']), 'contract: levels are the lower of declared and seen')
    equal((meta['comparison_identity']['workload_id'], meta['entrypoint'], meta['phase']), ('w', 'my "run"', 'infer'), 'identity, entrypoint, phase')


def disk():
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    run = Run('threads', 2, 200000, limits=small, OVERFLOW='block')
    valid(run, 'a limit of file sizes')
    if run.traces():
        terminal = run.lines()[-1]
        ok(terminal['outcome'] == 'failed' and terminal['lost']['not_written'] > 0, 'a limit of file sizes: failed, losses told', terminal)
    equal(run.err.count('failed'), 1, 'a limit of file sizes: said once')
    run = Run('everything', OUTPUT='/proc/nothing/t.jsonl')
    ok(run.status == 0 and 'unprofiled' in run.err and run.err.count('\n') == 1, 'no place for a trace: said, unprofiled', run.err)
    mount = fresh_folder('cgtrace-record-')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=24m', 'none', mount], capture_output=True).returncode:
        skip('a full disk', 'tmpfs cannot be mounted here')
        return
    try:
        run = Run('threads', 2, 200000, folder=mount, OVERFLOW='block')
        valid(run, 'a full disk')
        equal(run.err.count('No space left'), 1, 'a full disk: said once')
    finally:
        subprocess.run(['umount', mount])


for test in (everything, names, threads, full, endings, settings, disk):
    test()
done()
