#!/usr/bin/env python3
"""What verification finds and what it does not, step by step (doc/spec/bundle.md 2, 6, 7, 8)."""
import json
import os
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bundles import PROGRAM, Folder, copy, done, equal, independently, manifest, ok, publish, read, region, run, seal, skip, stats, tree, write_manifest  # noqa: E402

folder = Folder()
GOOD = publish(folder, 'good', region(stats('loss')))
numbers = iter(range(1000))


def changed(change):
    bundle = copy(folder, GOOD, f'changed-{next(numbers)}')
    change(bundle)
    return bundle


def at(bundle, name):
    return os.path.join(bundle, name)


def put(name, content):
    def change(bundle):
        os.makedirs(os.path.dirname(at(bundle, name)), exist_ok=True)
        with open(at(bundle, name), 'w') as file:
            file.write(content)
    return change


def replaced(name, make):
    def change(bundle):
        if os.path.lexists(at(bundle, name)):
            os.remove(at(bundle, name))
        make(at(bundle, name))
    return change


def declared(edit):
    """Changes the manifest's value."""
    def change(bundle):
        value = manifest(bundle)
        edit(value)
        write_manifest(bundle, value)
    return change


def make_socket(path):
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    socket.socket(socket.AF_UNIX).bind(os.path.basename(path))
    os.chdir(here)


def refused(name, change, what, also_independent=True):
    bundle = changed(change)
    before = tree(bundle)
    status, out, err = run('verify', bundle)
    ok((status, out) == (1, '') and what in err, f'{name}: does not verify', f'{status} {err}')
    equal(tree(bundle), before, f'{name}: nothing was changed')
    if also_independent:
        independently(bundle, 1, f'{name}: not for the independent check either')


def verified(name, change):
    bundle = changed(change)
    status, out, err = run('verify', bundle)
    ok(status == 0, f'{name}: verifies', err)
    return bundle, json.loads(out or 'null')


# ---- a good one ----
status, out, err = run('verify', GOOD)
files = manifest(GOOD)['files']
digest = subprocess.run(['sha256sum', at(GOOD, 'bundle.json')], capture_output=True, text=True).stdout[:64]
receipt = dict(schema='candle-graph/bundle-verification/1', bundle_schema='candle-graph/bundle/1', run_id='run-1', manifest_path='bundle.json',
               manifest_sha256=digest, files_verified=4, bytes_verified=sum(os.path.getsize(at(GOOD, f['path'])) for f in files))
answer = json.loads(out)
equal(sorted(answer), ['receipt', 'schema', 'semantic', 'tool'], 'the members of verify/1')
equal((answer['schema'], answer['semantic'], answer['receipt']), ('candle-graph/verify/1', None, receipt), 'the receipt')
equal(list(answer['receipt']), sorted(receipt), 'its members ascend')
equal(run('verify', GOOD)[1], out, 'the same bundle gives the same receipt')
independently(GOOD, 0, 'the independent check agrees')
os.symlink(GOOD, folder('link-to-good'))
equal(run('verify', folder('link-to-good'))[0], 0, 'the root itself may be a link')
quick = json.loads(run('verify', GOOD, '--quick')[1])
equal((quick['receipt'], quick['semantic']), (None, None), '--quick claims no hashes')
equal(run('verify', GOOD, '--quick', '--semantic')[0], 2, '--quick and --semantic exclude each other')

# ---- few descriptors ----
deep = changed(put('a/b/c/extra', ''))
seal(deep)
few = [subprocess.run(['prlimit', f'--nofile={limit}', PROGRAM, 'verify', deep], capture_output=True, text=True) for limit in range(4, 20)]
ok(any(run.returncode == 5 for run in few) and few[-1].returncode == 0, 'few descriptors: too few, then enough', [run.returncode for run in few])
ok(all('Too many open files' in run.stderr for run in few if run.returncode), 'few descriptors: said so', [run.stderr for run in few])

