"""Compares a trace with the simulated driver's ledger, record by record.

A call is (api, what, result); what holds the fields that both sides know. Calls are compared thread by thread, in order: a stream
that one thread uses is thereby compared in its order too. Storages (address, bytes, kind, device) are compared the same way, and the
streams' names must map to the ledger's handles one to one while a handle lives.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
from check_trace import check  # noqa: E402

ALLOC = re.compile(r'^cu(Mem(Alloc|HostAlloc|HostRegister|Create)|Array(3D)?Create|MipmappedArrayCreate|(da)?(Malloc|HostAlloc|HostRegister)|daMallocHost)')
FREE = re.compile(r'^cu(Mem(Free|HostUnregister|Release)|ArrayDestroy|MipmappedArrayDestroy|daFree|daHostUnregister)')
COPY = re.compile(r'^cu(Memcpy|daMemcpy)')
MEMSET = re.compile(r'^cu(Memset|daMemset)')
LAUNCH = re.compile(r'^(cuLaunch(?!HostFunc)|cudaLaunch(?!HostFunc)|__cudaLaunch)')
GRAPH = re.compile(r'^cu(da)?GraphLaunch')
KINDS = (('alloc', ALLOC), ('free', FREE), ('copy', COPY), ('memset', MEMSET), ('launch', LAUNCH), ('graph_launch', GRAPH))
BATCH = re.compile(r'^cuMemcpy(3D)?BatchAsync')
KIND_OF = {}


def kind_of(api):
    """The ledger's op of an entry point, None for calls that the ledger does not hold."""
    if api not in KIND_OF:
        KIND_OF[api] = next((kind for kind, pattern in KINDS if pattern.match(api)), None)
    return KIND_OF[api]


# Kinds of storages that the ledger calls otherwise.
KIND_NAMES = {'physical': 'vmm', 'mipmap': 'mipmapped_array'}


class Side:
    """One side's calls and storages by thread, and where each call's work went."""

    def __init__(self):
        self.calls = {}       # tid -> [(api, op, what, result)]
        self.storages = {}    # tid -> [(action, address, bytes, kind, device)]
        self.implicit = []    # (reason, address, bytes): storages that ended without a call that frees them
        self.streams = {}     # tid -> [stream of each call that has one]

    def call(self, tid, api, op, what, result, stream):
        self.calls.setdefault(tid, []).append((api, op, what, result))
        # A refused call may have no stream on either side: what was wrong with it may have been just that.
        self.streams.setdefault(tid, []).append(None if result else stream)

    def storage(self, tid, *storage):
        self.storages.setdefault(tid, []).append(storage)


def device_label(kind, device):
    return 'cpu' if kind in ('host', 'registered') or device < 0 else f'cuda:{device}'


class Ledger(Side):
    def __init__(self, path=None):
        super().__init__()
        self.batch = None  # seq of the line before
        if path is None:
            return
        with open(path, encoding='utf-8', errors='strict') as file:
            for line in file:
                if not line.strip("\0\n"):  # the file of a killed program ends in room not used
                    continue
                record = json.loads(line)
                if record['op'] != 'done':
                    self.add(record)

    def add(self, r):
        op, api, result = r['op'], sys.intern(r['api']), r['result']
        if op in ('map', 'unmap'):  # other ways to memory that is there already: calls without bytes
            return
        if 'reason' in r:
            self.implicit.append((r['reason'], r['address'], r['bytes']))
            return
        if op == 'launch':
            what = (r.get('name_hex') or r.get('name'), *r['grid'], *r['block'], r['shared'])
        elif op in ('copy', 'memset'):
            what = r['bytes']
        elif op == 'alloc':
            what = r['bytes']
        elif op == 'graph_launch':
            what = r['nodes'] if result == 0 else None
        else:
            what = None
        calls = self.calls.setdefault(r['tid'], [])
        # A line for each copy of a batch; between two batches the programs make another call.
        if BATCH.match(api) and calls and calls[-1][0] == api and self.batch == r['seq'] - 1:
            calls[-1] = (*calls[-1][:2], calls[-1][2] + what, *calls[-1][3:])
            self.batch = r['seq']
            return
        self.batch = r['seq']
        if op == kind_of(api):  # else a storage that begins or ends inside another call: a graph's launch, an unmapping
            self.call(r['tid'], api, op, what, result, r.get('stream'))
        if op in ('alloc', 'free') and result == 0 and 'address' in r:
            kind = KIND_NAMES.get(r.get('kind'), r.get('kind'))
            self.storage(r['tid'], op, r['address'], r['bytes'], kind, device_label(kind, r.get('device', -1)))


