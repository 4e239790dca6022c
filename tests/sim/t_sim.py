#!/usr/bin/env python3
"""The simulated driver behaves as documented. Each case runs in a process of its own, with its own environment, and drives
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
KERNELS = r"""
#include <stddef.h>
#include <unistd.h>
void add(void **a, const unsigned g[3], const unsigned b[3])
{
    int *p = *(int **) a[0];
    int n = *(int *) a[1];
    for (int i = 0; i < n; i++)
        p[i] += (int) (g[0] * b[0]) + ((int *) a[2])[2] + *(unsigned char *) a[3];
}
void plain(void **a, const unsigned g[3], const unsigned b[3]) { (void) a; (void) g; (void) b; usleep(20000); }
const size_t sized_params[] = {8, 4, 8, 0};
void noparams(void **a, const unsigned g[3], const unsigned b[3]) { (void) a; (void) g; (void) b; }
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


def ms_since(t):
    return (time.monotonic() - t) * 1e3


# ---- start, errors, look-ups --------------------------------------------------------------------------------------
@case(SIM_DEVICES='2', SIM_DRIVER_VERSION='12040')
def names_versions_and_errors():
    d = Cuda(False)
    n = C.c_int()
    want('before cuInit', d.get('cuDeviceGetCount', C.byref(n)), 3)
    d('cuInit', 0)
    d('cuDeviceGetCount', C.byref(n))
    want('devices', n.value, 2)
    name = C.create_string_buffer(64)
    d('cuDeviceGetName', name, 64, 1)
    want('name', name.value, b'Simulated device 1 (not a GPU)')
    want('version', d.new('cuDriverGetVersion', kind=C.c_int).value, 12040)
    want('no such device', d.get('cuDeviceGetName', name, 64, 2), 101)
    text = C.c_char_p()
    d('cuGetErrorName', 700, C.byref(text))
    want('error name', text.value, b'CUDA_ERROR_ILLEGAL_ADDRESS')
    want('no such error', d.get('cuGetErrorName', 12345, C.byref(text)), 1)
    want('text of no such error', text.value, None)
    want('no context', d.get('cuCtxGetDevice', C.byref(n)), 201)
    table = C.c_void_p()
    want('export table', d.get('cuGetExportTable', C.byref(table), b'0' * 16), 500)


@case(SIM_DEVICES='0')
def no_device():
    want('cuInit', Cuda(False).get('cuInit', 0), 100)


@case()
def look_ups_choose_version_and_default_stream():
    d = Cuda(False)
    same = lambda p, name: p.value == C.cast(getattr(d.lib, name), C.c_void_p).value

    def look(name, version, flags):
        p, why = C.c_void_p(77), C.c_int(9)
        r = d.get('cuGetProcAddress_v2', name, C.byref(p), version, C.c_uint64(flags), C.byref(why))
        return r, p, why.value
    for name, version, flags, symbol in [
            (b'cuMemAlloc', 13000, 0, 'cuMemAlloc_v2'), (b'cuMemAlloc', 3020, 2, 'cuMemAlloc_v2'),
            (b'cuMemcpy', 4000, 0, 'cuMemcpy'), (b'cuMemcpy', 7000, 2, 'cuMemcpy_ptds'), (b'cuMemcpy', 13000, 1, 'cuMemcpy'),
            (b'cuMemcpyHtoDAsync', 7000, 2, 'cuMemcpyHtoDAsync_v2_ptsz'), (b'cuMemcpyHtoD', 3020, 0, 'cuMemcpyHtoD_v2'),
            (b'cuLaunchKernel', 7000, 2, 'cuLaunchKernel_ptsz'), (b'cuStreamBeginCapture', 10000, 0, 'cuStreamBeginCapture'),
            (b'cuStreamBeginCapture', 10010, 2, 'cuStreamBeginCapture_v2_ptsz'), (b'cuGraphInstantiate', 11000, 0, 'cuGraphInstantiate_v2'),
            (b'cuGraphExecUpdate', 11000, 0, 'cuGraphExecUpdate'), (b'cuGetProcAddress', 11030, 0, 'cuGetProcAddress'),
            (b'cuGetProcAddress', 12000, 0, 'cuGetProcAddress_v2'), (b'cuEventElapsedTime', 12070, 0, 'cuEventElapsedTime'),
            (b'cuCtxSynchronize', 2000, 2, 'cuCtxSynchronize')]:
        r, p, why = look(name, version, flags)
        if r or why or not same(p, symbol):
            raise Failed(f'{name} {version} {flags} is not {symbol} ({r}, {why})')
    want('unknown', look(b'cuNoSuchThing', 13000, 0)[::2], (0, 1))
    want('unknown leaves the pointer', look(b'cuNoSuchThing', 13000, 0)[1].value, 77)
    want('too old', look(b'cuMemAllocAsync', 11010, 0)[::2], (0, 2))
    want('NULL status', d.get('cuGetProcAddress_v2', b'cuInit', C.byref(C.c_void_p()), 13000, C.c_uint64(0), None), 0)
    want('both flags', look(b'cuInit', 13000, 3)[0], 1)
    want('v1 unknown', d.get('cuGetProcAddress', b'cuNoSuchThing', C.byref(C.c_void_p()), 13000, C.c_uint64(0)), 500)


@case(SIM_DRIVER_VERSION='11080')
def an_old_driver_does_not_know_new_symbols():
    p, why = C.c_void_p(), C.c_int()
    Cuda(False)('cuGetProcAddress_v2', b'cuLibraryLoadData', C.byref(p), 13000, C.c_uint64(0), C.byref(why))
    want('status', (p.value, why.value), (None, 1))


@case()
def every_exported_symbol_is_in_the_table_of_look_ups():
    exported = {line.split()[2] for line in subprocess.run(['nm', '-D', '--defined-only', f'{BUILD}/sim/libcuda.so.1'], check=True,
                                                           capture_output=True, text=True).stdout.splitlines()}
    table, d = set(), Cuda(False)
    import re
    for kind, base, version, symbol, suffix in re.findall(r'^(PLAIN|PAIR)\((\w+), (\d+), (\w+)(?:, (_\w+), \d+)?\)',
                                                          open('tests/sim/symbols.def').read(), re.M):
        table |= {symbol, symbol + suffix} if suffix else {symbol}
    want('exported and not in the table', exported - table, set())
    want('in the table and not exported', table - exported, set())


