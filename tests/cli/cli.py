"""What the tests of the command line share: running it, and small traces."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'tools'))
from harness import SANITIZED  # noqa: E402,F401  (re-exported)
from tap import done, equal, ok, skip  # noqa: E402,F401  (re-exported)

PROGRAM = os.path.join(ROOT, os.environ.get('BUILD', 'build'), 'cg-analyze')


def run(*words, cwd=None, stdin=b'', env=None, stdout=subprocess.PIPE):
    """(status, standard output, standard error) of cg-analyze; bytes as text where they are UTF-8."""
    extra = dict(os.environ, **(env or {}))
    p = subprocess.run([PROGRAM, *words], cwd=cwd, input=stdin, env=extra, stdout=stdout, stderr=subprocess.PIPE)
    return p.returncode, (p.stdout or b'').decode(errors='replace'), p.stderr.decode(errors='replace')


def unprivileged(*words):
    """(status, standard error) of cg-analyze as a user who may not read and write everything; None when that cannot be had."""
    if os.geteuid() != 0:
        status, _, err = run(*words)
        return status, err
    reach = subprocess.run(['true'], user=65534, group=65534, cwd='/')
    p = subprocess.run(['test', '-x', PROGRAM], user=65534, group=65534, extra_groups=[], cwd='/')
    if reach.returncode or p.returncode:
        return None
    p = subprocess.run([PROGRAM, *words], user=65534, group=65534, extra_groups=[], cwd='/', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.returncode, p.stderr.decode()


def document(*words, **more):
    """The JSON that a command prints; None when it fails."""
    status, out, _ = run(*words, **more)
    return json.loads(out) if status == 0 else None


def query(path, kind, *words, **more):
    answer = document('query', path, '--kind', kind, *words, **more)
    return answer and answer['result']


def meta(**changes):
    contract = dict(measurement_scope='profiled_work', operations='partial', logical_memory='partial',
                    physical_memory='none', device_timing='partial')
    contract.update(changes.pop('contract', {}))
    record = dict(kind='meta', schema='candle-graph/trace/10', run_id='run-1', correlation_id='c-1',
                  entrypoint='demo::step', phase='train', timestamp='2026-01-01T00:00:00Z', capture_step=3,
                  warmup_steps=2, device='cuda:0', timing_mode='host', capture_contract=contract, tags={})
    record.update(changes)
    return record


def start(id, parent, name, at, measured=False, kind='function', **more):
    record = dict(kind='span_start', id=id, name=name, start_ns=at, span_kind=kind, **more)
    if parent:
        record['parent_id'] = parent
    if measured:
        record['measured'] = True
    return record


def end(id, duration):
    return dict(kind='span_end', id=id, duration_ns=duration)


def op(span, name, at, duration, **more):
    record = dict(kind='op', span_id=span, op_name=name, inputs=[], shape=[], dtype='f32', device='cuda:0',
                  duration_ns=duration, timestamp_ns=at, input_dense_bytes=0)
    record.update(more)
    return record


def memory(action, at, storage, size, span='m', **more):
    record = dict(kind='memory', timestamp_ns=at, storage_id=storage, tensor_id='t' + storage, span_id=span,
                  device='cuda:0', bytes=size, action=action, dtype='u8', category='activation')
    record.update(more)
    return record


def interval(span, at, duration, stream='7', clock='gpu', **more):
    return dict(kind='device_interval', span_id=span, device='cuda:0', stream_id=stream, clock_id=clock,
                backend='cuda_event', start_ns=at, duration_ns=duration, **more)


def stats(label, **more):
    record = dict(kind='tensor_stats', span_id='m', label=label, shape=[2], dtype='f32', elements=2,
                  non_finite=0, rms=1.5, abs_max=2.0, mean=-0.5)
    record.update(more)
    return record


def complete(at=2000):
    return dict(kind='terminal', outcome='complete', timestamp_ns=at)


def failed(reason, at=2000):
    return dict(kind='terminal', outcome='failed', timestamp_ns=at, reason=reason)


def region(*inside, terminal=None, **changes):
    """A whole trace: root r (0 to 1500), measured m in it (100 to 1100), and the records inside."""
    return [meta(**changes), start('r', None, 'root', 0), start('m', 'r', 'measured', 100, measured=True),
            *inside, end('m', 1000), end('r', 1500), terminal or complete()]


def text(records):
    return ''.join(json.dumps(r, ensure_ascii=False) + '\n' for r in records)


class Folder:
    """A temporary directory that traces are put into."""

    def __init__(self):
        self.keep = tempfile.TemporaryDirectory()
        self.path = self.keep.name

    def __call__(self, *parts):
        return os.path.join(self.path, *parts)

    def put(self, name, content):
        path = self(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, list):
            content = text(content)
        with open(path, 'wb') as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path


def read(path):
    with open(path, 'rb') as file:
        return file.read()
