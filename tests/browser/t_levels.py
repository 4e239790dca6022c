#!/usr/bin/env python3
"""What the page's columns hold, read back by a decoder of its own and held against the trace: levels of detail, the memory curve, storages."""
import base64
import json
import os
import random
import re
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fixtures import view  # noqa: E402
from cli import Folder, complete, done, end, equal, interval, memory, meta, ok, op, query, read, start  # noqa: E402

folder = Folder()


class Column:
    def __init__(self, data):
        self.data, self.at, self.text = data, 0, b''

    @property
    def done(self):
        return self.at == len(self.data)

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def step(self):
        value = self.number()
        return -(value + 1) // 2 if value % 2 else value // 2

    def string(self):
        common, rest = self.number(), self.number()
        self.text = self.text[:common] + self.data[self.at:self.at + rest]
        self.at += rest
        return self.text.decode()


class Page:
    def __init__(self, path):
        found = re.findall(rb'id="part-([\w-]+)">([A-Za-z0-9+/=]*)</script>', read(path))
        self.parts = {name.decode(): zlib.decompress(base64.b64decode(text)) for name, text in found}
        self.head = json.loads(self.parts['head'])
        texts, self.names = self.columns('names')[0], ['']
        while not texts.done:
            self.names.append(texts.string())

    def columns(self, part):
        head = Column(self.parts[part])
        lengths = [head.number() for _ in range(head.number())]
        columns, at = [], head.at
        for length in lengths:
            columns.append(Column(self.parts[part][at:at + length]))
            at += length
        equal(at, len(self.parts[part]), f'{part}: its columns are the whole of it')
        return columns

    def level(self, number):
        """For each lane [(start, duration, name, count, sum of durations)]."""
        entries, starts, durations, names, more, rest, rows = self.columns(f'level-{number}')
        lanes = []
        while not entries.done:
            lane, time = [], 0
            for _ in range(entries.number()):
                time += starts.number()
                duration, name, others = durations.number(), self.names[names.number() >> 1], more.number()
                lane.append((time, duration, name, 1 + others, duration + (rest.number() if others else 0)))
                rows.step()
            lanes.append(lane)
        return lanes


# ---- levels: one thread, operations of random lengths in three spans; and a stream ----
random.seed(7)
COUNT = 120000
slices, records, at = [], [], 200
for number in range(COUNT):
    length = random.choice((1, 2, 3, 5, 9, 200)) if number % 1000 else 5000
    name = f'op{random.randrange(30)}-{random.randrange(3)}'
    slices.append((at, length, name))
    records.append(op('w', name, at, length, tid=7, api='cuOp', correlation=number + 1))
    if number % 4 == 0:
        records.append(interval('w', at + 1000000, length, activity='kernel', name=name, correlation=number + 1))
    at += length + random.randrange(8)
last = at + 100
TRACE = folder.put('levels.jsonl', [meta(), start('r', None, 'root', 0, tid=7), start('m', 'r', 'measured', 100, measured=True, tid=7), start('w', 'm', 'work', 150, tid=7),
                                    *records, end('w', last - 150), end('m', last), end('r', last + 200), complete(2 * last + 1000000)])
streams = [(start + 1000000, length, name) for start, length, name in slices[::4]]
LANES = [[(0, last + 200, 'root')], [(100, last, 'measured')], [(150, last - 150, 'work')], slices, streams]
TOTAL = sum(map(len, LANES))


