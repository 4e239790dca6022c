#!/usr/bin/env python3
"""Stream capture and graphs on the simulated driver."""
import ctypes as C
import sys
import threading

from harness import Cuda, Gate, case, main, near, status, want


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


class Memset(C.Structure):
    _fields_ = [('dst', C.c_uint64), ('pitch', C.c_size_t), ('value', C.c_uint), ('element', C.c_uint), ('width', C.c_size_t), ('height', C.c_size_t)]


@case()
def a_launch_runs_what_its_graph_was_then():
    d = Cuda()
    s, p = d.stream(), d.alloc(4)

    def captured(value):
        graph = C.c_void_p()
        d('cuStreamBeginCapture_v2', s, 2)
        gate = Gate(d, s)
        d('cuMemsetD32Async', p, value, C.c_size_t(1), s)
        d('cuStreamEndCapture', s, C.byref(graph))
        return graph, gate

    def set_params(run, memset):
        d('cuGraphExecMemsetNodeSetParams', run, memset, C.byref(Memset(p.value, 0, 2, 4, 1, 1)), d.ctx)
    other, through = captured(2)
    through.open()
    changes = (('nothing', lambda run, memset: None, 1), ('update', lambda run, memset: d('cuGraphExecUpdate_v2', run, other, C.create_string_buffer(64)), 2),
               ('parameters', set_params, 2), ('disabled', lambda run, memset: d('cuGraphNodeSetEnabled', run, memset, 0), 0),
               ('destroyed', lambda run, memset: d('cuGraphExecDestroy', run), None))
    for what, change, afterwards in changes:
        graph, gate = captured(1)
        run, nodes, n = d.new('cuGraphInstantiateWithFlags', graph, C.c_uint64(0)), (C.c_void_p * 2)(), C.c_size_t(2)
        d('cuGraphGetNodes', graph, nodes, C.byref(n))
        value = C.c_int.from_address(p.value)
        value.value = 0
        d('cuGraphLaunch', run, s)
        change(run, C.c_void_p(nodes[1]))
        want(f'{what}: not before the gate opens', value.value, 0)
        gate.open()
        d('cuStreamSynchronize', s)
        want(f'{what}: as launched', value.value, 1)
        if afterwards is not None:
            value.value = 0
            d('cuGraphLaunch', run, s)
            d('cuStreamSynchronize', s)
            want(f'{what}: the next launch', value.value, afterwards)


if __name__ == '__main__':
    sys.exit(main())
