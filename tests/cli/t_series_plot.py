#!/usr/bin/env python3
"""series --svg and --report: valid XML, the document's numbers, hostile names, light and dark, accessible, caps, what is refused."""
import json
import os
import statistics
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, end, equal, ok, read, region, run, start, stats  # noqa: E402

folder = Folder()
SVG = '{http://www.w3.org/2000/svg}'
HOSTILE = ['</title><script>x</script>', '"quoted" & \'single\' ]]> <!-- é 日本 \U0001f600', 'tab\tnew\nline \x01\x1b[31m\x7f', 'ltr\u202ertl שלום', 'x' * 10240, '\ufffe\uffff']


def gradient(key, state, norm=None, number=iter(range(10000))):
    record = dict(kind='gradient', event_id=f'g{next(number)}', root='vb', key=key, state=state)
    return record if norm is None else dict(record, norm=norm)


def publish(step, *inside, name=None, duration=1000, **changes):
    records = region(*inside, run_id=f'run-{step}', capture_step=step, warmup_steps=0, **changes)
    for record in records:
        if record['kind'] == 'span_end' and record['id'] in 'mr':
            record['duration_ns'] = duration if record['id'] == 'm' else duration + 500
        if record['kind'] == 'terminal':
            record['timestamp_ns'] = duration + 1000
    name = name or f'bundle-{step}'
    status, _, err = run('report', folder.put(f'{name}.jsonl', records), '--bundle', folder(name))
    assert status == 0, err
    return folder(name)


def series(*words):
    status, out, err = run('series', *words)
    return json.loads(out) if status == 0 else f'{status} {err}'


def points(panel):
    return [(int(p.get('data-x')), float(p.get('data-median')), float(p.get('data-low')), float(p.get('data-high')), int(p.get('data-values')))
            for p in panel.iter(f'{SVG}g') if p.get('class') == 'point']


def panels(path):
    """Each panel's title and points."""
    tree = ElementTree.parse(path)
    return {p.find(f'{SVG}title').text: points(p) for p in tree.iter(f'{SVG}g') if p.get('class') == 'panel'}


def expected(document):
    """The same from series/1."""
    made = {'duration of the measured region': [(t['capture_step'], t['outer_wall_time_ns']) for t in document['outer_wall_time']]}
    for label, events in document['tensor_stats'].items():
        made[f'rms of tensor: {label}'] = [(e['capture_step'], e['rms']) for e in events]
    for key, events in document['gradients'].items():
        made[f'norm of gradient: {key}'] = [(e['capture_step'], e['norm']) for e in events]
    answer = {}
    for title, values in made.items():
        steps = sorted({step for step, value in values if value is not None})
        at = {step: [value for s, value in values if s == step and value is not None] for step in steps}
        answer[title] = [(s, statistics.median(at[s]), min(at[s]), max(at[s]), len(at[s])) for s in steps]
    return answer


# ---- numbers ----
bundles = [publish(300, stats('encoder', rms=0.25), stats('encoder', rms=4.0), stats('encoder', rms=1.0), stats('decoder', rms=1e-12), gradient('w', 'present', 2.5), duration=2500000),
           publish(100, stats('encoder', rms=1.5), gradient('w', 'missing'), gradient('b', 'missing'), duration=1234567),
           publish(200, stats('encoder', rms=1.0), stats('encoder', rms=2.0), gradient('w', 'present', 0.5), start('x', 'm', 'second', 200, measured=True), end('x', 10), duration=7)]
plot = folder('plots/deep/series.svg')
document = series('--bundle', *bundles, '--svg', plot)
equal(document, series('--bundle', *bundles), 'the document is the same with a plot')
drawn = panels(plot)
equal(drawn, expected(document), 'the numbers of the plot are those of the document')
equal(drawn['rms of tensor: encoder'], [(100, 1.5, 1.5, 1.5, 1), (200, 1.5, 1.0, 2.0, 2), (300, 1.0, 0.25, 4.0, 3)], 'by hand: median, lowest, highest')
equal(drawn['duration of the measured region'], [(100, 1234567.0, 1234567.0, 1234567.0, 1), (300, 2500000.0, 2500000.0, 2500000.0, 1)], 'a step with two measured regions has no duration')
equal((drawn['norm of gradient: vb/w'], drawn['norm of gradient: vb/b']), ([(200, 0.5, 0.5, 0.5, 1), (300, 2.5, 2.5, 2.5, 1)], []), 'gradients without a norm have no point')
root = ElementTree.parse(plot).getroot()
texts = [''.join(t.itertext()) for t in root.iter(f'{SVG}text')]
ok('duration of the measured region (ms); no value at 1 places' in texts, 'the unit, and what is missing, is on the page', texts)
ok('norm of gradient: vb/b; no value at 1 places' in texts, 'a measure without any value too', texts)
titles = [t.text for t in root.iter(f'{SVG}title')]
ok('capture step 100: 1.235 ms' in titles and 'capture step 300: 1.0, median of 3 from 0.25 to 4.0' in titles, 'points say their value in words', titles)

# ---- where they lie, by hand: 1.234567 to 2.5 ms in at most 5 parts are steps of 0.5 ms, so the axis goes from 1 to 2.5 ----
ticks = [t.text for t in root.iter(f'{SVG}text') if t.get('class') == 'number'][:4]
equal(ticks, ['1', '1.5', '2', '2.5'], 'round ticks around the values, in the unit')
places = [t.text for t in root.iter(f'{SVG}text') if t.get('class') == 'place'][:5]
equal(places, ['100', '150', '200', '250', '300'], 'round steps')
circles = [(float(c.get('cx')), float(c.get('cy'))) for c in root.iter(f'{SVG}circle')][:2]
# Across from 104 to 726; up from 222 (1 ms) to 82 (2.5 ms).
equal(circles, [(104.0, round(222 - (1.234567 - 1) / 1.5 * 140, 1)), (726.0, 82.0)], 'points lie where the axis says')