# ---- memory -------------------------------------------------------------------------------------------------------
def check_memory(lines):
    plain = [l for l in lines if l['api'] != 'cuCtxDestroy_v2' and l['op'] in ('alloc', 'free')]
    want('calls', [(l['op'], l['api'], l.get('kind'), l['bytes'], l['result']) for l in plain], [
        ('alloc', 'cuMemAlloc_v2', 'device', 1000, 0), ('alloc', 'cuMemAllocPitch_v2', 'pitch', 1024 * 3, 0),
        ('alloc', 'cuMemAllocManaged', 'managed', 5000, 0), ('alloc', 'cuMemHostAlloc', 'host', 64, 0),
        ('alloc', 'cuMemAllocHost_v2', 'host', 65, 0), ('alloc', 'cuMemHostRegister_v2', 'registered', 100, 0),
        ('alloc', 'cuMemHostRegister_v2', 'registered', 100, 712), ('alloc', 'cuMemAlloc_v2', 'device', 1 << 40, 2), ('alloc', 'cuMemAlloc_v2', 'device', 0, 1),
        ('free', 'cuMemFree_v2', 'device', 1000, 0), ('free', 'cuMemFree_v2', None, 0, 1),
        ('free', 'cuMemFreeHost', 'host', 64, 0), ('free', 'cuMemHostUnregister', 'registered', 100, 0)])
    ends = [l for l in lines if l['api'] == 'cuCtxDestroy_v2']
    want('freed with the context', sorted((l['op'], l['kind'], l['bytes'], l['reason']) for l in ends),
         [('free', 'host', 65, 'ctx_destroy'), ('free', 'managed', 5000, 'ctx_destroy'), ('free', 'pitch', 3072, 'ctx_destroy')])
    given = {l['address'] for l in lines if l['op'] == 'alloc' and not l['result']}
    want('every one freed', given, {l['address'] for l in lines if l['op'] == 'free' and not l['result']})


@case(SIM_MEM_MB='64', check=check_memory)
def memory_of_every_kind():
    d = Cuda()
    free, total = C.c_size_t(), C.c_size_t()
    p = d.alloc(1000)
    d('cuMemGetInfo_v2', C.byref(free), C.byref(total))
    want('total', total.value, 64 << 20)
    want('free', free.value, (64 << 20) - 1024)
    q, pitch = C.c_uint64(), C.c_size_t()
    d('cuMemAllocPitch_v2', C.byref(q), C.byref(pitch), 600, 3, 4)
    want('pitch', pitch.value, 1024)
    d.new('cuMemAllocManaged', 5000, 1, kind=C.c_uint64)
    h = d.new('cuMemHostAlloc', 64, 0)
    d.new('cuMemAllocHost_v2', 65)
    own = C.create_string_buffer(100)
    d('cuMemHostRegister_v2', own, 100, 0)
    want('registered twice', d.get('cuMemHostRegister_v2', own, 100, 0), 712)
    want('too much', d.get('cuMemAlloc_v2', C.byref(C.c_uint64()), C.c_size_t(1 << 40)), 2)
    want('nothing', d.get('cuMemAlloc_v2', C.byref(C.c_uint64()), C.c_size_t(0)), 1)
    base, size = C.c_uint64(), C.c_size_t()
    d('cuMemGetAddressRange_v2', C.byref(base), C.byref(size), C.c_uint64(p.value + 500))
    want('range', (base.value, size.value), (p.value, 1000))
    d('cuMemFree_v2', p)
    want('freed twice', d.get('cuMemFree_v2', p), 1)
    d('cuMemFreeHost', h)
    d('cuMemHostUnregister', own)
    d('cuCtxDestroy_v2', d.ctx)
    want('a stale context', d.get('cuCtxSetCurrent', d.ctx), 201)


@case(SIM_MEM_MB='1')
def memory_runs_out_and_comes_back():
    d = Cuda()
    p = d.alloc(600 << 10)
    want('second', d.get('cuMemAlloc_v2', C.byref(C.c_uint64()), C.c_size_t(600 << 10)), 2)
    d('cuMemFree_v2', p)
    d.alloc(600 << 10)


def check_pool(lines):
    want('refused', [l['result'] for l in lines], [0, 0, 1, 0, 0, 0, 0])
    lines = [l for l in lines if not l['result']]
    want('lines', [(l['op'], l['kind'], l['bytes'], l.get('reason')) for l in lines],
         [('alloc', 'pool', 1000, None), ('free', 'pool', 1000, None), ('alloc', 'pool', 900, None), ('free', 'pool', 900, None),
          ('alloc', 'pool', 5000, None), ('free', 'pool', 5000, 'pool_destroy')])
    want('the block came back', lines[2]['address'], lines[0]['address'])
    want('stream', lines[0]['stream'][:2], '0x')


@case(check=check_pool)
def pools_keep_what_is_freed_until_a_synchronisation():
    d = Cuda()
    s = d.stream()
    pool = d.new('cuDeviceGetDefaultMemPool', 0)

    def attribute(which, p=pool):
        v = C.c_uint64()
        d('cuMemPoolGetAttribute', p, which, C.byref(v))
        return v.value
    p = d.new('cuMemAllocAsync', 1000, s, kind=C.c_uint64)
    want('used, reserved', (attribute(7), attribute(5)), (1024, 1024))
    d('cuMemFreeAsync', p, s)
    want('freed twice', d.get('cuMemFreeAsync', p, s), 1)
    want('used, reserved after the free', (attribute(7), attribute(5)), (0, 1024))
    q = d.new('cuMemAllocAsync', 900, s, kind=C.c_uint64)
    want('handed out again', q.value, p.value)
    d('cuMemFreeAsync', q, s)
    d('cuStreamSynchronize', s)
    want('reserved after a synchronisation', attribute(5), 0)
    want('highest', (attribute(8), attribute(6)), (1024, 1024))
    props = (C.c_int * 22)(1, 0, 1, 0)
    own = d.new('cuMemPoolCreate', props)
    d.new('cuMemAllocFromPoolAsync', 5000, own, s, kind=C.c_uint64)
    d('cuMemPoolDestroy', own)


