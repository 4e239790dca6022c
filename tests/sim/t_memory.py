#!/usr/bin/env python3
"""The memory of the simulated driver, of every kind."""
import ctypes as C
import os
import subprocess
import sys

from harness import BUILD, Copy2D, Cuda, case, main, want


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
          ('alloc', 'pool', 5000, None), ('free', 'pool', 5000, None)])
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
    q = d.new('cuMemAllocFromPoolAsync', 5000, own, s, kind=C.c_uint64)
    d('cuMemPoolDestroy', own)
    d('cuMemFreeAsync', q, s)


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


if __name__ == '__main__':
    sys.exit(main())
