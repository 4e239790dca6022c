#!/usr/bin/env python3
"""The simulated driver: look-ups, images, launches, time, copies, errors, ledger."""
import ctypes as C
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness import BUILD, NVCC, PTX, Copy2D, Cuda, Gate, case, main, ms_since, near, status, want
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
    want('copy after the kernel', copy['start_ns'] >= launch['end_ns'], True)


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
    gate = Gate(d, s)
    want('launch', d.launch(f, s, params, (4, 1, 1), (8, 1, 1)), 0)
    for x in (n, blob, byte):
        C.memset(C.addressof(x), 0, C.sizeof(x))  # the launch has its own copies
    want('launch', d.launch(slow, s), 0)
    want('launches return before they run', (gate.passed, d.get('cuStreamQuery', s)), ([], 600))
    gate.open()
    out = (C.c_int * 100)()
    d('cuMemcpyDtoHAsync_v2', out, p, C.c_size_t(400), s)
    d('cuStreamSynchronize', s)
    want('it took what the function takes', ms_since(t) >= 20, True)
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
    gate = Gate(d, s)
    t = time.monotonic()
    d('cuEventRecord', a, s)
    for _ in range(4):
        want('launch', d.launch(f, s), 0)
    d('cuEventRecord', b, s)
    want('all are issued before one runs', gate.passed, [])
    want('event', d.get('cuEventQuery', b), 600)
    want('elapsed', d.get('cuEventElapsedTime', C.byref(C.c_float()), a, b), 600)
    gate.open()
    d('cuEventSynchronize', b)
    want('wall time', ms_since(t) >= 20, True)
    near('elapsed', d.elapsed(a, b), 20, 5000)
    want('elapsed back', d.elapsed(b, a), -d.elapsed(a, b))
    d('cuEventRecord', untimed, s)
    want('without timing', d.get('cuEventElapsedTime', C.byref(C.c_float()), a, untimed), 400)


KERNEL_MS = 50


@case(SIM_KERNEL_US=str(KERNEL_MS * 1000))
def streams_overlap_wait_for_events_and_for_the_legacy_stream():
    d = Cuda()
    f = d.function(b'plain')
    e = [d.event() for _ in range(8)]

    def timed(pieces):
        """[(stream, event to wait for or None, event to record)], the last event's time in ms after the first. All are issued while a kernel runs that they wait for;
        where it did not last long enough, they are issued again."""
        running = False
        while not running:
            d('cuCtxSynchronize')
            want('launch', d.launch(f, held), 0)
            d('cuEventRecord', begin, held)
            for stream, before, after in pieces:
                d('cuStreamWaitEvent', stream, begin, 0)
                if before:
                    d('cuStreamWaitEvent', stream, before, 0)
                want('launch', d.launch(f, stream), 0)
                d('cuEventRecord', after, stream)
            running = d.get('cuEventQuery', begin) == 600
        d('cuCtxSynchronize')
        return [round(d.elapsed(pieces[0][2], x[2]), 1) for x in pieces]
    held, begin = d.stream(1), d.event()
    free1, free2, block1, block2 = d.stream(1), d.stream(1), d.stream(0), d.stream(0)
    close = lambda what, got, expected: want(what, got, [x * KERNEL_MS for x in expected])
    close('side by side', timed([(free1, None, e[0]), (free2, None, e[1])]), [0, 0])
    close('event', timed([(free1, None, e[0]), (free2, e[0], e[1])]), [0, 1])
    close('blocking, legacy, blocking', timed([(block1, None, e[0]), (None, None, e[1]), (block2, None, e[2])]), [0, 1, 2])
    close('legacy does not hold non-blocking', timed([(None, None, e[0]), (free1, None, e[1])]), [0, 0])
    per_thread = C.c_void_p(2)
    close('per-thread waits for legacy', timed([(None, None, e[0]), (per_thread, None, e[1]), (block1, None, e[2])]), [0, 1, 1])


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


def check_many(lines):
    count = lambda op: sum(l['op'] == op for l in lines)
    want('lines', [count(op) for op in ('launch', 'alloc', 'free', 'memset', 'copy')], [6 * 215, 6 * 101, 6 * 101, 6 * 101, 6])


@case(SIM_KERNEL_US='1', SIM_KERNELS=f'{BUILD}/sim/check_kernels.so', check=check_many)
def many_threads_and_workers():
    env = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'TSAN_OPTIONS')}
    p = subprocess.run([f'{BUILD}/sim/check_threads'], env=dict(env, LD_LIBRARY_PATH=f'{BUILD}/sim'), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    want('exit', (p.returncode, p.stdout), (0, ''))


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


if __name__ == '__main__':
    sys.exit(main())