# ---- every file, every way ----
for name in ('trace.jsonl', 'evidence.json', 'report.md'):
    refused(f'{name} removed', replaced(name, lambda path: None), name)
    refused(f'{name} a link', replaced(name, lambda path: os.symlink('/etc/hostname', path)), name)
    refused(f'{name} a link to a copy beside it', replaced(name, lambda path: os.symlink(at(GOOD, os.path.basename(path)), path)), name)
    refused(f'{name} a FIFO', replaced(name, os.mkfifo), name)
    refused(f'{name} a directory', replaced(name, os.mkdir), name)
    refused(f'{name} a socket', replaced(name, make_socket), name)
    refused(f'{name} cut', lambda bundle, name=name: os.truncate(at(bundle, name), 10), name)
    refused(f'{name} longer', lambda bundle, name=name: open(at(bundle, name), 'a').write('\n'), name)
for name, make in (('removed', lambda path: None), ('a link', lambda path: os.symlink(at(GOOD, 'bundle.json'), path)), ('a FIFO', os.mkfifo), ('a directory', os.mkdir)):
    refused(f'bundle.json {name}', replaced('bundle.json', make), 'bundle.json')
refused('a file added', put('extra', ''), 'extra')
refused('a file added in a new directory', put('a/b/extra', ''), 'a/b/extra')
refused('a hidden file added', put('.hidden', ''), '.hidden')
refused('an unused dangling link', replaced('unused', lambda path: os.symlink('/nowhere', path)), 'unused')
refused('a link to a directory', replaced('unused', lambda path: os.symlink('/', path)), 'unused')
refused('a nested bundle', lambda bundle: shutil.copytree(GOOD, at(bundle, 'nested')), 'nested/bundle.json')
verified('an empty directory', lambda bundle: os.mkdir(at(bundle, 'empty')))
verified('an empty nsight/', lambda bundle: os.mkdir(at(bundle, 'nsight')))
verified('modes and times', lambda bundle: (os.chmod(at(bundle, 'report.md'), 0o600), os.utime(at(bundle, 'report.md'), (1, 1))))
verified('a hard link', lambda bundle: os.link(at(bundle, 'report.md'), folder(f'hard-{next(numbers)}')))
bundle, answer = verified('a file added and declared', lambda bundle: (put('sub/bundle.json', '{}')(bundle), seal(bundle)))
equal(answer['receipt']['files_verified'], 5, 'bundle.json in a subdirectory is an ordinary file')
independently(bundle, 0, 'for the independent check, too')

# ---- several faults ----
bundle = changed(lambda bundle: [open(at(bundle, name), 'a').write('x') for name in ('trace.jsonl', 'evidence.json', 'report.md')])
status, out, err = run('verify', bundle)
lines = err.splitlines()
equal((status, len(lines)), (1, 3), 'every file that does not match has a line')
ok(all(any(name in line for line in lines) for name in ('trace.jsonl', 'evidence.json', 'report.md')), 'and is named', err)

# ---- --quick ----
bundle = changed(lambda bundle: open(at(bundle, 'report.md'), 'r+').write('X'))
equal((run('verify', bundle, '--quick')[0], run('verify', bundle)[0]), (0, 1), '--quick hashes nothing')
bundle = changed(put('extra', ''))
equal(run('verify', bundle, '--quick')[0], 1, '--quick looks at the set of files')
bundle = changed(lambda bundle: os.truncate(at(bundle, 'report.md'), 1))
equal(run('verify', bundle, '--quick')[0], 1, 'and at the sizes')

# ---- the manifest ----
def set_file(**changes):
    return declared(lambda value: value['files'][0].update(changes))


for path in ('', '/a', '../a', 'a/../b', './a', 'a\\b', 'bundle.json', 'a//b', 'a/./b', 'a/', '..', '.', 'a\0b'):
    refused(f'path {path!r}', set_file(path=path), 'files[0].path', also_independent=False)
refused('a path of 4097 bytes', set_file(path='a' * 4097), 'files[0].path')
for digest in ('', 'x' * 64, '0' * 63, '0' * 65, 'sha256:' + '0' * 57, '0' * 63 + '\0'):
    refused(f'digest {digest!r}', set_file(sha256=digest), 'files[0].sha256', also_independent=False)
refused('a file declared twice', declared(lambda value: value['files'].append(value['files'][0])), 'twice')
refused('another schema', declared(lambda value: value.update(schema='candle-graph/bundle/2')), 'schema')
for name in ('schema', 'run_id', 'files'):
    refused(f'no {name}', declared(lambda value, name=name: value.pop(name)), name)
    refused(f'{name} null', declared(lambda value, name=name: value.update({name: None})), name)
for name in ('path', 'bytes', 'sha256'):
    refused(f'a file without {name}', declared(lambda value, name=name: value['files'][0].pop(name)), name)