# ---- accessible, light and dark, nothing fetched ----
text = read(plot).decode()
labelled = root.get('aria-labelledby').split()
ids = {e.get('id'): e.text for e in root.iter() if e.get('id')}
ok(root.get('role') == 'img' and all(ids.get(i) for i in labelled) and len(labelled) == 2, 'title and description name the image', ids)
equal(ids['title'], 'demo::step', 'the title is the entrypoint')
ok('prefers-color-scheme:dark' in text and 'viewBox' in text, 'colours of both schemes')
equal([word for word in ('href', '<script', 'url(', '@import', '<image', 'http://', 'https://') if word in text.replace('http://www.w3.org/2000/svg', '')], [], 'self-contained')

# ---- hostile names ----
hostile = publish(1, *[stats(name) for name in HOSTILE], *[gradient(name, 'present', 1.0) for name in HOSTILE], entrypoint='</svg>&"', name='hostile')
document = series('--bundle', hostile, '--svg', folder('hostile.svg'), '--report', folder('hostile.md'))
drawn = panels(folder('hostile.svg'))


def shown(name):
    return ''.join('\ufffd' if (c < ' ' and c not in '\t\n\r') or c in '\ufffe\uffff' else c for c in name)


equal(sorted(drawn), sorted(['duration of the measured region', *[f'rms of tensor: {shown(n)}' for n in HOSTILE], *[f'norm of gradient: vb/{shown(n)}' for n in HOSTILE]]), 'names stay texts')
tree = ElementTree.parse(folder('hostile.svg')).getroot()
equal(sorted({e.tag.replace(SVG, '') for e in tree.iter()}), ['circle', 'desc', 'g', 'path', 'rect', 'style', 'svg', 'text', 'title'], 'no element comes from a name')
ok(max(len(t.text or '') for t in tree.iter(f'{SVG}text')) < 130, 'long names are cut on the page')

# ---- extremes ----
for name, values in (('equal', (5.0, 5.0)), ('zero', (0.0, 0.0)), ('huge', (1e308, 1.7e308)), ('tiny', (5e-324, 1e-320)), ('near', (1e9, 1e9 + 3.0)), ('far', (0.0, 1.7e308))):
    made = [publish(step, stats('t', rms=value), name=f'{name}-{step}') for step, value in zip((1, 2), values)]
    document = series('--bundle', *made, '--svg', folder('extreme.svg'))
    drawn = panels(folder('extreme.svg'))
    tree = ElementTree.parse(folder('extreme.svg')).getroot()
    panel = [p for p in tree.iter(f'{SVG}g') if p.get('class') == 'panel'][1]
    numbers = [t.text for t in panel.iter(f'{SVG}text') if t.get('class') == 'number']
    inside = [80 <= float(c.get('cy')) - 216 <= 222 for c in panel.iter(f'{SVG}circle')]
    ok(drawn == expected(document) and len(set(numbers)) == len(numbers) >= 2 and all(inside) and len(inside) == 2 and 'nan' not in read(folder('extreme.svg')).decode().replace('tensor', ''),
       f'{name}: ticks differ, points lie inside', (numbers, inside))
far = [publish(step, name=f'step-{step}') for step in (1, 2**64 - 1)]
series('--bundle', *far, '--svg', folder('steps.svg'))
equal([p[0] for p in panels(folder('steps.svg'))['duration of the measured region']], [1, 2**64 - 1], 'steps in full')

# ---- caps ----
many = publish(7, *[stats(f'l{i:02}') for i in range(40)], name='many')
series('--bundle', many, '--svg', folder('many.svg'))
equal(len(panels(folder('many.svg'))), 24, 'at most 24 panels')
ok('24 of 41 measures shown' in read(folder('many.svg')).decode(), 'and it says so')
series('--bundle', many, '--svg', folder('some.svg'), '--label-prefix', 'l3')
equal(sorted(panels(folder('some.svg')))[1:], [f'rms of tensor: l{i}' for i in range(30, 40)], '--label-prefix chooses')

# ---- the report ----
document = series('--bundle', *bundles, '--report', folder('odd name (1).md'))
report = read(folder('odd name (1).md')).decode()
ok('![Plot of the series](odd%20name%20%281%29.md.svg)' in report, 'it shows the plot beside it', report)
equal(panels(folder('odd name (1).md.svg')), expected(document), 'which is the plot')
ok('| 100 | `run-100` | 1234567 ns |' in report and '| 200 | `run-200` | not known |' in report, 'runs', report)
ok('| rms of tensor | `encoder` | 3 | 1.5 | 1.0 | 0.25 | 4.0 |' in report and '| norm of gradient | `vb/b` | 0 | | | | |' in report, 'measures', report)

# ---- what is refused ----
for name, words in (('standard output', ['--svg', '-']), ('report to standard output', ['--report', '-']), ('one file for two', ['--svg', folder('a'), '-o', folder('a')]), ('the same for a report', ['--report', folder('a'), '--svg', folder('a.svg')]),
                    ('into a bundle', ['--svg', f'{bundles[0]}/x.svg']), ('a report into a bundle', ['--report', f'{bundles[0]}/x.md'])):
    status, out, err = run('series', '--bundle', *bundles, *words)
    ok(status == 2 and not out and err.count('\n') == 1, f'refused: {name}', (status, out, err))
equal(os.path.exists(folder('a')), False, 'and nothing is written')
status, out, err = run('series', '--bundle', *bundles, '--svg', '/dev/full')
ok(status == 5 and not out, 'a plot that cannot be written: no document either', (status, out, err))
done()
