#!/usr/bin/env python3
"""Publication: a whole bundle or none, whatever happens (doc/spec/bundle.md 1, 2, 4, 5)."""
import gzip
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bundles import HERE, Folder, done, equal, failed, independently, manifest, ok, publish, read, region, run, stats, tree  # noqa: E402

folder = Folder()
TRACE = folder.put('t.jsonl', region(stats('loss')))


def report(trace, bundle, *words, **more):
    return run('report', trace, '--bundle', bundle, *words, **more)


def staging(place):
    return [name for name in os.listdir(place) if '.tmp-' in name]


# ---- what is in it ----
DEST = folder('made/here/one')
os.chmod(TRACE, 0o640)
status, out, err = report(TRACE, DEST)
equal((status, err), (0, ''), 'published; its parents are made')
equal(sorted(os.listdir(DEST)), ['bundle.json', 'evidence.json', 'report.md', 'trace.jsonl', 'viewer.html'], 'the files')
equal(read(DEST + '/trace.jsonl'), read(TRACE), 'the trace, byte by byte')
equal(read(DEST + '/evidence.json').decode(), run('import', TRACE)[1], 'the evidence is what import writes')
ok(read(DEST + '/report.md').startswith(b'#'), 'a report for people')
ok(read(DEST + '/viewer.html').startswith(b'<!doctype html>'), 'a page for people')
text = read(DEST + '/bundle.json').decode()
value = json.loads(text)
equal(text, json.dumps(value, indent=2) + '\n', 'the manifest is pretty, with a final newline')
equal((list(value), value['schema'], value['run_id']), (['schema', 'run_id', 'files'], 'candle-graph/bundle/1', 'run-1'), 'its members')
equal([f['path'] for f in value['files']], ['evidence.json', 'report.md', 'trace.jsonl', 'viewer.html'], 'files by path')
sums = subprocess.run(['sha256sum', 'evidence.json', 'report.md', 'trace.jsonl', 'viewer.html'], cwd=DEST, capture_output=True, text=True).stdout.split()[::2]
equal(value['files'], [dict(path=name, bytes=os.path.getsize(f'{DEST}/{name}'), sha256=digest)
                       for name, digest in zip(('evidence.json', 'report.md', 'trace.jsonl', 'viewer.html'), sums)], 'sizes and digests as sha256sum finds them')
independently(DEST, 0, 'the independent check')
umask = os.umask(0o022)
os.umask(umask)
equal([os.stat(f'{DEST}/{name}').st_mode & 0o777 for name in ('.', 'trace.jsonl', 'evidence.json', 'bundle.json')],
      [0o777 & ~umask, 0o640, 0o666 & ~umask, 0o666 & ~umask], 'modes: a copy has its source\'s')
equal(os.listdir(folder('made/here')), ['one'], 'nothing is left beside it')
for word in (folder.path, os.uname().nodename, 'tmp-', time.strftime('%Y-%m'), read(os.path.join(HERE, '../../VERSION')).decode().strip()):
    ok(not any(word.encode() in read(f'{DEST}/{f}') for f in ('evidence.json', 'report.md')), f'nothing of the moment in it: {word}')
receipt = json.loads(out)
equal(list(receipt), ['schema', 'status', 'bundle_path', 'run_id', 'verification'], 'the receipt')
equal((receipt['schema'], receipt['status'], receipt['bundle_path'], receipt['run_id']), ('candle-graph/publication/1', 'published', DEST, 'run-1'), 'its values')
equal(list(receipt['verification']), ['schema', 'bundle_schema', 'run_id', 'manifest_path', 'manifest_sha256', 'files_verified', 'bytes_verified'], 'declared order')
equal(receipt['verification'], json.loads(run('verify', DEST)[1])['receipt'], 'the same as verify gives')
report(TRACE, folder('two'))
equal(tree(folder('two')), tree(DEST), 'the same inputs give the same bytes')