for size in (1.0, -1, '5', True, 2**64):
    refused(f'bytes {size!r}', set_file(bytes=size), 'bytes', also_independent=False)
refused('bytes 2^64-1', set_file(bytes=2**64 - 1), 'evidence.json')
whole = read(at(GOOD, 'bundle.json')).decode()
for name, content in (('not JSON', 'x'), ('empty', ''), ('an array', '[]'), ('two values', whole + '{}'), ('a byte order mark', '\ufeff' + whole),
                      ('a member given twice', whole.replace('"run_id"', '"run_id": "x", "run_id"', 1)), ('half of it', whole[:100])):
    refused(f'manifest: {name}', lambda bundle, content=content: write_manifest(bundle, content), 'bundle.json', also_independent=False)
verified('digests in upper case', declared(lambda value: [f.update(sha256=f['sha256'].upper()) for f in value['files']]))
verified('files in another order', declared(lambda value: value['files'].reverse()))
verified('unknown members', declared(lambda value: (value.update(new={'a': [2**64 - 1, 1e300]}), value['files'][0].update(more=None))))
bundle, answer = verified('another run_id', declared(lambda value: value.update(run_id='of another \0 run')))
ok(answer['receipt']['run_id'] == 'of another \0 run' and answer['receipt']['manifest_sha256'] != receipt['manifest_sha256'], 'the receipt pins the manifest')
bundle, answer = verified('no file at all', lambda bundle: ([os.remove(at(bundle, f['path'])) for f in files], seal(bundle)))
equal((answer['receipt']['files_verified'], answer['receipt']['bytes_verified']), (0, 0), 'is a bundle with nothing in it')

# ---- limits ----
deep = '/'.join(['d'] * 64)
refused('65 directories deep', lambda bundle: (put(deep + '/x', '')(bundle), seal(bundle)), 'deep', also_independent=False)
verified('63 below the root', lambda bundle: (put('/'.join(['d'] * 63) + '/x', '')(bundle), seal(bundle)))
refused('a manifest over 64 MiB', lambda bundle: os.truncate(at(bundle, 'bundle.json'), (64 << 20) + 1), '67108864', also_independent=False)

# ---- not a bundle ----
for name, path in (('nothing', folder('nowhere')), ('a file', at(GOOD, 'trace.jsonl')), ('a directory without manifest', folder('traces'))):
    status, out, err = run('verify', path)
    ok((status, out) == (1, '') and err.count('\n') == 1, f'{name} does not verify', f'{status} {err}')
equal(run('verify')[0], 2, 'BUNDLE is required')

# ---- never into it, and nothing outside ----
for output in ('new', 'bundle.json', 'nsight/../new', 'new/../../outside.json'):
    status, out, err = run('verify', GOOD, '-o', at(GOOD, output))
    equal((status, out), (2, ''), f'output {output} is refused')
equal(run('verify', folder('link-to-good'), '-o', folder('link-to-good/new'))[0], 2, 'through a link too')
equal(run('verify', GOOD, '-o', folder('receipt.json'))[0], 0, 'elsewhere is fine')
equal(json.loads(read(folder('receipt.json')))['receipt'], receipt, 'and holds the document')
bundle = changed(replaced('report.md', lambda path: os.symlink('/etc/passwd', path)))
if shutil.which('strace') and subprocess.run(['strace', '-f', 'true'], capture_output=True).returncode == 0:
    for name, target in (('a good bundle', GOOD), ('a link out of it', bundle)):
        subprocess.run(['strace', '-f', '-o', folder('calls'), '-e', 'trace=%file,%desc', PROGRAM, 'verify', target], capture_output=True)
        calls = read(folder('calls')).decode().splitlines()
        start = next(i for i, call in enumerate(calls) if target in call and 'openat' in call)
        opened = [call for call in calls[start + 1:] if 'open' in call.split('(')[0] and 'openssl.cnf' not in call]  # libcrypto's own
        ok(opened and all('/etc' not in call and 'AT_FDCWD' not in call for call in opened), f'{name}: all opened below the root', opened)
        ok(not any('O_WRONLY' in call or 'O_RDWR' in call or 'O_CREAT' in call for call in opened), f'{name}: nothing opened for writing')
else:
    skip('nothing outside is opened', 'strace cannot be used here')
done()
