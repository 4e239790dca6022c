/* Streams and events of the stand-in runtime. */
#include "tests/sim/runtime/runtime.h"

RT(cudaStreamCreate, (cudaStream_t * out), rt.cuStreamCreate((CUstream *)out, CU_STREAM_DEFAULT))
RT(cudaStreamCreateWithFlags, (cudaStream_t * out, unsigned flags), rt.cuStreamCreate((CUstream *)out, flags))
RT(cudaStreamCreateWithPriority, (cudaStream_t * out, unsigned flags, int priority),
   rt.cuStreamCreateWithPriority((CUstream *)out, flags, priority))
RT(cudaStreamDestroy, (cudaStream_t stream), rt.cuStreamDestroy((CUstream)stream))

RT_PAIR(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), rt.cuStreamSynchronize[per]((CUstream)stream))
RT_PAIR(cudaStreamQuery, _ptsz, (cudaStream_t stream), rt.cuStreamQuery[per]((CUstream)stream))
RT_PAIR(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
        rt.cuStreamWaitEvent[per]((CUstream)stream, (CUevent)event, flags))
RT_PAIR(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned *flags),
        rt.cuStreamGetFlags[per]((CUstream)stream, flags))
RT_PAIR(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int *priority),
        rt.cuStreamGetPriority[per]((CUstream)stream, priority))
RT_PAIR(cudaStreamAddCallback, _ptsz,
        (cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags),
        rt.cuStreamAddCallback[per]((CUstream)stream, (CUstreamCallback)(void (*)(void))callback, data,
                                    flags))
RT_PAIR(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t fn, void *data),
        rt.cuLaunchHostFunc[per]((CUstream)stream, (CUhostFn)fn, data))

RT(cudaEventCreate, (cudaEvent_t * out), rt.cuEventCreate((CUevent *)out, CU_EVENT_DEFAULT))
RT(cudaEventCreateWithFlags, (cudaEvent_t * out, unsigned flags), rt.cuEventCreate((CUevent *)out, flags))
RT(cudaEventDestroy, (cudaEvent_t event), rt.cuEventDestroy((CUevent)event))
RT(cudaEventQuery, (cudaEvent_t event), rt.cuEventQuery((CUevent)event))
RT(cudaEventSynchronize, (cudaEvent_t event), rt.cuEventSynchronize((CUevent)event))
RT(cudaEventElapsedTime, (float *ms, cudaEvent_t from, cudaEvent_t to),
   rt.cuEventElapsedTime(ms, (CUevent)from, (CUevent)to))
RT_PAIR(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream),
        rt.cuEventRecord[per]((CUevent)event, (CUstream)stream))
RT_PAIR(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
        rt.cuEventRecordWithFlags[per]((CUevent)event, (CUstream)stream, flags))
