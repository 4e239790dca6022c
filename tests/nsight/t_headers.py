#!/usr/bin/env python3
"""Header forms of all eras, each with LF, CRLF and CR, give the same normalised rows. Expected rows were worked out by hand."""
from nsight import done, equal, gpu

T2021 = 'Start(sec),Duration(nsec),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem,DymSMem,Bytes,Thru(MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name'
T2022 = ('Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),{},SrcMemKd,DstMemKd,'
         'Device,Ctx,{}Strm,Name')
KERNEL = '256,1,1,128,1,1,32,0.000,0.000,,,,'
COPY = ',,,,,,,,,4.194,12000.5,Pageable,Device'
DEVICE = 'NVIDIA H100 (0)'


def timeline(start, green=''):
    return ['%s,3000,118,%s,%s,1,%s7,"void gemm<float, 4>(float*, int)"' % (start(1234567000), KERNEL, DEVICE, green),
            '%s,433,119,%s,%s,1,%s13,%s' % (start(1234570000), COPY, DEVICE, green, '[CUDA memcpy Host-to-Device]')]


def seconds(ns):
    return '%d.%06d' % (ns // 10**9, ns % 10**9 // 1000)


TIMELINES = {
    '2021.1': ('cuda_gpu_trace', T2021, timeline(seconds)),
    '2021.1, old name': ('gputrace', T2021, timeline(seconds)),
    '2022': ('cuda_gpu_trace', T2022.format('Throughput (MBps)', ''), timeline(str)),
    '2022, old name': ('gputrace', T2022.format('Throughput (MBps)', ''), timeline(str)),
    '2025, GreenCtx': ('cuda_gpu_trace', T2022.format('Throughput (MBps)', 'GreenCtx,'), timeline(str, ',')),
    '2025, MB/s': ('cuda_gpu_trace', T2022.format('Throughput (MB/s)', ''), timeline(str)),
    '2026, both': ('cuda_gpu_trace', T2022.format('Throughput (MB/s)', 'GreenCtx,'), timeline(str, '2,')),
}


def operation(name, start, duration, correlation, stream):
    return dict(name=name, kind='gpu_operation', device=DEVICE, context='1', stream=stream, correlation_id=correlation, start_ns=start,
                duration_ns=duration)


SAME_TIMELINE = [operation('void gemm<float, 4>(float*, int)', 1234567000, 3000, '118', '7'),
                 operation('[CUDA memcpy Host-to-Device]', 1234570000, 433, '119', '13')]

KERNELS = {
    '2020': ('cuda_gpu_kern_sum', 'Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name',
             ['75.0,9000,3,3000.0,2000,4000,gemm', '25.0,3000,2,1500.5,1000,2001,"add(int, int)"']),
    '2022': ('gpukernsum', 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name',
             ['50.0,6000,2,3000.0,3000.0,2000,4000,1.0,   8    1    1,  32    1    1,gemm',
              '25.0,3000,2,1500.5,1500.5,1000,2001,7.0,   1    1    1,  32    1    1,"add(int, int)"',
              '25.0,3000,1,3000.0,3000.0,3000,3000,0.0,   9    1    1,  32    1    1,gemm']),
    'now': ('cuda_gpu_kern_sum', 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name',
            ['75.0,9000,3,3000.0,3000.0,2000,4000,1.0,gemm', '25.0,3000,2,1500.5,1500.5,1000,2001,7.0,"add(int, int)"']),
    'thousands': ('cuda_gpu_kern_sum', 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name',
                  ['75.0,"9,000",3,"3,000.0",3000.0,"2,000","4,000",1.0,gemm', '25.0,"3,000",2,"1,500.5",1500.5,1000,2001,7.0,"add(int, int)"']),
}
SAME_KERNELS = [dict(name='gemm', total_ns=9000, count=3, average_ns=3000, minimum_ns=2000, maximum_ns=4000),
                dict(name='add(int, int)', total_ns=3000, count=2, average_ns=1500, minimum_ns=1000, maximum_ns=2001)]

CALL = [dict(name='cudaGetDeviceProperties_v2_v12000', total_ns=500, count=4, average_ns=125, minimum_ns=100, maximum_ns=200)]
CALLS = {
    'now': ('cuda_api_sum', 'Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name',
            ['100.0,500,4,125.9,120.0,100,200,3.0,cudaGetDeviceProperties_v2_v12000']),
    '2021': ('cudaapisum', 'Time(%),Total Time (ns),Num Calls,Average,Minimum,Maximum,Name',
             ['100.0,500,4,125.9,100,200,cudaGetDeviceProperties_v2_v12000']),
}
MEMORY_HEAD = 'Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation'
MEMORY = {}
for spelling in ('[CUDA memcpy HtoD]', '[CUDA memcpy Host-to-Device]'):
    MEMORY[spelling] = (('cuda_gpu_mem_time_sum', MEMORY_HEAD, ['100.0,800,8,100.0,100.0,100,100,0.0,' + spelling]),
                        [dict(name=spelling, total_ns=800, count=8, average_ns=100, minimum_ns=100, maximum_ns=100)])

NVTX_HEAD = ('Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,NumGPUOps,Lvl,NumChild,RangeId,'
             'ParentId,RangeStack')
NVTX = ['%s,1000,500,100,200,PushPop,4242,4242,3,0,0,1,,:1', ',1,2,3,4,PushPop,1,1,1,0,0,2,,:2']


def ranges(name):
    return [dict(name=name, kind='nvtx_range', semantic_key='copy_in', start_ns=100, duration_ns=200, projected_start_ns=1000,
                 projected_duration_ns=500, gpu_operations=3)]


ENDS = dict(LF='\n', CRLF='\r\n', CR='\r')


def check(title, form, list_name, rows):
    report, header, lines = form
    for ends, line_end in ENDS.items():
        for preamble in ('', 'Generating SQLite file x.sqlite from x.nsys-rep\nNOTICE: it said "so\n\nProcessing [x.sqlite] with [r.py]... \n\n'):
            text = '\ufeff' * bool(preamble) + (preamble + '\n'.join([header, *lines]) + '\n').replace('\n', line_end)
            got = gpu({'x_%s.csv' % report: text}, expected=['copy_in'])
            equal((got[list_name], got['diagnostics']) if isinstance(got, dict) else got, (rows, []),
                  '%s, %s%s' % (title, ends, ', preamble' if preamble else ''))


for era, form in TIMELINES.items():
    check('GPU timeline ' + era, form, 'gpu_timeline', SAME_TIMELINE)
for era, form in KERNELS.items():
    check('kernel summary ' + era, form, 'kernels', SAME_KERNELS)
for era, form in CALLS.items():
    check('runtime summary ' + era, form, 'runtime_calls', CALL)
for spelling, (form, rows) in MEMORY.items():
    check('memory-time summary ' + spelling, form, 'memory_operations', rows)
for name in ('copy_in', ':copy_in'):
    check('NVTX projection ' + name, ('nvtx_gpu_proj_trace', NVTX_HEAD, [NVTX[0] % name, NVTX[1]]), 'nvtx_ranges', ranges(name))
check('NVTX projection, invented form', ('nvtx_gpu_proj_trace', 'Name,Start (ns),Duration (ns),Projected Start (ns),Projected Duration (ns),Num GPU Ops',
                                         ['copy_in,100,200,1000,500,3']), 'nvtx_ranges', ranges('copy_in'))
check('GPU timeline, invented form', ('cuda_gpu_trace', 'Name,Start (ns),Duration (ns),Device,Ctx,Stream,CorrId',
                                      ['"void gemm<float, 4>(float*, int)",1234567000,3000,%s,1,7,118' % DEVICE,
                                       '[CUDA memcpy Host-to-Device],1234570000,433,%s,1,13,119' % DEVICE]), 'gpu_timeline', SAME_TIMELINE)
check('kernel summary, invented form', ('cuda_gpu_kern_sum', 'Total Time (ns),Instances,Name', ['5,2,k']), 'kernels',
      [dict(name='k', total_ns=5, count=2)])
done()