def check_reset(lines):
    want('lines', [(l['op'], l.get('reason'), l['result']) for l in lines],
         [('alloc', None, 0), ('free', 'primary_reset', 0), ('alloc', None, 709)])


@case(check=check_reset)
def the_primary_context_takes_its_memory_along():
    d = Cuda(False)
    d('cuInit', 0)
    ctx = d.new('cuDevicePrimaryCtxRetain', 0)
    d('cuCtxPushCurrent_v2', ctx)
    d.alloc(10)
    d('cuDevicePrimaryCtxReset_v2', 0)
    want('used afterwards', d.get('cuMemAlloc_v2', C.byref(C.c_uint64()), C.c_size_t(10)), 709)


# ---- images -------------------------------------------------------------------------------------------------------
def parameters(d, f):
    out, offset, size = [], C.c_size_t(), C.c_size_t()
    while d.get('cuFuncGetParamInfo', f, C.c_size_t(len(out)), C.byref(offset), C.byref(size)) == 0:
        out.append((offset.value, size.value))
    return out


@case()
def ptx_names_parameters_and_variables():
    d = Cuda()
    module = d.new('cuModuleLoadData', PTX)
    n = d.new('cuModuleGetFunctionCount', module, kind=C.c_uint)
    want('entries', n.value, 3)
    f = d.new('cuModuleGetFunction', module, b'add')
    want('parameters', parameters(d, f), [(0, 8), (8, 4), (16, 12), (28, 1)])
    want('no such', d.get('cuModuleGetFunction', C.byref(C.c_void_p()), module, b'not_this'), 500)
    want('name', d.new('cuFuncGetName', f, kind=C.c_char_p).value, b'add')
    p, size = C.c_uint64(), C.c_size_t()
    for name, bytes_ in ((b'counter', 28), (b'base', 8), (b'shared_count', 4)):
        d('cuModuleGetGlobal_v2', C.byref(p), C.byref(size), module, name)
        want(name, size.value, bytes_)
    d('cuModuleUnload', module)
    want('stale', d.get('cuFuncGetName', C.byref(C.c_char_p()), f), 400)
    want('the handle comes back', d.new('cuModuleLoadData', PTX).value, module.value)
    want('no image', d.get('cuModuleLoadData', C.byref(C.c_void_p()), b'hello'), 200)


NVCC = next((p for p in ('/usr/local/cuda/bin/nvcc', '/usr/bin/nvcc') if os.path.exists(p)), None)
KERNEL_CU = r"""
template <class T> __global__ void fill(T *p, T v, char c, double d) { *p = v + c + d; }
template __global__ void fill<int>(int *, int, char, double);
extern "C" __global__ void second(short s) {}
"""


@case()
def cubin_and_fatbin_names_and_parameters():
    if not NVCC:
        print('SKIP no nvcc')
        return
    d = Cuda()
    with tempfile.TemporaryDirectory() as t:
        open(f'{t}/k.cu', 'w').write(KERNEL_CU)
        both = ['-gencode', 'arch=compute_90,code=sm_90', '-gencode', 'arch=compute_90,code=compute_90']
        ptx = ['-gencode', 'arch=compute_90,code=compute_90']
        for name, options in (('cubin', ['-cubin', '-arch=sm_90']), ('fatbin', ['-fatbin'] + both),
                              ('plain PTX fatbin', ['-fatbin', '--no-compress'] + ptx), ('zstd PTX fatbin', ['-fatbin', '-Xfatbin', '-compress-all'] + ptx),
                              ('LZ4 PTX fatbin', ['-fatbin', '--compress-mode=speed', '-Xfatbin', '-compress-all'] + ptx)):
            r = subprocess.run([NVCC, *options, '-o', f'{t}/k', f'{t}/k.cu'], capture_output=True, text=True)
            if r.returncode:
                print('#', name, 'not made by this nvcc')
                continue
            image = open(f'{t}/k', 'rb').read()
            module = d.new('cuModuleLoadData', image)
            f = d.new('cuModuleGetFunction', module, b'_Z4fillIiEvPT_S0_cd')
            want(name, parameters(d, f), [(0, 8), (8, 4), (12, 1), (16, 8)])
            library = d.new('cuLibraryLoadData', image, None, None, 0, None, None, 0)
            kernel = d.new('cuLibraryGetKernel', library, b'second')
            want(name, d.new('cuKernelGetName', kernel, kind=C.c_char_p).value, b'second')
            want(name, d.launch(kernel), 0)
            f = d.new('cuKernelGetFunction', kernel)
            want(name, d.launch(f), 0)
            d('cuLibraryUnload', library)


# ---- launches, times ----------------------------------------------------------------------------------------------
def build_kernels():
    library = os.path.join(os.environ['SIM_TEST_DIR'], 'kernels.so')
    source = os.path.join(os.environ['SIM_TEST_DIR'], 'kernels.c')
    open(source, 'w').write(KERNELS)
    subprocess.run([os.environ.get('CC', 'cc'), '-shared', '-fPIC', '-o', library, source], check=True)
    os.environ['SIM_KERNELS'] = library
    C.CDLL(None).setenv(b'SIM_KERNELS', library.encode(), 1)


def check_host_kernel(lines):
    launch = next(l for l in lines if l['op'] == 'launch')
    want('launch', (launch['name'], launch['grid'], launch['block'], launch['api'], launch['result']),
         ('add', [4, 1, 1], [8, 1, 1], 'cuLaunchKernel', 0))
    copy = next(l for l in lines if l['op'] == 'copy' and l['kind'] == 'DtoH')
    near('copy after the kernel', copy['start_ns'] - launch['end_ns'], 0, 1e9)


