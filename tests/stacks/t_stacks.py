#!/usr/bin/env python3
"""Stacks of programs whose calls are known: what their files' symbol tables say of each frame's offset, read by nm and readelf, is what is
expected; and the programs run as they do without the recorder."""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run  # noqa: E402

STACKS = f'{BUILD}/tests/stacks'
CALLS, FIXED, PLAIN, OBJECTS, PLUGIN_A, PLUGIN_B = (f'{STACKS}/{n}' for n in ('calls', 'fixed', 'plain', 'objects', 'plugin_a.so', 'plugin_b.so'))
CHAIN = ['inner', 'middle', 'outer', 'main']
ANALYZE = f'{BUILD}/cg-analyze'


def functions(path, _known={}):
    """[(begin, end, name)] of a file, by nm."""
    if path not in _known:
        text = subprocess.run(['nm', '-S', '--defined-only', path], capture_output=True, text=True, check=True).stdout
        found = [line.split() for line in text.splitlines()]
        _known[path] = [(int(f[0], 16), int(f[0], 16) + int(f[1], 16), f[3]) for f in found if len(f) == 4 and f[2] in 'tTwW']
    return _known[path]


def function_at(frame):
    """The function that holds the call before the frame's return address."""
    at = frame['offset'] - 1
    return next((name for begin, end, name in functions(frame['module']) if begin <= at < end), None)


def build_id(path):
    return re.search(r'Build ID: (\w+)', subprocess.run(['readelf', '-n', path], capture_output=True, text=True).stdout).group(1)


class Stacks:
    """A trace's records by their bytes, and its stacks."""

    def __init__(self, path):
        self.violations = check(path)
        self.ops, self.memory, self.frames, self.truncated, self.order = {}, {}, {}, {}, []
        self.repeated = []
        with open(path, encoding='utf-8') as file:
            self.lines = [json.loads(line) for line in file]
        for line in self.lines:
            stack = line.get('stack')
            if stack and 'frames' in stack:
                if stack['id'] in self.frames:
                    self.repeated.append(stack['id'])
                self.frames.setdefault(stack['id'], stack['frames'])
                self.truncated[stack['id']] = stack.get('truncated', False)
            elif stack and stack['id'] not in self.frames:
                self.repeated.append(f'{stack["id"]} before its frames')
            if line['kind'] == 'op':
                self.ops.setdefault(line.get('bytes', line.get('requested_bytes')), []).append(line)
            elif line['kind'] == 'memory':
                self.memory.setdefault(line['bytes'], []).append(line)
        self.meta = self.lines[0]['stacks']

    def of(self, size, kind='ops'):
        records = getattr(self, kind).get(size, [])
        return self.frames[records[0]['stack']['id']] if records and 'stack' in records[0] else []

    def names(self, size, path):
        """Functions of one file, in the order of the frames, by that file's symbols."""
        return [function_at(frame) for frame in self.of(size) if frame.get('module') == path]


def record(name, command, traces=1, status=0, **more):
    """What the traces of a program hold, after seeing that it runs as without the recorder."""
    with Run(command, **more) as run, Run(command, record=False, **more) as plain:
        tap.equal((run.status, run.out, run.err), (plain.status, plain.out, plain.err), f'{name}: runs as without the recorder')
        tap.equal((plain.status, plain.err, len(run.traces)), (status, b'', traces), f'{name}: runs, traces')
        found = [Stacks(path) for path in run.traces]
    for stacks in found:
        tap.equal((stacks.violations, stacks.repeated), ([], []), f'{name}: the trace is valid, each stack is whole once')
        named = [frame for frames in stacks.frames.values() for frame in frames if os.path.dirname(frame.get('module', '')) == STACKS]
        wrong = [frame for frame in named if frame.get('symbol') != function_at(frame) or frame.get('build_id') != build_id(frame['module'])]
        tap.ok(named and not wrong, f'{name}: symbols and build-ids are those of the files', wrong or 'no frame')
        own = [frame for frames in stacks.frames.values() for frame in frames[:1]
               if os.path.basename(frame.get('module', '')).startswith(('libcgtrace', 'libcuda'))]
        tap.equal(own, [], f'{name}: no stack begins inside the recorder or CUDA')
    return found[0] if traces == 1 else found


def forms():
    for path in (CALLS, FIXED, PLAIN):
        name = os.path.basename(path)
        found = record(f'{name}', [path, 'chain'])
        tap.equal(found.names(100, path), CHAIN + ['_start'], f'{name}: the calls of the program')
        tap.equal([f.get('module') for f in found.of(100)[:4]], [path] * 4, f'{name}: they are the innermost ones')
        tap.equal(found.of(100), found.of(100, 'memory'), f'{name}: the call and its storage have one stack')
        tap.ok(found.ops[100][0]['stack']['id'] != found.ops[101][0]['stack']['id'], f'{name}: two lines of main are two stacks')
        tap.equal(found.meta, {'recorded': 'alloc', 'depth': 32, 'unwinder': 'libgcc'}, f'{name}: the first line says how')
        where = subprocess.run(['addr2line', '-e', path, *(hex(f['offset'] - 1) for f in found.of(100)[:4])], capture_output=True, text=True).stdout
        lines = [line.split(':')[-1] for line in where.split()]
        with open(f'{HERE}/calls.c', encoding='utf-8') as source:
            text = source.read().splitlines()
        tap.equal([text[int(n) - 1].strip() for n in lines if n.isdigit()],
                  ['CU(cuMemAlloc(&last, bytes));', 'inner(bytes);', 'middle(bytes);', 'outer(100);'], f'{name}: and their lines')


