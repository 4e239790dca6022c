"""What the tests of the simulated driver share. Each case runs in a process of its own, with its own environment, and drives
libcuda.so.1 through ctypes; the ledger that it leaves is checked afterwards by the parent, line by line."""
import ctypes as C
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.environ.get('BUILD', 'build')
CASES = []
NVCC = next((p for p in ('/usr/local/cuda/bin/nvcc', '/usr/bin/nvcc') if os.path.exists(p)), None)
PTX = b"""//
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 counter[28];
.const .align 8 .u64 base = 7;
.global .attribute(.managed) .align 4 .u32 shared_count;
.visible .entry plain() { .reg .pred %p<2>; { ret; } }
/* .entry not_this( */
.visible .entry add(
  .param .u64 .ptr .global .align 16 add_param_0, // .entry nor this
  .param .u32 add_param_1,
  .param .align 8 .b8 add_param_2[12],
  .param .u8 add_param_3
) { ret; }
.entry noparams { ret; }
"""

class Failed(Exception):
    pass


def case(**env):
    """A case: the function runs in a child with this environment; check(lines), if given, sees the ledger."""
    check = env.pop('check', None)

    def keep(fn):
        CASES.append((fn.__name__.replace('_', ' '), fn, env, check))
        return fn
    return keep


def want(what, got, expected):
    if got != expected:
        raise Failed(f'{what}: {got!r}, not {expected!r}')


def near(what, got, low, high):
    if not low <= got <= high:
        raise Failed(f'{what}: {got!r}, not in {low}..{high}')


class Cuda:
    """The driver; d.cuX(...) must answer 0, d.code.cuX(...) gives the code."""

    def __init__(self, context=True):
        self.lib = C.CDLL(f'{BUILD}/sim/libcuda.so.1')
        self.code = self
        if context:
            self('cuInit', 0)
            self.ctx = C.c_void_p()
            self('cuCtxCreate_v2', C.byref(self.ctx), 0, 0)

    def get(self, name, *args):
        args = [C.c_size_t(a) if isinstance(a, int) and abs(a) >= 1 << 31 else a for a in args]
        return getattr(self.lib, name)(*args)

    def __call__(self, name, *args):
        want(name, self.get(name, *args), 0)

    def new(self, name, *args, kind=C.c_void_p):
        out = kind()
        self(name, C.byref(out), *args)
        return out

    def alloc(self, n):
        return self.new('cuMemAlloc_v2', C.c_size_t(n), kind=C.c_uint64)

    def stream(self, flags=1):
        return self.new('cuStreamCreate', flags)

    def event(self, flags=0):
        return self.new('cuEventCreate', flags)

    def function(self, name, image=PTX):
        module = self.new('cuModuleLoadData', image)
        return self.new('cuModuleGetFunction', module, name)

    def launch(self, f, stream=None, params=None, grid=(1, 1, 1), block=(1, 1, 1), name='cuLaunchKernel'):
        return self.get(name, f, *grid, *block, 0, stream, params, None)

    def elapsed(self, a, b):
        return self.new('cuEventElapsedTime', a, b, kind=C.c_float).value


class Gate:
    """A host function that holds its stream until open() is called; a call that waited for the stream would never return to do so."""
    HANGS_S = 60

    def __init__(self, d, stream):
        self.passed, self._event = [], threading.Event()
        self._wait = C.CFUNCTYPE(None, C.c_void_p)(lambda _: self.passed.append(self._event.wait(self.HANGS_S)))
        d('cuLaunchHostFunc', stream, self._wait, None)

    def open(self):
        self._event.set()


def ms_since(t):
    return (time.monotonic() - t) * 1e3


class Copy2D(C.Structure):
    _fields_ = [(n, t) for side in ('src', 'dst') for n, t in ((side + 'X', C.c_size_t), (side + 'Y', C.c_size_t), (side + 'Type', C.c_int),
                (side + 'Host', C.c_void_p), (side + 'Device', C.c_uint64), (side + 'Array', C.c_void_p), (side + 'Pitch', C.c_size_t))] + [
                ('width', C.c_size_t), ('height', C.c_size_t)]


def status(d, s):
    out = C.c_int(-1)
    return d.get('cuStreamIsCapturing', s, C.byref(out)), out.value


def ledger(path):
    """The lines, with the times of `done` put into the lines that they complete."""
    lines, by_seq = [], {}
    for text in open(path) if os.path.exists(path) else []:
        if not text.strip():
            continue
        l = json.loads(text)
        if l['op'] == 'done':
            by_seq[l['seq']].update(start_ns=l['start_ns'], end_ns=l['end_ns'])
            continue
        want('seq', l['seq'], len(lines) + 1)
        lines.append(l)
        by_seq[l['seq']] = l
    for l in lines:
        if l['start_ns'] is None or l['end_ns'] < l['start_ns']:
            raise Failed(f'times of {l}')
    return lines


def sanitizer():
    """The sanitizer's library that the driver was built with: a Python that was not must load it first."""
    out = subprocess.run(['objdump', '-p', f'{BUILD}/sim/libcuda.so.1'], check=True, capture_output=True, text=True).stdout
    return next((w for w in out.split() if w.startswith(('libasan.so', 'libtsan.so'))), None)


def child(index):
    try:
        CASES[index][1]()
    except Failed as e:
        print(e)
        sys.exit(1)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == '--case':
        return child(int(sys.argv[2]))
    if not os.path.exists(f'{BUILD}/sim/libcuda.so.1'):
        print('1..1\nnot ok 1 - the simulated driver is not built')
        return 1
    print(f'1..{len(CASES)}')
    bad, preload = 0, sanitizer()
    for i, (name, _, env, check) in enumerate(CASES):
        with tempfile.TemporaryDirectory() as t:
            full = {k: v for k, v in os.environ.items() if not k.startswith('SIM_') and k != 'LD_PRELOAD'}
            if preload:
                full.update(LD_PRELOAD=preload, ASAN_OPTIONS='detect_leaks=0', TSAN_OPTIONS='report_bugs=0')
            full.update(env, SIM_LEDGER=f'{t}/ledger', SIM_TEST_DIR=t)
            p = subprocess.run([sys.executable, sys.argv[0], '--case', str(i)], env=full, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=120)
            text = p.stdout.decode(errors='replace').strip()
            good = p.returncode == 0 or (p.returncode == -signal.SIGKILL and text.endswith('KILLED'))
            try:
                if good and check:
                    check(ledger(f'{t}/ledger'))
            except (Failed, ValueError, KeyError, IndexError, StopIteration) as e:
                good, text = False, f'ledger: {type(e).__name__} {e}'
            if good and text.startswith('SKIP'):
                print(f'ok {i + 1} - {name} # {text}')
                continue
            print(f"{'ok' if good else 'not ok'} {i + 1} - {name}")
            if not good:
                bad += 1
                print('\n'.join('# ' + l for l in text.splitlines()[-12:]), f'(exit {p.returncode})')
    return 1 if bad else 0