@case(check=check_host_kernel)
def kernels_are_host_functions_in_stream_order():
    build_kernels()
    d = Cuda()
    s = d.stream()
    slow, f = d.function(b'plain'), d.function(b'add')
    p = d.alloc(400)
    d('cuMemsetD32_v2', p, 5, C.c_size_t(100))
    n, blob, byte = C.c_int(100), (C.c_int * 3)(0, 0, 1000), C.c_ubyte(7)
    params = (C.c_void_p * 4)(*(C.addressof(x) for x in (p, n, blob, byte)))
    t = time.monotonic()
    want('launch', d.launch(f, s, params, (4, 1, 1), (8, 1, 1)), 0)
    for x in (n, blob, byte):
        C.memset(C.addressof(x), 0, C.sizeof(x))  # the launch has its own copies
    want('launch', d.launch(slow, s), 0)
    near('launches return at once', ms_since(t), 0, 15)
    want('not ready', d.get('cuStreamQuery', s), 600)
    out = (C.c_int * 100)()
    d('cuMemcpyDtoHAsync_v2', out, p, C.c_size_t(400), s)
    d('cuStreamSynchronize', s)
    near('it took what the function takes', ms_since(t), 20, 1000)
    want('result', set(out), {5 + 32 + 1000 + 7})


def check_times(lines):
    launches = [l for l in lines if l['op'] == 'launch']
    for a, b in zip(launches, launches[1:]):
        want('one after another', b['start_ns'] >= a['end_ns'], True)
    want('durations', {l['end_ns'] - l['start_ns'] for l in launches}, {5000000})


@case(SIM_KERNEL_US='5000', check=check_times)
def streams_take_time_and_events_tell_it():
    d = Cuda()
    f, s = d.function(b'plain'), d.stream()
    a, b, untimed = d.event(), d.event(), d.event(2)
    want('never recorded', d.get('cuEventElapsedTime', C.byref(C.c_float()), a, b), 400)
    t = time.monotonic()
    d('cuEventRecord', a, s)
    for _ in range(4):
        want('launch', d.launch(f, s), 0)
    d('cuEventRecord', b, s)
    near('issuing', ms_since(t), 0, 19)
    want('event', d.get('cuEventQuery', b), 600)
    want('elapsed', d.get('cuEventElapsedTime', C.byref(C.c_float()), a, b), 600)
    d('cuEventSynchronize', b)
    near('wall time', ms_since(t), 20, 5000)
    near('elapsed', d.elapsed(a, b), 20, 1000)
    want('elapsed back', d.elapsed(b, a), -d.elapsed(a, b))
    d('cuEventRecord', untimed, s)
    want('without timing', d.get('cuEventElapsedTime', C.byref(C.c_float()), a, untimed), 400)


@case(SIM_KERNEL_US='60000')
def streams_overlap_wait_for_events_and_for_the_legacy_stream():
    d = Cuda()
    f = d.function(b'plain')
    e = [d.event() for _ in range(8)]

    def timed(pieces):
        """[(stream, event to wait for or None, event to record)], the last event's time in ms after the first."""
        d('cuCtxSynchronize')
        for stream, before, after in pieces:
            if before:
                d('cuStreamWaitEvent', stream, before, 0)
            want('launch', d.launch(f, stream), 0)
            d('cuEventRecord', after, stream)
        d('cuCtxSynchronize')
        return [round(d.elapsed(pieces[0][2], x[2]), 1) for x in pieces]
    free1, free2, block1, block2 = d.stream(1), d.stream(1), d.stream(0), d.stream(0)
    close = lambda what, got, expected: [near(what, g, x - 1, x + 55) for g, x in zip(got, expected)]
    close('side by side', timed([(free1, None, e[0]), (free2, None, e[1])]), [0, 0])
    close('event', timed([(free1, None, e[0]), (free2, e[0], e[1])]), [0, 60])
    close('blocking, legacy, blocking', timed([(block1, None, e[0]), (None, None, e[1]), (block2, None, e[2])]), [0, 60, 120])
    close('legacy does not hold non-blocking', timed([(None, None, e[0]), (free1, None, e[1])]), [0, 0])
    per_thread = C.c_void_p(2)
    close('per-thread waits for legacy', timed([(None, None, e[0]), (per_thread, None, e[1]), (block1, None, e[2])]), [0, 60, 60])


@case(check=lambda lines: want('streams', [l['stream'] for l in lines], ['legacy', 'per-thread', 'legacy', 'per-thread']))
def null_stream_means_what_the_symbol_says():
    d = Cuda()
    f = d.function(b'plain')
    for name, stream in (('cuLaunchKernel', None), ('cuLaunchKernel_ptsz', None), ('cuLaunchKernel_ptsz', C.c_void_p(1)),
                         ('cuLaunchKernel', C.c_void_p(2))):
        want(name, d.launch(f, stream, name=name), 0)


def check_failed(lines):
    want('results', [(l['op'], l['result']) for l in lines],
         [('launch', 0), ('launch', 700), ('launch', 0), ('alloc', 2), ('alloc', 2), ('launch', 1), ('launch', 400)])


@case(SIM_FAIL='cuLaunchKernel:2:700,cuMemAlloc_v2:*:2', check=check_failed)
def errors_on_demand_and_failed_calls_in_the_ledger():
    d = Cuda()
    f = d.function(b'plain')
    want('launches', [d.launch(f) for _ in range(3)], [0, 700, 0])
    want('allocations', [d.get('cuMemAlloc_v2', C.byref(C.c_uint64()), C.c_size_t(10)) for _ in range(2)], [2, 2])
    want('no block', d.launch(f, block=(0, 1, 1)), 1)
    want('no function', d.launch(d.ctx), 400)


