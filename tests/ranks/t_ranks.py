#!/usr/bin/env python3
"""cg-analyze ranks: planted stragglers and clocks are found, and nothing else."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import document, done, equal, ok, run as cg, skip  # noqa: E402
from harness import Run, program  # noqa: E402
from job import WORK_NS, Rank, anchor, run, write  # noqa: E402

STEPS = 20


def near(got, expected, name, share=0.01):
    return ok(got is not None and abs(got - expected) <= share * abs(expected), name, f'got {got}, expected {expected} within {share:.0%}')


def job(folder, ranks, *words, steps=STEPS, changes=None, **more):
    run(ranks, steps, **more)
    return document('ranks', *write(folder, ranks, **(changes or {})), *words)


def find(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def planted_straggler(folder):
    """Rank 2 of 4 takes 20 % longer in forward: 2 ms of 10 a step."""
    ranks = [Rank(i, begin_ns=10_000_000 * i, slow={'forward': 1.2} if i == 2 else None) for i in range(4)]
    got = job(folder, ranks)
    equal([(s['rank'], s['label'], s['time']) for s in got['stragglers']['rows']], [('rank 2', 'forward', 'host_self')], 'the straggler, and nothing else')
    slow = got['stragglers']['rows'][0]
    near(slow['slower_by'], 1.2, 'how much slower')
    near(slow['excess_ns'], STEPS * 0.2 * WORK_NS['forward'], 'what it cost')
    equal((slow['slow_in'], slow['occurrences']), (STEPS, STEPS), 'how often')
    equal([(c['label'], c['last_rank'], c['last_in'], c['undecided']) for c in got['collectives']['rows']], [('ncclAllReduce', 'rank 2', STEPS, 0)],
          'who comes last to the collective')
    near(got['collectives']['rows'][0]['delay_ns'], STEPS * 0.2 * WORK_NS['forward'], 'what that cost all', 0.02)
    near(got['collectives']['rows'][0]['waited_ns'], 3 * STEPS * 0.2 * WORK_NS['forward'], 'what the others waited')
    equal(got['axis']['clock'], 'monotonic', 'one machine: its monotonic clock')
    equal(got['axis']['uncertainty_ns'], 80, 'the uncertainty is that of reading two anchors')
    equal([r['start_ns'] for r in got['ranks']], [0, 10_000_000, 20_000_000, 30_000_000], 'ranks that began at different times, on one axis')
    labels = got['labels']['rows']
    equal([r['label'] for r in labels], sorted(r['label'] for r in labels), 'labels in byte order')
    skew = find(labels, label='forward')[0]
    near(skew['end_skew_median_ns'], 0.2 * WORK_NS['forward'], 'skew at the end of the slow label', 0.02)
    ok(skew['start_skew_greatest_ns'] < 30_000, 'no skew where it begins', skew)
    equal((skew['slowest_rank'], skew['matched'], skew['role']), ('rank 2', True, 'work'), 'its row')
    return ranks


def planted_device(folder):
    """The device of rank 1 is 30 % slower, its host is not; the collective on the device, where others wait, is no sign of it."""
    ranks = [Rank(i, slow={'device': 1.3} if i == 1 else None) for i in range(3)]
    got = job(folder, ranks, device=True)
    equal(sorted((s['rank'], s['label'], s['time']) for s in got['stragglers']['rows']),
          [('rank 1', label, 'device') for label in sorted(('backward', 'forward', 'load', 'optimizer'))], 'a slow device, in each label that uses it')
    for slow in got['stragglers']['rows']:
        near(slow['slower_by'], 1.3, f'how much slower: {slow["label"]}')


def even(folder):
    got = job(folder, [Rank(i) for i in range(4)])
    equal(got['stragglers']['total'], 0, 'ranks that are alike: no straggler')
    got = job(folder, [Rank(0), Rank(1, slow={'forward': 1.05})])
    equal(got['stragglers']['total'], 0, '5 % is below the criterion')
    got = document('ranks', f'{folder}/r0.jsonl', f'{folder}/r1.jsonl', '--slower-percent', '4')
    equal([(s['rank'], s['label']) for s in got['stragglers']['rows']], [('rank 1', 'forward')], 'and above another one')
    got = document('ranks', f'{folder}/r0.jsonl', f'{folder}/r1.jsonl', '--slower-percent', '4', '--min-excess-ns', '20000000')
    equal(got['stragglers']['total'], 0, 'it cost less than was asked for')


def unnamed_collective(folder):
    """Of two ranks the waiting one would seem slow where it waits; its times tell that it waits."""
    got = job(folder, [Rank(0), Rank(1, slow={'backward': 1.5})], collective='exchange')
    equal([(s['rank'], s['label']) for s in got['stragglers']['rows']], [('rank 1', 'backward')], 'an unnamed collective is told by its times')
    equal([(c['label'], c['told_by'], c['last_rank'], c['last_in']) for c in got['collectives']['rows']], [('exchange', 'times', 'rank 1', STEPS)], 'and listed')


def two_machines(folder):
    """Two hosts, whose real-time clocks are 3 ms apart; rank 2 is slow, by 2 ms a step."""
    def ranks():
        return [Rank(i, host=f'node{i // 2}', begin_ns=1000 * i, clock_ahead_ns=3_000_000 * (i // 2), boot_ns=10**9 * (1 + 7 * (i // 2)),
                     slow={'forward': 1.2} if i == 2 else None) for i in range(4)]
    got = job(folder, ranks())
    axis = got['axis']
    equal((axis['clock'], axis['uncertainty_ns'], len(axis['machines'])), ('realtime', None, 2), 'clocks of two machines: nothing bounds them')
    ok('--collective' in axis['unbounded_reason'], 'and it is said why', axis)
    equal([(s['rank'], s['label']) for s in got['stragglers']['rows']], [('rank 2', 'forward')], 'durations are compared all the same')
    equal((find(got['labels']['rows'], label='forward')[0]['start_skew_median_ns'], got['collectives']['total']), (None, 0), 'times are not')
    got = job(folder, ranks(), '--collective', 'ncclAllReduce')
    axis = got['axis']
    near(axis['machines'][1]['clock_ahead_ns'], 3_000_000, 'collectives tell how far the clocks are apart')
    ok(axis['uncertainty_ns'] is not None and axis['uncertainty_ns'] >= 2_000_000, 'but bound it no better than their waiting', axis)
    equal(got['collectives']['rows'][0]['undecided'], STEPS, 'so that who came last is not decided')
    near(find(got['labels']['rows'], label='forward')[0]['end_skew_median_ns'], 0.2 * WORK_NS['forward'], 'the skew on the corrected axis', 0.02)
    got = job(folder, ranks(), '--clock-error-ns', '4000000')
    equal(got['axis']['uncertainty_ns'], 4_000_080, 'what is known of the clocks is the bound')
    got = job(folder, [Rank(i, host=f'node{i}', slow={'forward': 1.2} if i == 1 else None) for i in range(2)], '--clock-error-ns', '50000')
    equal([(c['last_rank'], c['last_in'], c['undecided']) for c in got['collectives']['rows']], [('rank 1', STEPS, 0)], 'clocks that agree well decide it')
    got = job(folder, ranks(), '--collective', 'ncclAllReduce', '--clock-error-ns', '100')
    ok(got['axis']['uncertainty_ns'] is None and '--clock-error-ns' in got['axis']['unbounded_reason'], 'what contradicts itself bounds nothing', got['axis'])


def same_name_other_boot(folder):
    got = job(folder, [Rank(0), Rank(1, boot_ns=9 * 10**12)])
    equal(len(got['axis']['machines']), 2, 'one host name, two monotonic clocks: two machines')


def clock_rate(folder):
    """The trace's clock of rank 1 runs 1 % fast; its last anchor tells."""
    ranks = [Rank(0), Rank(1)]
    run(ranks, STEPS)
    for record in ranks[1].records + [ranks[1].terminal]:
        for key in ('start_ns', 'timestamp_ns', 'duration_ns'):
            if key in record:
                record[key] += record[key] // 100
    paths = write(folder, ranks)
    text = open(paths[1]).read()
    span = ranks[1].end_ns - ranks[1].begin_ns
    with open(paths[1], 'w') as file:
        file.write(text.replace(f'"tick":{10**6 + span}', f'"tick":{10**6 + span + span // 100}', 1))
    got = document('ranks', *paths)
    near(got['ranks'][1]['end_ns'], got['ranks'][0]['end_ns'], 'a clock that runs fast is corrected between its anchors', 0.0001)
    near(got['ranks'][1]['uncertainty_ns'], span / 100, 'and what it was off by is its uncertainty')


