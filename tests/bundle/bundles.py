"""What the tests of bundles share: making them, changing them, and sealing a changed one with a manifest made here."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cli'))
from cli import (PROGRAM, Folder, complete, document, done, end, equal, failed, interval, memory, meta, ok, op, query,  # noqa: E402,F401
                 read, region, run, skip, start, stats, text)


def publish(folder, name, records, *words):
    """Path of a new bundle made of these records."""
    trace = folder.put(f'traces/{name}.jsonl', records)
    status, _, err = run('report', trace, '--bundle', folder(name), *words)
    if status:
        raise SystemExit(f'report failed: {err}')
    return folder(name)


def independently(bundle, status, name):
    """What check_bundle.sh, which shares nothing with cg-analyze, says of a bundle: 0, it verifies, or 1."""
    if shutil.which('jq'):
        equal(subprocess.run(['bash', os.path.join(HERE, 'check_bundle.sh'), bundle], capture_output=True).returncode, status, name)
    else:
        skip(name, 'jq is not installed')


def copy(folder, bundle, name):
    shutil.copytree(bundle, folder(name), symlinks=True)
    return folder(name)


def manifest(bundle):
    return json.loads(read(os.path.join(bundle, 'bundle.json')))


def write_manifest(bundle, value):
    content = value if isinstance(value, str) else json.dumps(value)
    with open(os.path.join(bundle, 'bundle.json'), 'w', encoding='utf-8') as file:
        file.write(content)


def seal(bundle, **changes):
    """Declares whatever files are there now."""
    files = []
    for place, _, names in os.walk(bundle):
        for name in names:
            path = os.path.join(place, name)
            relative = os.path.relpath(path, bundle)
            if relative != 'bundle.json':
                files.append(dict(path=relative, bytes=os.path.getsize(path), sha256=hashlib.sha256(read(path)).hexdigest()))
    whole = dict(manifest(bundle), files=sorted(files, key=lambda f: f['path'].encode()))
    whole.update(changes)
    write_manifest(bundle, whole)


def tree(path):
    """Every entry below a directory: type, mode, size, digest."""
    found = {}
    for place, folders, names in os.walk(path):
        for name in folders + names:
            entry = os.path.join(place, name)
            state = os.lstat(entry)
            content = hashlib.sha256(read(entry)).hexdigest() if os.path.isfile(entry) and not os.path.islink(entry) else ''
            found[os.path.relpath(entry, path)] = (state.st_mode, state.st_size if content else 0, content)
    return found
