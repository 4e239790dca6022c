#!/usr/bin/env python3
"""The ways in which a program reaches the driver, times the API families: every cell is recorded, or the trace says that something was
not covered. The programs do the same work; the ledger tells what that was."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'ledger'), os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from compare import Ledger, Recorded  # noqa: E402
from harness import BUILD, Run, missing, program  # noqa: E402

PLUGIN = f'{BUILD}/tests/programs/lib_families.so'
WAYS = {
    'linked with -lcuda': ['loadpath_linked'],
    'dlopen libcuda.so.1 and dlsym': ['loadpath_lookup', 'dlopen'],
    'dlopen libcuda.so and dlsym': ['loadpath_lookup', 'dlopen-so'],
    'cuGetProcAddress_v2': ['loadpath_lookup', 'getproc'],
    'cuGetProcAddress': ['loadpath_lookup', 'getproc-v1'],
    'plugin, RTLD_LOCAL': ['loadpath_lookup', 'plugin-local', PLUGIN],
    'plugin, RTLD_DEEPBIND': ['loadpath_lookup', 'plugin-deepbind', PLUGIN],
    'plugin, RTLD_DEEPBIND, opened again': ['loadpath_lookup', 'plugin-deepbind-again', PLUGIN],
}
# Family -> entry points (without version) whose calls make it up, and how many of them the programs make.
FAMILIES = {
    'device memory': ({'cuMemAlloc': 2, 'cuMemFree': 2}),
    'host memory': ({'cuMemHostAlloc': 1, 'cuMemFreeHost': 1}),
    'managed memory': ({'cuMemAllocManaged': 1}),
    'pool memory': ({'cuMemAllocAsync': 1, 'cuMemFreeAsync': 2}),  # one of them of a graph's launch
    'launch': ({'cuLaunchKernel': 2, 'cuLaunchKernelEx': 1}),
    'copy': ({'cuMemcpyHtoD': 1, 'cuMemcpyDtoHAsync': 1}),
    'memset': ({'cuMemsetD8': 1}),
    'graph': ({'cuGraphInstantiateWithFlags': 2, 'cuGraphLaunch': 2}),
    'array': ({'cuArrayCreate': 1, 'cuArrayDestroy': 1}),
    'registered memory': ({'cuMemHostRegister': 1, 'cuMemHostUnregister': 1}),
    'physical memory': ({'cuMemCreate': 1, 'cuMemMap': 1, 'cuMemRelease': 1, 'cuMemUnmap': 1}),
    'peer copy': ({'cuMemcpyPeer': 1}),
    'host function': ({'cuLaunchHostFunc': 1}),
    'synchronisation': ({'cuStreamSynchronize': 3, 'cuCtxSynchronize': 1, 'cuEventSynchronize': 1}),
    'stream and event': ({'cuStreamCreate': 1, 'cuStreamDestroy': 1, 'cuEventRecord': 1}),
    'context and module': ({'cuModuleLoadData': 1, 'cuModuleUnload': 1}),
}


# Kinds of storages of which the programs make one that begins and ends inside other calls, or by parts.
STORAGES = {'graph': 9000, 'vmm': 2 << 20, 'array': 400, 'registered': 4096}


def base(api):
    for suffix in ('_ptsz', '_ptds', '_v2', '_v3'):
        api = api.removesuffix(suffix)
    return api


def not_covered(recorded):
    """Whether the trace itself says that a route was not seen: a count in its coverage, or no complete level declared."""
    coverage = recorded.terminal.get('coverage', {})
    counts = [v.get('not_covered', 0) for v in coverage.values() if isinstance(v, dict)] if isinstance(coverage, dict) else []
    return any(counts) or 'gaps' in coverage and any(coverage['gaps'].values())


def one_way(way, words):
    with Run([program(words[0]), *words[1:]]) as run:
        failed = [line for line in run.out.decode().splitlines() if not line.endswith(': 0')]
        tap.ok(run.status == 0 and not failed, f'{way}: the program works', f'status {run.status} {failed} {run.err[-300:]}')
        did = Ledger(run.ledgers[0]) if run.ledgers else None
        if not run.traces:
            tap.ok(False, f'{way}: a trace', f'files {run.files}')
            return
        recorded, ops = Recorded(), {}

        def feed(record):
            recorded.feed(record)
            if record['kind'] == 'op':
                ops[base(record['api'])] = ops.get(base(record['api']), 0) + 1

        violations = check(run.traces[0], feed)
        tap.ok(not violations, f'{way}: a valid trace', '\n'.join(violations[:10]))
        in_ledger = {}
        for calls in did.calls.values():
            for api, *_ in calls:
                in_ledger[base(api)] = in_ledger.get(base(api), 0) + 1
        said = not_covered(recorded)
        kinds = {}
        for storages in recorded.storages.values():
            for action, _, size, kind, _ in storages:
                kinds.setdefault(kind, []).append((action, size))
        for kind, size in STORAGES.items():
            tap.ok(kinds.get(kind) == [('alloc', size), ('free', size)] or said, f'{way}, storage of kind {kind}: begins and ends', kinds)
        for family, expected in FAMILIES.items():
            got = {api: ops.get(api, 0) for api in expected}
            known = {api: n for api, n in in_ledger.items() if api in expected}
            if got == expected:
                tap.ok(all(known.get(api, n) <= n for api, n in expected.items()), f'{way}, {family}: recorded', f'ledger {known}')
            else:
                tap.ok(said, f'{way}, {family}: reported as not covered', f'recorded {got} of {expected}; terminal {recorded.terminal}')


def main():
    for way, words in WAYS.items():
        if reason := missing(words):
            tap.skip(way, reason)
        else:
            one_way(way, words)
    tap.done()


if __name__ == '__main__':
    main()