def no_last_anchor(folder):
    """Of rank 1 nobody read the clocks at the end, of rank 2 only at the half: nothing tells how its clock ran from there on."""
    ranks = [Rank(0), Rank(1), Rank(2)]
    run(ranks, STEPS)
    paths = write(folder, ranks)
    first = [json.loads(open(path).readline())['clock'] for path in paths]
    half = ranks[2].begin_ns + (ranks[2].end_ns - ranks[2].begin_ns) // 2
    for path, clock in ((paths[1], {k: v for k, v in first[1].items() if k != 'last'}), (paths[2], dict(first[2], last=anchor(ranks[2], half)))):
        lines = open(path).readlines()
        lines[0] = json.dumps(dict(json.loads(lines[0]), clock=clock)) + '\n'
        with open(path, 'w') as file:
            file.writelines(lines)
    got = document('ranks', *paths)
    span = ranks[1].end_ns - ranks[1].begin_ns
    equal([r['uncertainty_ns'] for r in got['ranks']], [40, 40 + span // 8192, 40 + (ranks[2].end_ns - half) // 8192], 'behind the last anchor the uncertainty grows')


def died(folder):
    """Rank 1 is killed after 7 of 20 steps."""
    ranks = [Rank(0), Rank(1, killed_after=7), Rank(2, slow={'forward': 1.2})]
    got = job(folder, ranks)
    dead = got['ranks'][1]
    equal((dead['outcome'], dead['reason'], dead['open_spans'], dead['open_in']), ('failed', 'killed by signal 9', 2, 'train_step'), 'a rank that was killed')
    equal([(s['rank'], s['label'], s['occurrences']) for s in got['stragglers']['rows']], [('rank 2', 'forward', STEPS)], 'the others are compared to the end')
    row = find(got['labels']['rows'], label='forward')[0]
    equal((row['fewest'], row['most'], row['matched']), (7, STEPS, True), 'its spans are the first ones of the others')


def unequal(folder):
    ranks = [Rank(0), Rank(1)]
    run(ranks, STEPS)
    paths = write(folder, ranks)
    extra = '{"kind":"span_start","id":"more","parent_id":"span:1","name":"forward","start_ns":5,"span_kind":"function"}\n{"kind":"span_end","id":"more","duration_ns":90000000}\n'
    lines = open(paths[1]).readlines()
    with open(paths[1], 'w') as file:
        file.writelines([*lines[:-1], extra, lines[-1]])
    got = document('ranks', *paths)
    row = find(got['labels']['rows'], label='forward')[0]
    equal((row['matched'], row['start_skew_median_ns'], got['stragglers']['total']), (False, None, 0), 'names that are not equally often there are not compared')


def memory_rows(folder):
    got = job(folder, [Rank(i, memory=1000 * (i + 1)) for i in range(2)])
    equal([(m['rank'], m['device'], m['peak_live_bytes'], m['at_end_bytes'], m['at_end_storages'], m['peak_used_bytes'], m['minimum_free_bytes'],
            m['peak_reserved_bytes'], m['capacity_bytes']) for m in got['memory']],
          [('rank 0', 'cuda:0', 1000, 500, 1, 2000, 999_999_000, None, None), ('rank 1', 'cuda:0', 2000, 1000, 1, 3000, 999_998_000, None, None)],
          'memory by rank and device')


def names(folder):
    run(ranks := [Rank(i) for i in range(3)], 1)
    paths = write(folder, ranks, rank=None)
    got = document('ranks', *reversed(paths))
    equal([r['name'] for r in got['ranks']], ['node0:4000', 'node0:4001', 'node0:4002'], 'ranks without a number are called by host and process, in their order')


def refusals(folder, ranks):
    paths = write(folder, ranks)

    def refused(name, words, status, text):
        got, out, err = cg('ranks', *words)
        ok(got == status and text in err and not out and err.count('\n') == 1, name, f'{got} {err} {out}')
    refused('one trace', paths[:1], 2, 'two ranks or more')
    refused('standard input', ['-', paths[0]], 2, 'standard input')
    refused('the same rank twice', [paths[0], paths[1], paths[0]], 3, 'are both of rank 0')
    for name, changes in (('no clock', dict(clock=None)), ('no anchor', dict(clock=dict(mult=1, shift=0))),
                          ('an anchor of another form', dict(clock=dict(mult=1, shift=0, first=dict(tick=-1, monotonic_ns=1, realtime_ns=1, spread_ticks=1))))):
        others = write(folder, ranks, **changes)
        refused(name, others, 3, 'no clock anchors')
    write(folder, ranks, rank=None)
    refused('the same capture twice', [paths[0], paths[0]], 3, 'are both of one process, node0:4000: ')
    write(folder, ranks, rank=None, pid=None)
    refused('the same capture twice, of no known process', [paths[0], paths[1], paths[0]], 3,
            f'{paths[0]} and {paths[0]} are both of one capture, with one run_id: give one trace of each rank')
    write(folder, ranks, rank=None, pid=7)
    refused('captures of one process, each with its run_id', paths, 3,
            f'{paths[0]} and {paths[1]} are both of one process, node0:7: give one trace of each rank')
    write(folder, ranks, pid=7)
    equal([r['name'] for r in document('ranks', *paths)['ranks']], [f'rank {i}' for i in range(4)], 'ranks decide: containers may share process ids')
    others = [Rank(0), Rank(1, boot_ns=9 * 10**12), Rank(2)]
    run(others, 1)
    paths3 = write(folder, others, rank=None, pid=7)
    refused('one process, and another of another machine that is called like it', paths3, 3, f'{paths3[0]} and {paths3[2]} are both of one process, node0:7')
    equal(len(document('ranks', *paths3[:2])['ranks']), 2, 'these two are two')
    write(folder, ranks)
    refused('a file that is not there', [paths[0], folder + '/none.jsonl'], 3, 'none.jsonl')
    refused('over one of the inputs', [*paths, '-o', paths[2]], 2, paths[2])


def pages(folder, ranks):
    paths = write(folder, ranks)
    got = document('ranks', *paths, '--limit', '2', '--offset', '1')['labels']
    equal(([r['label'] for r in got['rows']], got['next_offset'], got['total'], got['truncated']), (['forward', 'load'], 3, 6, True), 'a page of the labels')
    got = document('ranks', *paths, '--label-prefix', 'fo')['labels']
    equal(([r['label'] for r in got['rows']], got['matched']), (['forward'], 1), 'labels that begin so')
    _, _, err = cg('ranks', *paths, '--label', 'forwart')
    ok("did you mean 'forward'" in err, 'a mistyped label', err)
    status, out, _ = cg('ranks', *paths, '--format', 'csv')
    rows = list(csv.DictReader(io.StringIO(out)))
    equal((status, len([r for r in rows if r['list'] == 'ranks']), [r['label'] for r in rows if r['list'] == 'stragglers.rows']), (0, 4, ['forward']), 'CSV')
    status, out, _ = cg('ranks', *paths, '--format', 'table')
    ok(status == 0 and 'rank 2' in out and '12.00 ms' in out, 'a table', out)
    first = cg('ranks', *paths)
    equal(cg('ranks', *reversed(paths))[1].replace('"path"', ''), first[1].replace('"path"', ''), 'the order on the command line does not matter')


def inputs(folder, ranks):
    """A bundle and a compressed trace are ranks too."""
    paths = write(folder, ranks)
    plain = document('ranks', *paths)
    status, _, err = cg('report', paths[0], '--bundle', folder + '/bundle')
    equal((status, err), (0, ''), 'a bundle is made')
    subprocess.run(['gzip', '-k', paths[1]], check=True)
    mixed = document('ranks', folder + '/bundle', paths[1] + '.gz', *paths[2:])
    for result in (plain, mixed):
        for rank in result['ranks']:
            del rank['path']
    equal(mixed, plain, 'bundles and compressed traces give the same')


def recorded(folder):
    """Ranks of the simulated driver, as the recorder leaves them; the last one killed itself."""
    if not os.path.exists(program('trainer_nvtx')):
        skip('recorded ranks', 'trainer_nvtx was not built')
        return
    runs = [Run(command, folder=f'{folder}/{i}', OMPI_COMM_WORLD_RANK=i)
            for i, command in enumerate(([program('trainer_nvtx')], [program('trainer_nvtx')], [program('endings'), 'kill']))]
    capture = f'{runs[2].folder}/work/' + next(name for name in runs[2].files if name.endswith('.cgt'))
    got = document('ranks', capture, *runs[0].traces, *runs[1].traces)
    equal([(r['name'], r['outcome'], r['spans'] > 0) for r in got['ranks']], [('rank 0', 'complete', True), ('rank 1', 'complete', True), ('rank 2', 'failed', False)],
          'recorded ranks, one from its capture file')
    starts = [r['start_ns'] for r in got['ranks']]
    ends = [r['end_ns'] for r in got['ranks']]
    ok(got['axis']['clock'] == 'monotonic' and starts[0] == 0 and ends[0] < starts[1] and ends[1] < starts[2], 'they ran one after the other', (starts, ends))
    ok(all(0 < r['uncertainty_ns'] < 1_000_000 for r in got['ranks']), 'with clocks that are known to less than a millisecond', [r['uncertainty_ns'] for r in got['ranks']])
    forward = find(got['labels']['rows'], label='forward')
    ok(forward and forward[0]['ranks'] == 2 and forward[0]['matched'], 'and the same ranges', forward)


def regions(folder):
    """Two regions of one process, as the recorder leaves them, are no ranks."""
    if not os.path.exists(program('trainer_nvtx')):
        skip('regions of one process', 'trainer_nvtx was not built')
        return
    process = Run([program('trainer_nvtx')], folder=folder, CGTRACE_RANGE='forward', CGTRACE_STEP='1,2')
    equal(len(process.traces), 2, 'two regions')
    status, out, err = cg('ranks', *process.traces)
    ok((status, out, err.count('\n')) == (3, '', 1) and 'are both of one process' in err, 'are no two ranks', (status, out, err))


def main():
    with tempfile.TemporaryDirectory() as top:
        def folder(name):
            os.mkdir(f'{top}/{name}')
            return f'{top}/{name}'
        ranks = planted_straggler(folder('straggler'))
        for test in (recorded, regions, planted_device, even, unnamed_collective, two_machines, same_name_other_boot, clock_rate, no_last_anchor, died, unequal, memory_rows, names):
            test(folder(test.__name__))
        refusals(folder('refusals'), ranks)
        pages(folder('pages'), ranks)
        inputs(folder('inputs'), ranks)
    done()


main()