@case()
def host_functions_hold_their_stream_alone():
    d = Cuda()
    s, other, e = d.stream(), d.stream(), d.event()
    gate, seen = threading.Event(), []
    HOST = C.CFUNCTYPE(None, C.c_void_p)
    first, second = HOST(lambda _: gate.wait(10)), HOST(lambda x: seen.append(x))
    p = d.alloc(4)
    d('cuMemsetD32_v2', p, 1, C.c_size_t(1))
    d('cuLaunchHostFunc', s, first, None)
    d('cuMemsetD32Async', p, 2, C.c_size_t(1), s)
    d('cuLaunchHostFunc', s, second, C.c_void_p(42))
    d('cuEventRecord', e, s)
    d('cuStreamWaitEvent', other, e, 0)
    d('cuMemsetD32Async', p, 3, C.c_size_t(1), other)
    independent = d.stream()
    out = C.c_int()
    d('cuMemcpyDtoHAsync_v2', C.byref(out), p, C.c_size_t(4), independent)
    d('cuStreamSynchronize', independent)
    want('held', (out.value, seen, d.get('cuEventQuery', e), d.get('cuStreamQuery', other)), (1, [], 600, 600))
    gate.set()
    d('cuStreamSynchronize', other)
    d('cuMemcpyDtoH_v2', C.byref(out), p, C.c_size_t(4))
    want('done', (out.value, seen, d.get('cuEventQuery', e)), (3, [42], 0))


class Copy2D(C.Structure):
    _fields_ = [(n, t) for side in ('src', 'dst') for n, t in ((side + 'X', C.c_size_t), (side + 'Y', C.c_size_t), (side + 'Type', C.c_int),
                (side + 'Host', C.c_void_p), (side + 'Device', C.c_uint64), (side + 'Array', C.c_void_p), (side + 'Pitch', C.c_size_t))] + [
                ('width', C.c_size_t), ('height', C.c_size_t)]


def check_copies(lines):
    want('copies', [(l['op'], l.get('kind'), l['bytes'], l['result']) for l in lines if l['op'] in ('copy', 'memset')],
         [('memset', None, 512, 0), ('copy', 'HtoD', 24, 0), ('copy', 'DtoH', 512, 0), ('copy', 'DtoD', 100, 0), ('copy', 'HtoD', 4, 0),
          ('copy', 'PtoP', 8, 0), ('copy', 'HtoD', 600, 1), ('memset', None, 24, 0)])


@case(SIM_DEVICES='2', check=check_copies)
def copies_and_sets_do_their_work():
    d = Cuda()
    p, q = d.alloc(512), d.alloc(512)
    d('cuMemsetD8_v2', p, 0xee, C.c_size_t(512))
    block = (C.c_ubyte * 24)(*range(24))
    c = Copy2D(srcType=1, srcHost=C.addressof(block), srcPitch=8, dstType=2, dstDevice=p.value, dstX=2, dstY=1, dstPitch=64, width=8, height=3)
    d('cuMemcpy2D_v2', C.byref(c))
    out = (C.c_ubyte * 512)()
    d('cuMemcpyDtoH_v2', out, p, C.c_size_t(512))
    expected = bytearray(b'\xee' * 512)
    for y in range(3):
        expected[(y + 1) * 64 + 2:(y + 1) * 64 + 10] = bytes(range(y * 8, y * 8 + 8))
    want('2D', bytes(out), bytes(expected))
    d('cuMemcpyDtoD_v2', q, p, C.c_size_t(100))
    d('cuMemcpy', q, C.c_uint64(C.addressof(block)), C.c_size_t(4))
    want('DtoD', C.string_at(q.value, 100), bytes(range(4)) + bytes(expected[4:100]))
    other = d.new('cuDevicePrimaryCtxRetain', 1)
    d('cuCtxPushCurrent_v2', other)
    r = d.alloc(8)
    d('cuMemcpyPeer', r, other, p, d.ctx, C.c_size_t(8))
    want('out of bounds', d.get('cuMemcpyHtoD_v2', p, block, C.c_size_t(600)), 1)
    d('cuMemsetD2D16_v2', q, C.c_size_t(256), 0x1234, C.c_size_t(6), C.c_size_t(2))
    d('cuCtxSynchronize')
    want('2D set', C.string_at(q.value + 256, 12), b'\x34\x12' * 6)


def check_batch(lines):
    want('lines', [(l['op'], l['kind'], l['bytes'], l['api']) for l in lines if l['op'] == 'copy'],
         [('copy', 'HtoD', 8, 'cuMemcpyBatchAsync_v2'), ('copy', 'DtoD', 8, 'cuMemcpyBatchAsync_v2')])


@case(check=check_batch)
def batches_are_copies_one_by_one():
    d = Cuda()
    s = d.stream()
    p, q, block = d.alloc(8), d.alloc(8), C.create_string_buffer(b'12345678')
    array = lambda *v: (C.c_uint64 * len(v))(*v)
    attributes, starts = (C.c_ubyte * 64)(1), array(0)
    args = (array(p.value, q.value), array(C.addressof(block), p.value), array(8, 8), C.c_size_t(2), attributes, starts, C.c_size_t(1))
    want('default stream', d.get('cuMemcpyBatchAsync_v2', *args, None), 1)
    d('cuMemcpyBatchAsync_v2', *args, s)
    d('cuStreamSynchronize', s)
    want('bytes', C.string_at(q.value, 8), b'12345678')


# ---- other memory -------------------------------------------------------------------------------------------------
MIB2 = 2 << 20


def check_vmm(lines):
    want('lines', [(l['op'], l['kind'], l['bytes'], l['result']) for l in lines if l['op'] in ('alloc', 'free', 'map', 'unmap')],
         [('alloc', 'physical', MIB2, 0), ('alloc', 'physical', MIB2, 0), ('alloc', 'physical', MIB2, 2)] + [('map', 'mapping', MIB2, 0)] * 3 +
         [('free', 'physical', MIB2, 0), ('unmap', 'mapping', 3 * MIB2, 0), ('free', 'physical', MIB2, 0)])


