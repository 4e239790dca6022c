"""Traces of the ranks of a job that never ran, made from a plan: what is slow, and how the clocks stand, is known exactly."""
import json

EPOCH_NS = 1_700_000_000_000_000_000
BOOT_NS = 5_000_000_000
STEP_LABELS = ('load', 'forward', 'backward', 'optimizer')
WORK_NS = dict(load=2_000_000, forward=10_000_000, backward=20_000_000, optimizer=1_000_000)
COLLECTIVE_NS = 300_000


class Rank:
    """One rank: host, when its session began (true time), how far its host's real-time clock is ahead, and its monotonic clock's start."""

    def __init__(self, number, host='node0', begin_ns=0, clock_ahead_ns=0, boot_ns=BOOT_NS, slow=None, memory=0, killed_after=None):
        self.number, self.host, self.begin_ns, self.clock_ahead_ns, self.boot_ns = number, host, begin_ns, clock_ahead_ns, boot_ns
        self.slow = slow or {}          # label: factor
        self.memory = memory            # bytes allocated at the start, half of them freed at the end
        self.killed_after = killed_after  # steps; None: ran to the end
        self.records, self.spans = [], 0


def jitter(rank, step, label):
    """At most 0.1 % up or down, the same each time."""
    return ((rank * 7919 + step * 104729 + len(label) * 1299709) % 2001 - 1000) / 1e6


def span(rank, parent, name, begin, end, **more):
    """begin and end in true time; end None: never closed."""
    rank.spans += 1
    id = f'span:{rank.spans}'
    start = dict(kind='span_start', id=id, name=name, start_ns=begin - rank.begin_ns, span_kind='function', **more)
    if parent:
        start['parent_id'] = parent
    rank.records.append(start)
    if end is not None:
        rank.records.append(dict(kind='span_end', id=id, duration_ns=end - begin))
    return id


def anchor(rank, true_ns, spread=40):
    return dict(tick=10**6 + true_ns - rank.begin_ns, monotonic_ns=true_ns + rank.boot_ns,
                realtime_ns=true_ns + EPOCH_NS + rank.clock_ahead_ns, spread_ticks=spread)


def meta(of, end_ns, **changes):
    record = dict(kind='meta', schema='candle-graph/trace/10', run_id=f'run-{of.number}', correlation_id='job/update-1', entrypoint='job', phase='train',
                  timestamp='2026-01-01T00:00:00Z', capture_step=1, warmup_steps=0, device='cuda:0', timing_mode='host',
                  capture_contract=dict(measurement_scope='profiled_work', operations='partial', logical_memory='partial', physical_memory='partial',
                                        device_timing='partial'), tags={}, host=of.host, pid=4000 + of.number, rank=of.number,
                  clock=dict(source='tsc', mult=1 << 32, shift=32, first=anchor(of, of.begin_ns), last=anchor(of, end_ns), devices=[]))
    record.update(changes)
    return {key: value for key, value in record.items() if value is not None}


def memory(rank, action, at, storage, size):
    rank.records.append(dict(kind='memory', timestamp_ns=at, storage_id=storage, tensor_id=storage, span_id='span:1', device='cuda:0', bytes=size,
                             action=action, dtype='u8', category='parameter'))


def run(ranks, steps, collective='ncclAllReduce', work_ns=WORK_NS, device=False):
    """Runs the job in true time: each step is the labels one after the other, then a collective that all leave together."""
    now = {rank.number: max(r.begin_ns for r in ranks) + 50_000 for rank in ranks}
    roots = {rank.number: span(rank, None, 'session', rank.begin_ns, None) for rank in ranks}
    for rank in ranks:
        if rank.memory:
            memory(rank, 'alloc', 10, 'kept', rank.memory // 2)
            memory(rank, 'alloc', 11, 'freed', rank.memory - rank.memory // 2)
            rank.records.append(dict(kind='device_memory', timestamp_ns=12, device='cuda:0', used_bytes=rank.memory + 1000, free_bytes=10**9 - rank.memory))
    for step in range(steps):
        alive = [rank for rank in ranks if rank.killed_after is None or step < rank.killed_after]
        arrived = {}
        for rank in alive:
            begin = at = now[rank.number]
            parts = []
            for label in STEP_LABELS:
                took = round(work_ns[label] * rank.slow.get(label, 1) * (1 + jitter(rank.number, step, label)))
                parts.append((label, at, at + took))
                at += took
            arrived[rank.number] = (begin, parts, at)
        left = max(at for _, _, at in arrived.values()) + COLLECTIVE_NS
        for rank in alive:
            begin, parts, at = arrived[rank.number]
            outer = span(rank, roots[rank.number], 'train_step', begin, left + 20_000)
            for label, start, end in parts:
                inner = span(rank, outer, label, start, end)
                if device:
                    rank.records.append(dict(kind='device_interval', span_id=inner, device='cuda:0', stream_id='0', clock_id='cuda:0/ctx:1', backend='sim',
                                             start_ns=start, duration_ns=round((end - start) * rank.slow.get('device', 1)), name='gemm'))
            span(rank, outer, collective, at, left)
            if device:
                rank.records.append(dict(kind='device_interval', span_id=f'span:{rank.spans}', device='cuda:0', stream_id='0', clock_id='cuda:0/ctx:1',
                                         backend='sim', start_ns=at, duration_ns=left - at, name='ncclDevKernel_AllReduce'))
            now[rank.number] = left + 30_000
    for rank in ranks:
        end = now[rank.number]
        if rank.killed_after is None:
            if rank.memory:
                memory(rank, 'free', end - rank.begin_ns, 'freed', rank.memory - rank.memory // 2)
            rank.records.append(dict(kind='span_end', id='span:1', duration_ns=end - rank.begin_ns))
            rank.terminal = dict(kind='terminal', outcome='complete', timestamp_ns=end - rank.begin_ns)
        else:
            span(rank, 'span:1', 'train_step', end, None)
            rank.terminal = dict(kind='terminal', outcome='failed', timestamp_ns=end - rank.begin_ns, reason='killed by signal 9')
        rank.end_ns = end


def write(folder, ranks, **changes):
    """Writes DIR/rN.jsonl for each rank; the paths."""
    paths = []
    for rank in ranks:
        path = f'{folder}/r{rank.number}.jsonl'
        with open(path, 'w') as file:
            for record in [meta(rank, rank.end_ns, **changes), *rank.records, rank.terminal]:
                file.write(json.dumps(record, separators=(',', ':')) + '\n')
        paths.append(path)
    return paths