def unwinders():
    with Run([PLAIN, 'chain'], LD_LIBRARY_PATH=f'{STACKS}/without:{BUILD}/sim') as run:
        found = Stacks(run.traces[0])
        tap.equal((run.status, found.violations, found.meta['unwinder'], found.frames), (0, [], 'none', {}), 'no unwinder: no stacks, all else')


def depth():
    found = record('deep', [CALLS, 'deep', '300'], CGTRACE_STACK_DEPTH='10')
    tap.equal((found.names(500, CALLS), list(found.truncated.values())), (['inner'] + ['deep'] * 9, [True]), 'a deep stack is cut, and said to be')
    found = record('deepest', [CALLS, 'deep', '300'], CGTRACE_STACK_DEPTH='128')
    tap.equal((found.names(500, CALLS), list(found.truncated.values())), (['inner'] + ['deep'] * 127, [True]), 'the deepest that is kept')
    found = record('not so deep', [CALLS, 'deep', '20'], CGTRACE_STACK_DEPTH='128')
    tap.equal((found.names(500, CALLS), list(found.truncated.values())), (['inner'] + ['deep'] * 21 + ['main', '_start'], [False]), 'a whole one')
    found = record('one', [CALLS, 'chain'], CGTRACE_STACK_DEPTH='1')
    tap.equal(([f['symbol'] for f in found.of(100)], len(found.frames)), (['inner'], 1), 'depth 1: two callers of one call are one stack')
    for bad in ('0', '129', '-1', '8x', '4294967297'):
        with Run([CALLS, 'chain'], CGTRACE_STACK_DEPTH=bad, CGTRACE_QUIET=None) as run:
            tap.equal((run.status, run.out, run.traces), (0, b'done\n', []), f'depth {bad}: the program runs unprofiled')
            tap.ok(b'CGTRACE_STACK_DEPTH: ' + bad.encode() + b' is not allowed; allowed: 1 to 128' in run.err, f'depth {bad}: and is told why', run.err)


def which():
    def with_stack(found):
        return sorted({line['op_name'] for line in found.lines if line['kind'] == 'op' and 'stack' in line})
    calls = ['cuCtxSynchronize', 'cuMemAlloc', 'cuMemFree', 'cuMemcpyHtoD', 'nothing']
    found = record('alloc', [CALLS, 'all'])
    tap.equal(with_stack(found), ['cuMemAlloc'], 'alloc: allocations alone')
    failed = [line for line in found.lines if line.get('requested_bytes') == 1 << 60]
    tap.equal([function_at(f) for f in found.frames[failed[0]['stack']['id']]][:2], ['everything', 'main'], 'alloc: also those that fail')
    found = record('all', [CALLS, 'all'], CGTRACE_STACKS='all')
    without = [line['op_name'] for line in found.lines if line['kind'] == 'op' and 'stack' not in line]
    tap.equal((without, [c for c in calls if c not in with_stack(found)]), ([], []), 'all: every call')
    launch = next(line for line in found.lines if line.get('op_name') == 'nothing')
    tap.equal((launch['grid'], launch['block'], function_at(found.frames[launch['stack']['id']][0])), ([1, 1, 1], [1, 1, 1], 'everything'), 'all: launches')
    freed = next(line for line in found.lines if line['kind'] == 'memory' and line['action'] == 'free')
    tap.equal(function_at(found.frames[freed['stack']['id']][0]), 'everything', 'all: the end of a storage has the stack of its free')
    with Run([CALLS, 'all'], CGTRACE_STACKS='off') as run:
        found = Stacks(run.traces[0])
        tap.equal((found.frames, [line for line in found.lines if 'stack' in line], found.meta), ({}, [], {'recorded': 'off'}), 'off: none')


def ways():
    found = record('signal', [CALLS, 'signal'])
    names = [name for name in found.names(600, CALLS) if name]
    tap.equal(names, ['inner', 'middle', 'outer', 'handler', 'interrupted', 'signals', 'main', '_start'], 'a signal handler, and what it interrupted')
    found = record('threads', [CALLS, 'threads'])
    ids = {(line['tid'], line['stack']['id']) for line in found.ops[700]}
    tap.equal((len(ids), len({stack for _, stack in ids})), (2, 1), 'two threads, one stack')
    both = record('fork', [CALLS, 'fork'], traces=2)
    for size in (1000, 1001):
        names = [s.names(size, CALLS) for s in both if size in s.ops]
        tap.equal(len(names) == 1 and names[0][:3], ['inner', 'middle', 'outer'], f'fork: {"child" if size == 1001 else "parent"}')