@case(SIM_MEM_MB='5', check=check_vmm)
def virtual_memory_management():
    d = Cuda()
    free, total = C.c_size_t(), C.c_size_t()
    left = lambda: (d('cuMemGetInfo_v2', C.byref(free), C.byref(total)), total.value - free.value)[1]
    prop = (C.c_int * 16)(1, 1, 1, 0)
    size, zero = C.c_size_t(MIB2), C.c_uint64(0)
    one, two = (d.new('cuMemCreate', size, prop, zero, kind=C.c_uint64) for _ in range(2))
    want('third', d.get('cuMemCreate', C.byref(C.c_uint64()), size, prop, zero), 2)
    at = d.new('cuMemAddressReserve', C.c_size_t(3 * MIB2), C.c_size_t(0), zero, zero, kind=C.c_uint64)
    parts = [C.c_uint64(at.value + i * MIB2) for i in range(3)]
    for part, handle in zip(parts, (one, two, one)):
        d('cuMemMap', part, size, C.c_size_t(0), handle, zero)
    access = (C.c_int * 3)(1, 0, 3)
    d('cuMemSetAccess', at, C.c_size_t(3 * MIB2), access, C.c_size_t(1))
    d('cuMemsetD8_v2', at, 7, C.c_size_t(2 * MIB2))  # over the border of two mappings
    d('cuCtxSynchronize')
    want('an alias', C.string_at(parts[2].value, 4), b'\7' * 4)
    d('cuMemRelease', one)
    want('still mapped', left(), 2 * MIB2)
    want('in use', d.get('cuMemAddressFree', at, C.c_size_t(3 * MIB2)), 1)
    d('cuMemUnmap', at, C.c_size_t(3 * MIB2))
    want('released and unmapped', left(), MIB2)
    d('cuMemRelease', two)
    want('all', left(), 0)
    d('cuMemAddressFree', at, C.c_size_t(3 * MIB2))


def check_arrays(lines):
    want('lines', [(l['op'], l['kind'], l['bytes'], l['result']) for l in lines],
         [('alloc', 'array', 64, 0), ('copy', 'HtoA', 16, 0), ('copy', 'AtoH', 64, 0), ('alloc', 'mipmap', 64 + 16 + 4, 0),
          ('free', 'mipmap', 84, 0), ('free', 'array', 64, 0)])
    want('by handle', lines[0]['address'], lines[5]['address'])


@case(check=check_arrays)
def arrays_and_mipmapped_arrays():
    d = Cuda()

    class Desc(C.Structure):
        _fields_ = [('w', C.c_size_t), ('h', C.c_size_t), ('d', C.c_size_t), ('format', C.c_int), ('channels', C.c_uint), ('flags', C.c_uint)]
    a = d.new('cuArray3DCreate_v2', C.byref(Desc(4, 4, 0, 0x20, 1, 0)))
    block, out = (C.c_ubyte * 16)(*range(16)), (C.c_ubyte * 64)()
    c = Copy2D(srcType=1, srcHost=C.addressof(block), srcPitch=8, dstType=3, dstArray=a.value, dstX=8, dstY=2, width=8, height=2)
    d('cuMemcpy2D_v2', C.byref(c))
    d('cuMemcpy2D_v2', C.byref(Copy2D(srcType=3, srcArray=a.value, dstType=1, dstHost=C.addressof(out), dstPitch=16, width=16, height=4)))
    want('rows', bytes(out), bytes(40) + bytes(range(8)) + bytes(8) + bytes(range(8, 16)))
    m = d.new('cuMipmappedArrayCreate', C.byref(Desc(4, 4, 0, 0x20, 1, 0)), 3)
    level = d.new('cuMipmappedArrayGetLevel', m, 1)
    got = Desc()
    d('cuArray3DGetDescriptor_v2', C.byref(got), level)
    want('level', (got.w, got.h), (2, 2))
    d('cuMipmappedArrayDestroy', m)
    d('cuArrayDestroy', a)
    want('stale', d.get('cuArray3DGetDescriptor_v2', C.byref(got), a), 400)


def check_aliases(lines):
    want('lines', [(l['op'], l['kind'], l['bytes'], l['result']) for l in lines if l['op'] in ('alloc', 'map', 'unmap', 'free')],
         [('alloc', 'device', 5000, 0), ('map', 'ipc', 0, 201), ('map', 'external', 4096, 0), ('free', 'external', 4096, 0)])


@case(check=check_aliases)
def memory_of_other_processes_and_apis():
    d = Cuda()
    p = d.alloc(5000)
    d('cuMemsetD8_v2', p, 5, C.c_size_t(5000))
    handle = (C.c_ubyte * 64)()
    d('cuIpcGetMemHandle', handle, p)

    class Handle(C.Structure):
        _fields_ = [('bytes', C.c_ubyte * 64)]
    d.lib.cuIpcOpenMemHandle_v2.argtypes = [C.c_void_p, Handle, C.c_uint]
    q = C.c_uint64()
    want('own handle', d.lib.cuIpcOpenMemHandle_v2(C.byref(q), Handle(handle), 1), 201)
    code = (f"import ctypes as C; d = C.CDLL('{BUILD}/sim/libcuda.so.1')\n"
            "class H(C.Structure): _fields_ = [('b', C.c_ubyte * 64)]\n"
            "c, q = C.c_void_p(), C.c_uint64(); d.cuInit(0); d.cuCtxCreate_v2(C.byref(c), 0, 0)\n"
            "d.cuIpcOpenMemHandle_v2.argtypes = [C.c_void_p, H, C.c_uint]\n"
            f"assert d.cuIpcOpenMemHandle_v2(C.byref(q), H((C.c_ubyte * 64)(*bytes.fromhex('{bytes(handle).hex()}'))), 1) == 0\n"
            "assert C.string_at(q.value, 5000) == b'\\5' * 5000; C.memset(q.value + 4999, 9, 1)\n"
            "assert d.cuIpcCloseMemHandle(q) == 0 and d.cuIpcCloseMemHandle(q) == 1")
    subprocess.run([sys.executable, '-c', code], check=True)
    want('what the other wrote', C.string_at(p.value + 4998, 2), b'\5\x09')
    fd = os.memfd_create('external')
    os.write(fd, b'external' + bytes(4088))
    desc = (C.c_uint64 * 16)(1, fd, 0, 4096)
    memory = d.new('cuImportExternalMemory', desc)
    d('cuExternalMemoryGetMappedBuffer', C.byref(q), memory, (C.c_uint64 * 16)(0, 4096))
    want('mapped', C.string_at(q.value, 8), b'external')
    d('cuMemFree_v2', q)
    d('cuDestroyExternalMemory', memory)


