#!/usr/bin/env python3
"""The page of `view`: how it is made, then in a real browser (page_test.mjs): every tab, keyboard, links, hostile names, no network."""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from fixtures import HOSTILE, SUMMARY, answer, traces, view  # noqa: E402
from cli import Folder, PROGRAM, done, equal, ok, read, run, skip  # noqa: E402

folder = Folder()
TRACES = traces(folder)
PAGES = {name: view(path, folder(name + '.html')) for name, path in TRACES.items()}


def parts(page):
    """{name: bytes} of a page's parts."""
    found = re.findall(rb'<script type="application/octet-stream" id="part-([\w-]+)">([A-Za-z0-9+/=]*)</script>', read(page))
    return {name.decode(): zlib.decompress(base64.b64decode(text)) for name, text in found}


# ---- how it is made ----
for name, page in PAGES.items():
    text = read(page)
    outside = re.sub(rb'<script type="application/octet-stream"[^>]*>[A-Za-z0-9+/=]*</script>', b'', text)
    ok(b"default-src 'none'" in outside and len(re.findall(rb'<script', outside)) == 1, f'{name}: one script, and a policy without network')
    ok(not any(word in outside for word in (b'hacked', b'run-1', b'demo::step')), f'{name}: nothing of the trace outside of its parts')
again = view(TRACES['small'], folder('again.html'))
equal(read(again), read(PAGES['small']), 'the same trace gives the same bytes')
for name in TRACES:
    ok(read(view(TRACES[name], folder('threads.html'), '--threads', '1')) == read(view(TRACES[name], folder('threads.html'), '--threads', '5')),
       f'{name}: one thread and five give the same bytes')
ok(read(view(TRACES['many'], folder('threads.html'), '--threads', '1')) == read(PAGES['many']), 'and as many as there are processors')
head = json.loads(parts(PAGES['small'])['head'])
equal((head['schema'], head['input'], head['run']['outcome'], head['timeline']['slices'], head['timeline']['levels']),
      ('candle-graph/viewer/6', TRACES['small'], 'complete', 12, [dict(bucket_ns=0, entries=12)]), 'the head: 4 spans, 4 operations, 4 intervals')
# Calls at 115, 140, 310, 350 issued intervals at 5000, 5400, 6000, 7000 of the device clock: the least shift is 115 - 5000.
equal([(c['joined'], c['shift_ns'], c['first_ns'], c['last_ns']) for c in head['timeline']['clocks']], [(True, -4885.0, 5000, 9000)],
      'the device clock is shifted so that no work begins before its call')
equal([(t.get('tid'), t['lanes'], t['slices']) for t in head['timeline']['tracks'] if 'clock' not in t], [(7, 4, 8)],
      'spans without a thread are on the only one: root, measured, the spans, their calls')
documents = {name[4:] for name in parts(PAGES['small']) if name.startswith('doc-')}
kinds = {kind['name'] for kind in json.loads(run('protocol')[1])['query_kinds']}
equal(kinds - documents, {'memory', 'labels'}, 'a document for every kind of query but two')
for kind in sorted(documents & kinds):
    words = ['query', '--kind', kind] + (['--all', '-o', folder('all.json')] if kind == 'spans' else [])
    expected = json.load(open(folder('all.json'))) if kind == 'spans' and run(words[0], TRACES['small'], *words[1:])[0] == 0 else answer(TRACES['small'], *words)
    found, expected = json.loads(parts(PAGES['small'])['doc-' + kind]), expected['result']
    for value in (found, expected):
        if isinstance(value, dict):
            value.pop('limit', None)
    equal(found, expected, f'document {kind} is the answer of the query')

overview = answer(TRACES['starved'], 'overview')
equal((json.loads(parts(PAGES['starved'])['doc-overview'])['out_of_memory'], overview['out_of_memory']['total']), (overview['out_of_memory'], 1), 'the overview with its failed allocation')

# ---- levels of detail ----
small_page = view(TRACES['many'], folder('many-small.html'), '--max-size', str(1 << 20))
whole, cut = (json.loads(parts(page)['head'])['timeline'] for page in (PAGES['many'], small_page))
equal((whole['slices'], whole['levels'][0]['entries']), (60003, 60003), 'a page with room holds every slice')
ok(os.path.getsize(small_page) <= 1 << 20, '--max-size is kept', os.path.getsize(small_page))
ok(whole['levels'] == sorted(whole['levels'], key=lambda level: -level['entries']) and len(whole['levels']) >= 3, 'levels become coarser', whole['levels'])
status, _, err = run('view', TRACES['small'], '-o', folder('no.html'), '--max-size', '1000')
equal((status, os.path.exists(folder('no.html'))), (2, False), '--max-size below what a page needs is refused')