def reduced(lane, width):
    """Of the slices that begin in one stretch of time the first of the longest, how many there are, and their sum."""
    buckets = {}
    for begin, length, name in lane:
        buckets.setdefault(begin // width, []).append((begin, length, name))
    result = []
    for _, inside in sorted(buckets.items()):
        begin, length, name = max(inside, key=lambda one: one[1])
        result.append((begin, length, name, len(inside), sum(one[1] for one in inside)))
    return result


for size in (20000000, 1 << 20):
    path = view(TRACE, folder('levels.html'), '--max-size', str(size))
    page = Page(path)
    ok(os.path.getsize(path) <= size, f'{size}: no page is larger', os.path.getsize(path))
    levels = page.head['timeline']['levels']
    equal(page.head['timeline']['slices'], TOTAL, f'{size}: slices in all')
    for number, about in enumerate(levels):
        lanes = page.level(number)
        # Those of a device clock are told from its first slice on.
        for i, track in enumerate(track for track in page.head['timeline']['tracks'] for _ in range(track['lanes'])):
            if 'clock' in track:
                first = page.head['timeline']['clocks'][track['clock']]['first_ns']
                lanes[i] = [(first + entry[0], *entry[1:]) for entry in lanes[i]]
        expected = [[(*one, 1, one[1]) for one in lane] if about['bucket_ns'] == 0 else reduced(lane, about['bucket_ns']) for lane in LANES]
        ok(lanes == expected, f'{size}: level {number} of {about["bucket_ns"]} ns: the longest of each stretch, with the number and the sum',
           [(i, a[:3], b[:3]) for i, (a, b) in enumerate(zip(lanes, expected)) if a != b])
        equal((sum(map(len, lanes)), sum(entry[3] for lane in lanes for entry in lane)), (about['entries'], TOTAL), f'{size}: level {number}: nothing vanishes')
    equal(levels[0]['bucket_ns'] > 0, size == 1 << 20, f'{size}: slices are merged only where there is no room')

# ---- sums: exact whatever is left out ----
sums = {}
for kind, lane in ((0, LANES[0]), (0, LANES[1]), (0, LANES[2]), (1, slices), (2, streams)):
    for _, length, name in lane:
        count, total, shortest, longest = sums.get((name, kind), (0, 0, 1 << 64, 0))
        sums[name, kind] = (count + 1, total + length, min(shortest, length), max(longest, length))
name, kind, count, total, own, shortest, longest = page.columns('costs')
found = {}
while not name.done:
    key = page.names[name.number()], kind.number()
    found[key] = (count.number(), total.number(), shortest.number(), longest.number())
    own.number()
equal(found, sums, 'sums by name and class')

# ---- memory: the curve and the storages ----
events, live, at, number = [], {}, 120, 0
while number < 30000:
    at += random.randrange(1, 4)
    if live and random.random() < 0.49:
        storage = random.choice(list(live)) if number % 50 == 0 else next(iter(live))
        events.append(memory('free', at, storage, live.pop(storage), span='m'))
    else:
        storage, size = f's{number}', random.choice((16, 64, 4096, 10000 + number))
        live[storage] = size
        events.append(memory('alloc', at, storage, size, span='m', category=random.choice(('activation', 'gradient')), address=hex(4096 + number * 65536)))
    number += 1
TRACE = folder.put('memory.jsonl', [meta(), start('r', None, 'root', 0), start('m', 'r', 'measured', 100, measured=True), *events, end('m', at), end('r', at + 200), complete(at + 300)])
profile = query(TRACE, 'memory')['logical']
page = Page(view(TRACE, folder('memory.html')))
about = json.loads(page.parts['memory'])
columns = page.columns('curve')
points, time, values = [], 0, [0] * len(columns)
while not columns[0].done:
    time += columns[0].number()
    for i in (1, *range(3, 3 + len(about['categories']))):
        values[i] += columns[i].step()
    points.append((time, values[1], 1 + columns[2].number(), {name: values[3 + i] for i, name in enumerate(about['categories']) if values[3 + i]}))
equal((about['points'], sum(point[2] for point in points)), (len(profile['timeline']), len(profile['timeline'])), 'the curve stands for every point')
ok(len(points) <= 8193 < len(profile['timeline']), 'in fewer points', len(points))
buckets = {}
for point in profile['timeline']:
    buckets.setdefault(point['timestamp_ns'] // about['bucket_ns'], []).append(point)
expected = []
for inside in buckets.values():
    highest = max(inside, key=lambda point: (point['live_bytes'], point['timestamp_ns']))
    expected.append((highest['timestamp_ns'], highest['live_bytes'], len(inside), {k: v for k, v in highest['live_bytes_by_category'].items() if v}))
ok(points == expected, 'of each stretch the highest point, with its categories', [pair for pair in zip(points, expected) if pair[0] != pair[1]][:3])
ok(max(point[1] for point in points) == max(point['live_bytes'] for point in profile['timeline']), 'the peak is among them')
begin, lived, size, category, span, call, device, address, storage = page.columns('blocks')
blocks, time, place = [], 0, 0
while not size.done:
    time += begin.step()
    lasted = lived.number()
    category.number(), span.number(), call.number(), device.number()
    place += address.step()
    blocks.append((storage.string(), size.number(), time, None if lasted == 0 else time + lasted - 1, place))
equal(sorted(blocks), sorted((one['storage_id'], one['bytes'], one['start_timestamp_ns'], one.get('end_timestamp_ns'), 4096 + int(one['storage_id'][1:]) * 65536)
                             for one in profile['lifetimes']), 'every storage, with its life and address')
done()