@case(check=lambda lines: want('launch', [l['result'] for l in lines], [0]))
def green_contexts():
    d = Cuda()
    resource, some, desc = (C.c_ubyte * 256)(), (C.c_ubyte * 512)(), C.c_void_p()
    d('cuDeviceGetDevResource', 0, resource, 1)
    n = C.c_uint(1)
    d('cuDevSmResourceSplitByCount', some, C.byref(n), resource, None, 0, 8)
    d('cuDevResourceGenerateDesc', C.byref(desc), some, 1)
    green = d.new('cuGreenCtxCreate', desc, 0, 1)
    s = d.new('cuGreenCtxStreamCreate', green, 1, 0)
    want('its own', (d.get('cuStreamGetGreenCtx', s, C.byref(desc)), desc.value), (0, green.value))
    f = d.function(b'plain')
    want('launch', d.launch(f, s), 0)
    d('cuGreenCtxDestroy', green)
    want('stale', d.get('cuStreamSynchronize', s), 400)


# ---- capture and graphs -------------------------------------------------------------------------------------------
def check_graph(lines):
    want('lines', [(l['op'], l.get('nodes'), l['result']) for l in lines],
         [('alloc', None, 0), ('memset', None, 0)] + [('graph_launch', 4, 0)] * 2 + [('copy', None, 0), ('graph_launch', 0, 1)])
    near('critical path', lines[2]['end_ns'] - lines[2]['start_ns'], 2 * 3000000 + 1000, 2 * 3000000 + 3000)


@case(SIM_KERNEL_US='3000', check=check_graph)
def a_captured_graph_runs_when_it_is_launched():
    d = Cuda()
    s, side, e, back = d.stream(), d.stream(), d.event(), d.event()
    f = d.function(b'plain')
    p = d.alloc(4)
    d('cuMemsetD32_v2', p, 1, C.c_size_t(1))
    d('cuStreamBeginCapture_v2', s, 0)
    want('state', status(d, s), (0, 1))
    want('launch', d.launch(f, s), 0)
    d('cuEventRecord', e, s)
    d('cuStreamWaitEvent', side, e, 0)
    want('side launch', d.launch(f, side), 0)
    want('launch', d.launch(f, s), 0)
    d('cuEventRecord', back, side)
    d('cuStreamWaitEvent', s, back, 0)
    d('cuMemsetD32Async', p, 9, C.c_size_t(1), s)
    graph = C.c_void_p()
    d('cuStreamEndCapture', s, C.byref(graph))
    want('nothing was done', C.c_int.from_address(p.value).value, 1)
    n = C.c_size_t()
    d('cuGraphGetNodes', graph, None, C.byref(n))
    want('nodes', n.value, 4)
    d('cuGraphGetEdges', graph, None, None, C.byref(n))
    want('edges', n.value, 4)
    d('cuGraphGetRootNodes', graph, None, C.byref(n))
    want('roots', n.value, 1)
    run = d.new('cuGraphInstantiateWithFlags', graph, C.c_uint64(0))
    d('cuGraphDestroy', graph)
    d('cuGraphLaunch', run, s)
    d('cuGraphLaunch', run, s)
    d('cuStreamSynchronize', s)
    out = C.c_int()
    d('cuMemcpyDtoH_v2', C.byref(out), p, C.c_size_t(4))
    want('done', out.value, 9)
    d('cuGraphExecDestroy', run)
    want('stale', d.get('cuGraphLaunch', run, s), 1)


def status(d, s):
    out = C.c_int(-1)
    return d.get('cuStreamIsCapturing', s, C.byref(out)), out.value


@case()
def capture_rules():
    d = Cuda()
    f = d.function(b'plain')
    s, other, e, graph = d.stream(0), d.stream(1), d.event(), C.c_void_p()
    end = lambda: d.get('cuStreamEndCapture', s, C.byref(graph))
    begin = lambda mode=2: d('cuStreamBeginCapture_v2', s, mode)
    want('legacy', d.get('cuStreamBeginCapture_v2', None, 0), 900)
    want('end without begin', end(), 401)
    begin()
    want('twice', d.get('cuStreamBeginCapture_v2', s, 0), 401)
    want('status', status(d, s), (0, 1))
    want('legacy asks', status(d, None), (906, -1))
    want('and does no harm', status(d, s), (0, 1))
    want('work on legacy', d.launch(f), 906)
    want('invalidated', status(d, s), (0, 2))
    want('launch then', d.launch(f, s), 901)
    want('end', (end(), graph.value), (901, None))
    want('over', status(d, s), (0, 0))
    for what, call in (('synchronise', lambda: d.get('cuStreamSynchronize', s)), ('query', lambda: d.get('cuStreamQuery', s)),
                       ('context', lambda: d.get('cuCtxSynchronize'))):
        begin()
        want(what, call(), 900)
        want(what + ' invalidates', end(), 901)
    begin()
    d('cuEventRecord', e, s)
    want('captured event', d.get('cuEventElapsedTime', C.byref(C.c_float()), e, e), 907)
    want('query it', d.get('cuEventQuery', e), 907)
    want('still active', status(d, s), (0, 1))
    want('end', end(), 0)
    begin()
    d('cuEventRecord', e, other)
    want('event from outside', d.get('cuStreamWaitEvent', s, e, 0), 905)
    want('end', end(), 901)
    begin()
    d('cuEventRecord', e, s)
    d('cuStreamWaitEvent', other, e, 0)
    want('joined', status(d, other), (0, 1))
    want('launch', d.launch(f, other), 0)
    want('ended by the wrong stream', d.get('cuStreamEndCapture', other, C.byref(graph)), 903)
    want('end', end(), 901)
    begin()
    d('cuEventRecord', e, s)
    d('cuStreamWaitEvent', other, e, 0)
    want('launch', d.launch(f, other), 0)
    want('unjoined', end(), 904)
    want('left', status(d, other), (0, 0))