def foreign():
    """Stacks that the program has made: they may end with anything, so they are not looked at."""
    for way, size in (('coroutine', 1300), ('alternate', 600)):
        for path in (CALLS, PLAIN):
            if SANITIZED and way == 'coroutine':
                tap.skip(f'{way}, {os.path.basename(path)}', 'the sanitizer itself warns of such a stack on standard error')
                continue
            found = record(f'{way}, {os.path.basename(path)}', [path, way], CGTRACE_STACKS='all')
            tap.equal((len(found.ops[size]), found.of(size)), (1, []), f'{way}: the call, without a stack')
            tap.equal(found.names(1301, path), ['inner', 'middle', 'outer', 'main', '_start'], f'{way}: and then stacks again')


def plugins():
    found = record('plugins', [CALLS, 'plugins', PLUGIN_A, PLUGIN_B, PLUGIN_A])
    for number, path in enumerate((PLUGIN_A, PLUGIN_B, PLUGIN_A)):
        frames = found.of(800 + number)
        tap.equal([(f['module'], function_at(f)) for f in frames[:3]], [(path, 'plugin_helper'), (path, 'plugin_entry'), (CALLS, 'plugins')],
                  f'plugin {number}: its own frames, also after it was closed')
    tap.equal(found.names(900, CALLS), ['inner', 'middle', 'outer', 'plugins', 'main', '_start'], 'code was unloaded: the calls of the rest')
    with Run(['sh', '-c', f'cp {PLUGIN_A} plugin.so && {CALLS} plugins ./plugin.so && rm plugin.so']) as run:
        found = Stacks(run.traces[0])
        expected = os.path.realpath(f'{run.folder}/work/plugin.so')
        frame = found.of(800)[0]
        tap.equal((run.status, os.path.realpath(frame['module']), frame['build_id']), (0, expected, build_id(PLUGIN_A)), 'a relative name is made absolute')


def killed():
    with Run([CALLS, 'kill']) as run:
        tap.equal((run.status, run.traces, run.out), (-9, [], b''), 'killed: no trace yet')
        capture = next(f'{run.folder}/work/{f}' for f in run.files if f.endswith('.cgt'))
        done = subprocess.run([ANALYZE, 'recover', capture], capture_output=True, text=True)
        tap.equal((done.returncode, len(run.traces)), (0, 1), 'killed: recovered')
        found = Stacks(run.traces[0])
    tap.equal((found.violations, found.names(100, CALLS), [f.get('symbol') for f in found.of(100)][:4]), ([], CHAIN + ['_start'], CHAIN),
              'killed: the recovered trace has the stacks')


def languages():
    found = record('C++', [OBJECTS])
    demangled = subprocess.run(['c++filt'], input='\n'.join(f['symbol'] for f in found.of(202)[:3]), capture_output=True, text=True).stdout.splitlines()
    tap.equal(demangled[:2], ['model::Layer::grow(unsigned long)', 'void model::fill<long>(model::Layer&, long)'], 'C++: symbols stay mangled')
    tap.ok('lambda' in demangled[2], 'C++: a lambda', demangled)
    tap.equal(found.names(203, OBJECTS)[0], '_ZN5model5Layer4growEm', 'C++: a stack, and then an exception')
    if SANITIZED:
        tap.skip('Python: the calls of the interpreter', 'the interpreter has no sanitizer')
        return
    script = ('import ctypes, sys\ncuda = ctypes.CDLL("libcuda.so.1")\nat, context = ctypes.c_uint64(), ctypes.c_void_p()\n'
              'def allocate(n):\n    assert cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(n)) == 0\n'
              'assert cuda.cuInit(0) == 0\nassert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0\n'
              'cuda.cuCtxSetCurrent(context)\nfor n in range(3): allocate(300)\nprint("done")\n')
    with Run([sys.executable, '-c', script], CGTRACE_STACK_DEPTH='128') as run:
        found = Stacks(run.traces[0])
        modules = [os.path.basename(f.get('module', '')) for f in found.of(300)]
        tap.equal((run.status, run.out, found.violations), (0, b'done\n', []), 'Python: runs, and the trace is valid')
        tap.ok(modules and modules[0].startswith('libffi') and any(m.startswith('_ctypes') for m in modules), 'Python: libffi, then _ctypes', modules)
        tap.equal(len({line['stack']['id'] for line in found.ops[300]}), 1, 'Python: a loop is one stack')


def scope():
    found = record('scope', [CALLS, 'scope'])
    tap.ok(found.of(1200), 'scope: a stack was taken, and the program finds nothing that it would not find otherwise')


forms()
unwinders()
depth()
which()
ways()
foreign()
plugins()
killed()
languages()
scope()
tap.done()
