#!/usr/bin/env python3
"""Phases against the plain double loop of the definition, on random timelines; and a timeline of a million rows."""
import random
import time

from nsight import KEYED, NAMES, TIMELINE, done, equal, gpu, ok

KEYS = ('correlation_id', 'device', 'context', 'stream')
P, T = ('x_%s.csv' % NAMES[name] for name in ('nvtx_ranges', 'gpu_timeline'))


def union(intervals):
    total, reach = 0, 0
    for start, end in sorted(intervals):
        start = max(start, reach)
        total += max(0, end - start)
        reach = max(reach, end)
    return total


def by_definition(ranges, operations):
    """The entries of doc/spec/nsight.md 9, range by range, row by row."""
    entries = []
    for name, ps, pd, declared, keys in ranges:
        used = [k for k in KEYS if keys[k]]
        joined = [o for o in operations if used and all(o[2][k] == keys[k] for k in used) and o[0] < ps + pd and o[0] + o[1] > ps]
        ids = [o[2]['correlation_id'] for o in joined]
        distinct = len({i for i in ids if i}) + ids.count('')
        if used and declared in (len(joined), distinct):
            entries.append((name, ps, pd, union([(max(o[0], ps), min(o[0] + o[1], ps + pd)) for o in joined]), len(joined), used))
    return entries


def keys_of(pick, shares):
    return {k: pick.choice(['1', '2', '3'][:n]) if pick.random() < share else '' for k, n, share in zip(KEYS, (3, 2, 2, 3), shares)}


for seed in range(25):
    pick = random.Random(seed)
    operations = [(pick.randrange(300), pick.randrange(1, 40), keys_of(pick, (.9, .9, .9, .9))) for _ in range(pick.choice((3, 30, 120)))]
    ranges = []
    for i in range(60):
        keys, ps, pd = keys_of(pick, (.2, .6, .3, .3)), pick.randrange(300), pick.randrange(1, 120)
        used = [k for k in KEYS if keys[k]]
        joined = [o for o in operations if all(o[2][k] == keys[k] for k in used) and o[0] < ps + pd and o[0] + o[1] > ps]
        ids = [o[2]['correlation_id'] for o in joined]
        # Mostly a count that fits, else one that is off.
        ranges.append(('r%02d' % i, ps, pd, pick.choice((len(joined), len({i for i in ids if i}) + ids.count(''), pick.randrange(9))), keys))
    got = gpu({P: KEYED + ''.join('%s,%d,1,%d,%d,%d,%s\n' % (n, i, ps, pd, c, ','.join(k[x] for x in KEYS)) for i, (n, ps, pd, c, k) in enumerate(ranges)),
               T: TIMELINE + ''.join('%d,%d,%s,1,1,1,1,1,1,32,0,0,,,,,%s,%s,,%s,k\n' % (s, d, k['correlation_id'], k['device'], k['context'], k['stream'])
                                     for s, d, k in operations)})
    equal([(e['semantic_key'], e['projected_start_ns'], e['projected_duration_ns'], e['gpu_busy_ns'], e['gpu_operation_count'], e['join_keys'])
           for e in got['phase_attribution']], by_definition(ranges, operations), 'as by the definition, seed %d' % seed)


def large(rows):
    """Ranges of ten operations each, nested in ranges of a thousand, all in one that is joined with everything."""
    ranges = ['all,0,1,0,%d,%d,,0,1,\n' % (100 * rows, rows)]
    ranges += ['outer,0,1,%d,100000,1000,,0,1,\n' % (100000 * i) for i in range(rows // 1000)]
    ranges += ['inner,0,1,%d,1000,10,,0,1,\n' % (1000 * i) for i in range(rows // 10)]
    timeline = ['%d,90,%d,1,1,1,1,1,1,32,0,0,,,,,0,1,,7,kernel_%d\n' % (100 * i, i, i % 50) for i in range(rows)]
    return {P: KEYED + ''.join(ranges), T: TIMELINE + ''.join(timeline)}


rows = 1000000
files = large(rows)
begin = time.monotonic()
got = gpu(files)
print('# %d timeline rows, %d ranges: %.2f s with publication' % (rows, rows // 10 + rows // 1000 + 1, time.monotonic() - begin))
phases = got['phase_attribution']
equal((got['limits'][T]['total_rows'], len(got['gpu_timeline']), len(phases)), (rows, 500, rows // 10 + rows // 1000 + 1), 'a million rows')
equal([(e['semantic_key'], e['gpu_busy_ns'], e['gpu_operation_count']) for e in phases[:2] + phases[-1:]],
      [('all', 90 * rows, rows), ('outer', 90000, 1000), ('inner', 900, 10)], 'a million rows: exact busy times')
ok(all(e['gpu_busy_ns'] == 9 * e['projected_duration_ns'] // 10 for e in phases), 'a million rows: every range')
done()