# ---- command line ----
equal(run('view', TRACES['small'])[0], 2, '--output is required')
equal(run('view', TRACES['small'], '-o', TRACES['small'])[0], 2, 'the trace is not overwritten')
status, out, _ = run('view', TRACES['small'], '-o', '-')
ok(status == 0 and out.startswith('<!doctype html>'), 'standard output')
equal(run('view', folder('none.jsonl'), '-o', folder('no.html'))[0], 3, 'no input')
equal(run('view', '-', '--against', '-', '-o', folder('no.html'))[0], 2, 'standard input is one trace, not two')
bundle = folder('bundle')
status, _, err = run('report', TRACES['small'], '--bundle', bundle)
ok(status == 0 and read(os.path.join(bundle, 'viewer.html')).startswith(b'<!doctype html>'), 'a bundle holds its page', err)
equal(json.loads(parts(os.path.join(bundle, 'viewer.html'))['head'])['input'], '.', 'which names the bundle as where it lies')
PAGES['bundle'] = os.path.join(bundle, 'viewer.html')
PAGES['verified'] = view(bundle, folder('verified.html'))
for kind in ('kernels', 'slowest-host', 'spans'):
    equal(json.loads(parts(PAGES['verified'])['doc-' + kind]), json.loads(parts(PAGES['small'])['doc-' + kind]), f'a page of the bundle says the same: {kind}')
equal(run('view', bundle, '-o', os.path.join(bundle, 'x.html'))[0], 2, 'nothing is written into a bundle')
equal(run('view', bundle, '-o', folder('x.html'), '--nsight-dir', folder.path)[0], 2, '--nsight-dir with a bundle is refused')
status, _, err = run('view', TRACES['small'], '-o', folder('nsight.html'), '--nsight-dir', folder('nowhere'))
equal((status, json.loads(parts(folder('nsight.html'))['doc-gpu-status'])['status'] if status == 0 else err), (0, 'failed'),
      'reports that cannot be read: the page says so')
folder.put('nsys/run_cuda_gpu_kern_sum.csv', SUMMARY)
status, _, err = run('report', TRACES['small'], '--bundle', folder('reported'), '--nsight-dir', folder('nsys'))
equal(status, 0, 'a bundle with reports')
PAGES['reported'] = os.path.join(folder('reported'), 'viewer.html')
PAGES['compared'] = view(TRACES['slower'], folder('compared.html'), '--against', TRACES['small'])

# ---- in the browser ----
node = shutil.which('node')
reason = None if node else 'node is not installed'
# ---- names lose their middle: of n letters n - 1 stay, a third of them at the beginning ----
NAMES = [('abcdefghij', 10, 'abcdefghij'), ('abcdefghijk', 10, 'abc…fghijk'), ('model/layer1/attention/query', 12, 'mod…on/query'),
         ('🚀🚀🚀', 3, '🚀🚀🚀'), ('🚀🚀🚀🚀🚀', 4, '🚀…🚀🚀'), ('aaaaaaae\u0301bcd', 7, 'aa…bcd'), ('x' + 'y' * 50000 + 'z', 4, 'x…yz')]
if node:
    script = "const { shortName } = await import(process.argv[1]); console.log(JSON.stringify(JSON.parse(process.argv[2]).map(([name, most]) => shortName(name, most))))"
    p = subprocess.run([node, '--input-type=module', '-e', script, f'{HERE}/../../analyzer/viewer/page/format.js', json.dumps([[name, most] for name, most, _ in NAMES])],
                       stdout=subprocess.PIPE, text=True)
    equal(p.stdout and json.loads(p.stdout), [short for _, _, short in NAMES], 'names lose their middle')
else:
    skip('names lose their middle', reason)
if not reason:
    probe = subprocess.run([node, '--input-type=module', '-e', "import 'playwright-core'; import { chromiumPath } from './browser.mjs'; if (!chromiumPath()) process.exit(3)"],
                           cwd=HERE, stderr=subprocess.PIPE)
    reason = {0: None, 3: 'no Chromium is installed (scripts/deps browser)'}.get(probe.returncode, 'playwright-core is not installed (scripts/deps browser)')
if reason:
    skip('the page in a browser', reason)
    done()
trace = TRACES['small']
config = dict(pages=PAGES, folder=folder.path, program=PROGRAM, hostile=HOSTILE, screenshots=os.environ.get('SCREENSHOTS'),
              overview=answer(trace, 'overview'), memory=answer(trace, 'query', '--kind', 'memory')['result'],
              **{kind: answer(trace, 'query', '--kind', kind)['result'] for kind in ('kernels', 'copies', 'api')},
              gpu_kernels=answer(folder('reported'), 'query', '--kind', 'gpu-kernels')['result'])
folder.put('config.json', json.dumps(config))
p = subprocess.run([node, 'page_test.mjs', folder('config.json')], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
print(p.stdout.decode(errors='replace'), end='')
ok(p.returncode == 0, 'page_test.mjs ran to its end', f'status {p.returncode}')
done()
