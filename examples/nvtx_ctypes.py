#!/usr/bin/env python3
"""NVTX ranges from Python without a package: through ctypes, around calls of the CUDA driver.

usage: nvtx_ctypes.py [STEPS]      run it with LD_PRELOAD=libcgtrace.so

The toolkit holds NVTX as a library too: libnvtx3interop.so.1, in older ones libnvToolsExt.so.1. Exit status 77: neither is found, or there
is no driver."""
import contextlib
import ctypes
import os
import sys


def library(*names):
    folders = ['', *(os.path.join(home, lib, '') for home in (os.environ.get('CUDA_HOME'), '/usr/local/cuda') if home for lib in ('lib64', 'lib'))]
    for path in (folder + name for name in names for folder in folders):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(path)
    print(f'nvtx_ctypes: none of {", ".join(names)} is found', file=sys.stderr)
    sys.exit(77)


nvtx = library('libnvtx3interop.so.1', 'libnvToolsExt.so.1')
cuda = library('libcuda.so.1')


@contextlib.contextmanager
def span(name):
    nvtx.nvtxRangePushA(name.encode())
    try:
        yield
    finally:
        nvtx.nvtxRangePop()


def check(result):
    if result:
        sys.exit(f'nvtx_ctypes: a driver call failed with {result}')


def step(pointer, host):
    size = ctypes.c_size_t(len(host))
    with span('forward'):
        check(cuda.cuMemcpyHtoD_v2(pointer, host, size))
    with span('backward'):
        check(cuda.cuMemsetD8_v2(pointer, 0, size))
    with span('optimizer'):
        check(cuda.cuMemcpyDtoH_v2(host, pointer, size))


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    context, pointer, host = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.create_string_buffer(4096)
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(len(host))))
    for number in range(1, steps + 1):
        with span(f'train_step/{number}'):
            step(pointer, host)
    check(cuda.cuMemFree_v2(pointer))
    check(cuda.cuDevicePrimaryCtxRelease_v2(0))
    print(f'{steps} steps')


if __name__ == '__main__':
    main()