class Recorded(Side):
    """Fed with the trace's records in file order: pass `feed` to check_trace.check()."""

    def __init__(self):
        super().__init__()
        self.whole_names = {}
        self.nodes = {}  # graph -> nodes when it was last made ready or updated
        self.terminal = self.meta = None
        self.others = 0  # ops that the ledger does not hold: synchronisation, contexts, ...

    def feed(self, r):
        kind = r['kind']
        if kind == 'op':
            self.op(r)
        elif kind == 'memory':
            if 'end_reason' in r:
                self.implicit.append((r['end_reason'], r['address'], r['bytes']))
            else:
                self.storage(r['tid'], r['action'], r['address'], r['bytes'], r['memory_kind'], r['device'])
        elif kind in ('meta', 'terminal'):
            setattr(self, kind, r)

    def name(self, r):
        """The launch's name as the ledger tells it: the bytes in hexadecimal when they are no UTF-8."""
        shown = r['op_name']
        if r['api'].startswith(shown) and 'error' in r:  # refused before there was a kernel to name: named after the call
            return None
        if 'name_full' in r or (len(shown.encode()) > 200 and 'name_raw' in r):
            self.whole_names[shown] = r.get('name_raw') or r['name_full']
        return r.get('name_raw') or r.get('name_full') or self.whole_names.get(shown) or shown

    def op(self, r):
        api = sys.intern(r['api'])
        if 'nodes' in r:
            self.nodes[r['graph']] = sum(r['nodes'].values())
        op = kind_of(api)
        if 'captured' in r or op is None or (op == 'free' and 'error' not in r and 'bytes' not in r):  # neither nodes of a graph nor the free of a null pointer do anything
            self.others += 1
            return
        if op == 'launch':
            what = (self.name(r), *r.get('grid', ()), *r.get('block', ()), r.get('shared_bytes'))
        elif op in ('copy', 'memset'):
            what = r.get('bytes')
        elif op == 'alloc':
            what = r.get('requested_bytes' if 'error' in r else 'bytes')
        elif op == 'graph_launch':
            what = self.nodes.get(r.get('graph')) if 'error' not in r else None
        else:
            what = None
        self.call(r['tid'], api, op, what, r.get('error', 0), r.get('stream_id'))


def first_difference(got, expected, what):
    for i, (g, e) in enumerate(zip(got, expected)):
        if g != e:
            return f'{what} {i}: trace {str(g)[:300]}, ledger {str(e)[:300]}'
    if len(got) != len(expected):
        extra = got if len(got) > len(expected) else expected
        at = min(len(got), len(expected))
        return f'{what}: trace has {len(got)}, ledger {len(expected)}; first of the rest: {str(extra[at])[:300]}'
    return None


def stream_faults(got, expected):
    """Every name of the trace stands for one handle; a handle that has taken a new name never goes back to an old one."""
    handle_of, name_now, past = {}, {}, set()
    for tid in got.streams:
        for name, handle in zip(got.streams[tid], expected.streams.get(tid, [])):
            if (name is None) != (handle is None):
                yield f'stream {name} in the trace, {handle} in the ledger'
                continue
            if name is None:
                continue
            handle = (handle, tid) if handle == 'per-thread' else handle
            if handle_of.setdefault(name, handle) != handle:
                yield f'stream {name} stands for {handle_of[name]} and for {handle}'
            if name_now.get(handle, name) != name:
                past.add((handle, name_now[handle]))
                if (handle, name) in past:
                    yield f'stream {handle} is {name} again after {name_now[handle]}'
            name_now[handle] = name
            if handle == 'legacy' and name != 'legacy':
                yield f'the legacy stream is called {name}'


def differences(recorded, ledger, api=True):
    """What differs, as strings. api False: the trace's calls are the runtime's, so their names are not compared."""
    found = []
    for tid in sorted(set(recorded.calls) | set(ledger.calls)):
        sides = [side.calls.get(tid, []) for side in (recorded, ledger)]
        if not api:
            sides = [[call[1:] for call in side] for side in sides]
        found.append(first_difference(*sides, f'thread {tid} call'))
    for tid in sorted(set(recorded.storages) | set(ledger.storages)):
        found.append(first_difference(recorded.storages.get(tid, []), ledger.storages.get(tid, []), f'thread {tid} storage'))
    found.append(first_difference(sorted(recorded.implicit), sorted(ledger.implicit), 'implicit free'))
    if not any(found):
        found += sorted(set(stream_faults(recorded, ledger)))[:5]
    return [text for text in found if text]


def judge(run, api=True):
    """(recorded, violations and differences) of a run that left one trace and one ledger."""
    if len(run.traces) != 1 or len(run.ledgers) != 1:
        return None, [f'traces {run.traces}, ledgers {run.ledgers}, files {run.files}', run.err.decode(errors='replace')]
    recorded = Recorded()
    violations = check(run.traces[0], recorded.feed)
    if violations:
        return recorded, violations[:10]
    return recorded, differences(recorded, Ledger(run.ledgers[0]), api)


def lost(recorded):
    """Records lost, all threads together, as the terminal record tells."""
    return recorded.terminal['lost']['total']