@case()
def capture_modes_of_threads():
    d = Cuda()
    s, graph = d.stream(), C.c_void_p()
    alloc = lambda: d.get('cuMemAlloc_v2', C.byref(C.c_uint64()), C.c_size_t(8))

    def elsewhere(call):
        out = []

        def run():
            d('cuCtxSetCurrent', d.ctx)
            out.append(call())
        t = threading.Thread(target=run)
        t.start()
        t.join()
        return out[0]
    for mode, here, there in ((0, 900, 900), (1, 900, 0), (2, 0, 0)):
        for where, expected in ((lambda c: c(), here), (elsewhere, there)):
            d('cuStreamBeginCapture_v2', s, mode)
            want(f'mode {mode}', where(alloc), expected)
            want(f'mode {mode} end', d.get('cuStreamEndCapture', s, C.byref(graph)), 901 if expected else 0)

    def relaxed():
        mode = C.c_int(2)
        d('cuThreadExchangeStreamCaptureMode', C.byref(mode))
        want('old mode', mode.value, 0)
        return alloc()
    d('cuStreamBeginCapture_v2', s, 0)
    want('a relaxed thread may', elsewhere(relaxed), 0)
    want('another thread may not end it', elsewhere(lambda: d.get('cuStreamEndCapture', s, C.byref(graph))), 908)


def check_graph_memory(lines):
    want('lines', [(l['op'], l.get('kind'), l['result']) for l in lines],
         [('alloc', 'graph', 0), ('free', 'graph', 0), ('graph_launch', None, 0), ('alloc', 'graph', 0), ('graph_launch', None, 0),
          ('graph_launch', None, 1), ('free', 'graph', 0)])
    want('api', lines[0]['api'], 'cuGraphLaunch')


@case(check=check_graph_memory)
def memory_nodes_live_with_their_launch():
    d = Cuda()
    s, graph = d.stream(), C.c_void_p()

    def captured(free):
        d('cuStreamBeginCapture_v2', s, 2)
        p = d.new('cuMemAllocAsync', 1000, s, kind=C.c_uint64)
        if free:
            d('cuMemFreeAsync', p, s)
        d('cuStreamEndCapture', s, C.byref(graph))
        return p, d.new('cuGraphInstantiateWithFlags', graph, C.c_uint64(0))
    p, run = captured(True)
    d('cuGraphLaunch', run, s)
    q, keep = captured(False)
    d('cuGraphLaunch', keep, s)
    want('still alive', d.get('cuGraphLaunch', keep, s), 1)
    d('cuMemFree_v2', q)


# ---- ledger -------------------------------------------------------------------------------------------------------
def check_killed(lines):
    want('launches', len([l for l in lines if l['op'] == 'launch']), 5000)


@case(SIM_KERNEL_US='0', check=check_killed)
def the_ledger_survives_sigkill():
    d = Cuda()
    f = d.function(b'plain')
    for _ in range(5000):
        d.launch(f)
    sys.stdout.write('KILLED')
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def check_threads(lines):
    launches = [l for l in lines if l['op'] == 'launch']
    want('launches', len(launches), 8 * 500)
    by_thread = {}
    for l in launches:
        by_thread.setdefault(l['tid'], set()).add(l['stream'])
    want('a stream a thread', sorted(len(s) for s in by_thread.values()), [1] * 8)


@case(SIM_KERNEL_US='1', check=check_threads)
def threads_are_told_apart():
    d = Cuda()
    f = d.function(b'plain')

    def run():
        d('cuCtxSetCurrent', d.ctx)
        s = d.stream()
        for _ in range(500):
            want('launch', d.launch(f, s), 0)
        d('cuStreamSynchronize', s)
        barrier.wait()
    barrier = threading.Barrier(8)
    all_ = [threading.Thread(target=run) for _ in range(8)]
    [t.start() for t in all_]
    [t.join() for t in all_]


@case(check=lambda lines: want('lines of the parent', len(lines), 1))
def a_forked_child_must_not_use_the_driver():
    d = Cuda()
    d.alloc(8)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (d.get('cuMemAlloc_v2', C.byref(C.c_uint64()), C.c_size_t(8)), d.get('cuInit', 0)) == (3, 3) else 1)
    want('child', os.waitpid(pid, 0)[1], 0)
    child = f"{os.environ['SIM_LEDGER']}.{pid}"
    lines = [json.loads(l) for l in open(child) if l.strip()]
    want('lines of the child', [(l['result'], l['pid']) for l in lines], [(3, pid)])


HOSTILE = b'a"b\\c\x01\xff\xc3\xa9'


@case(check=lambda lines: (want('name', lines[0]['name'], 'a"b\\c\x01\ufffd\u00e9'), want('bytes', lines[0]['name_hex'], HOSTILE.hex())))
def hostile_names():
    """A cubin by hand: three sections, one symbol marked as a kernel."""
    import struct
    names = b'\0.symtab\0.strtab\0' + HOSTILE + b'\0'
    symbols = bytes(24) + struct.pack('<IBBHQQ', 17, 0x12, 0x10, 1, 0, 4)
    header = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\2\1\1' + bytes(9), 2, 190, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 2)
    at = 64 + 3 * 64
    section = lambda name, kind, offset, size, link: struct.pack('<IIQQQQIIQQ', name, kind, 0, 0, offset, size, link, 0, 1, 24)
    image = header + bytes(64) + section(1, 2, at, len(symbols), 2) + section(9, 3, at + len(symbols), len(names), 0) + symbols + names
    d = Cuda()
    module = d.new('cuModuleLoadData', image)
    want('launch', d.launch(d.new('cuModuleGetFunction', module, HOSTILE)), 0)


# ---- the runner ---------------------------------------------------------------------------------------------------
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
    bad = 0
    for i, (name, _, env, check) in enumerate(CASES):
        with tempfile.TemporaryDirectory() as t:
            full = {k: v for k, v in os.environ.items() if not k.startswith('SIM_') and k != 'LD_PRELOAD'}
            full.update(env, SIM_LEDGER=f'{t}/ledger', SIM_TEST_DIR=t)
            p = subprocess.run([sys.executable, __file__, '--case', str(i)], env=full, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
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


if __name__ == '__main__':
    sys.exit(main())