# ---- forms of the trace, and of the destination ----
equal(report('-', folder('stdin'), stdin=read(TRACE))[0], 0, 'from standard input')
equal(read(folder('stdin/trace.jsonl')), read(TRACE), 'the same bytes')
report(folder.put('t.jsonl.gz', gzip.compress(read(TRACE))), folder('gz'))
equal(read(folder('gz/trace.jsonl')), read(TRACE), 'compressed: what was in it')
cut = folder.put('cut.jsonl', read(TRACE)[:-1])
report(cut, folder('cut'))
equal(read(folder('cut/trace.jsonl')), read(cut), 'without a final line feed: as it is')
blank = folder.put('blank.jsonl', b'\n \r\n' + read(TRACE).replace(b'\n', b'\r\n') + b'\n\n')
report(blank, folder('blank'))
equal(read(folder('blank/trace.jsonl')), read(blank), 'blank lines and CRLF: as they are')
os.mkdir(folder('raw'))
os.link(TRACE, folder('raw/trace.jsonl'))
equal(report(folder('raw'), folder('of-raw'))[0], 0, 'a raw-trace directory')
os.symlink(TRACE, folder('link.jsonl'))
equal(report(folder('link.jsonl'), folder('of-link'))[0], 0, 'a link to a trace')
ok(not os.path.islink(folder('of-link/trace.jsonl')), 'is copied')
status, out, err = report(DEST + '/trace.jsonl', folder('again'))
ok(status == 0 and DEST in err and err.count('\n') == 1, 'the trace of a bundle, with a warning', err)
status, out, err = report(TRACE, 'bare', cwd=folder.path)
equal((status, json.loads(out or '{}').get('bundle_path'), run('verify', folder('bare'))[0]), (0, 'bare', 0), 'a bare name')
equal((report(TRACE, folder('slash///'))[0], run('verify', folder('slash'))[0]), (0, 0), 'slashes at the end')
stopped = publish(folder, 'stopped', region(terminal=failed('no memory')))
ok('graph' not in json.loads(read(stopped + '/evidence.json')) and b'ailed' in read(stopped + '/report.md'), 'a failed capture is published, without a graph')
nul = publish(folder, 'nul', region(run_id='a\0b"\\\n\u2028é'))
equal((manifest(nul)['run_id'], run('overview', nul)[0]), ('a\0b"\\\n\u2028é', 0), 'any run id that a trace may have')
equal(report(TRACE, folder('with-receipt'), '-o', folder('receipt.json'))[0], 0, 'the receipt in a file')
equal(json.loads(read(folder('receipt.json')))['bundle_path'], folder('with-receipt'), 'the document')

# ---- refused, and nothing created ----
os.mkdir(folder('empty'))
os.symlink('nowhere', folder('dangling'))
os.symlink(DEST, folder('to-bundle'))
os.mkfifo(folder('fifo'))
bad = folder.put('bad.jsonl', read(TRACE)[:-20])
twice = region(dict(kind='span_start', id='tensor/t', parent_id='m', name='x', start_ns=200, span_kind='function'), dict(kind='span_end', id='tensor/t', duration_ns=1),
               dict(kind='tensor', span_id='m', tensor_id='t', shape=[1], dtype='f32', device='cpu', category='other'))
before = tree(folder.path)
for name, trace, bundle, expected in (
        ('an empty directory', TRACE, 'empty', 2), ('a file', TRACE, 't.jsonl', 2), ('a bundle', TRACE, 'made/here/one', 2),
        ('a link', TRACE, 'to-bundle', 2), ('a dangling link', TRACE, 'dangling', 2), ('a dangling link and a slash', TRACE, 'dangling/', 2),
        ('inside a bundle', TRACE, 'made/here/one/new', 2), ('deep inside one', TRACE, 'made/here/one/a/b/c', 2),
        ('inside one through a link', TRACE, 'to-bundle/new', 2), ('inside one through ..', TRACE, 'raw/../made/here/one/new', 2),
        ('..', TRACE, 'raw/..', 2), ('.', TRACE, '.', 2), ('/', TRACE, '/', 2),
        ('no trace', folder('none'), 'new', 3), ('a directory without trace', folder('empty'), 'new', 3), ('a FIFO', folder('fifo'), 'new', 3),
        ('a bundle as trace', DEST, 'new', 3), ('a parent that is a file', TRACE, 't.jsonl/new', 5)):
    status, out, err = report(trace, folder(bundle) if bundle != '/' else '/')
    ok((status, out) == (expected, '') and err.count('\n') == 1, f'{name}: refused', f'{status} {err}')
equal(report(TRACE, folder('made/here/one/x/../../two'))[0], 2, 'a path through a bundle')
equal(report(TRACE, folder('new'), '-o', folder('new/receipt.json'))[0], 2, 'the receipt into the new bundle')
equal(report(TRACE, folder('new'), '-o', TRACE)[0], 2, 'the receipt over the trace')
equal(run('report', TRACE)[0], 2, '--bundle is required')
equal(tree(folder.path), before, 'nothing was created')
for name, trace in (('a trace that is cut off', bad), ('node ids that collide', folder.put('twice.jsonl', twice))):
    status, out, err = report(trace, folder('failing/new'))
    ok((status, out) == (3, '') and err.count('\n') == 1, f'{name}: fails', f'{status} {err}')
    equal(os.listdir(folder('failing')), [], f'{name}: all is removed')
ok(re.search(r'bad\.jsonl:\d+', report(bad, folder('failing/new'))[2]), 'the message names the trace given, and the line')
done()
