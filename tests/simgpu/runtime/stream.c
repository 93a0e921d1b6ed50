/*
 * stream.c: libcudart's streams, events and stream capture.
 */
#include "call.h"

RUNTIME(SIM_QUIET, cudaStreamCreate, v3020, (cudaStream_t * pStream), (pStream))
{
	return runtime_result(cuStreamCreate(pStream, 0));
}

RUNTIME(SIM_QUIET, cudaStreamCreateWithFlags, v5000, (cudaStream_t * pStream, unsigned int flags), (pStream, flags))
{
	return runtime_result(cuStreamCreate(pStream, flags));
}

RUNTIME(SIM_QUIET, cudaStreamCreateWithPriority, v5050, (cudaStream_t * pStream, unsigned int flags, int priority),
	(pStream, flags, priority))
{
	return runtime_result(cuStreamCreateWithPriority(pStream, flags, priority));
}

RUNTIME(SIM_QUIET, cudaStreamDestroy, v5050, (cudaStream_t stream), (stream))
{
	return runtime_result(cuStreamDestroy_v2(stream));
}

RUNTIME(SIM_SYNC, cudaStreamSynchronize, v3020, (cudaStream_t stream), (stream))
{
	return runtime_result(cuStreamSynchronize(stream));
}

RUNTIME(SIM_QUIET, cudaStreamQuery, v3020, (cudaStream_t stream), (stream))
{
	return runtime_result(cuStreamQuery(stream));
}

RUNTIME(SIM_EVENT, cudaStreamWaitEvent, v3020, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
	(stream, event, flags))
{
	return runtime_result(cuStreamWaitEvent(stream, event, flags));
}

RUNTIME(SIM_QUIET, cudaStreamGetPriority, v5050, (cudaStream_t hStream, int *priority), (hStream, priority))
{
	return runtime_result(cuStreamGetPriority(hStream, priority));
}

RUNTIME(SIM_QUIET, cudaStreamGetFlags, v5050, (cudaStream_t hStream, unsigned int *flags), (hStream, flags))
{
	return runtime_result(cuStreamGetFlags(hStream, flags));
}

RUNTIME(SIM_QUIET, cudaStreamGetId, v12000, (cudaStream_t hStream, unsigned long long *streamId), (hStream, streamId))
{
	return runtime_result(cuStreamGetId(hStream, streamId));
}

RUNTIME(SIM_SYNC, cudaEventSynchronize, v3020, (cudaEvent_t event), (event))
{
	return runtime_result(cuEventSynchronize(event));
}

RUNTIME(SIM_QUIET, cudaEventCreate, v3020, (cudaEvent_t * event), (event))
{
	return runtime_result(cuEventCreate(event, 0));
}

RUNTIME(SIM_QUIET, cudaEventCreateWithFlags, v3020, (cudaEvent_t * event, unsigned int flags), (event, flags))
{
	return runtime_result(cuEventCreate(event, flags));
}

RUNTIME(SIM_QUIET, cudaEventDestroy, v3020, (cudaEvent_t event), (event))
{
	return runtime_result(cuEventDestroy_v2(event));
}

RUNTIME(SIM_EVENT, cudaEventRecord, v3020, (cudaEvent_t event, cudaStream_t stream), (event, stream))
{
	return runtime_result(cuEventRecord(event, stream));
}

RUNTIME(SIM_EVENT, cudaEventRecordWithFlags, v11010, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
	(event, stream, flags))
{
	return runtime_result(cuEventRecordWithFlags(event, stream, flags));
}

RUNTIME(SIM_QUIET, cudaEventQuery, v3020, (cudaEvent_t event), (event))
{
	return runtime_result(cuEventQuery(event));
}

RUNTIME(SIM_QUIET, cudaEventElapsedTime, v12080, (float *ms, cudaEvent_t start, cudaEvent_t end), (ms, start, end))
{
	return runtime_result(cuEventElapsedTime_v2(ms, start, end));
}

/* ---- capture ---- */

RUNTIME(SIM_GRAPH, cudaStreamBeginCapture, v10000, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
	(stream, mode))
{
	return runtime_result(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}

RUNTIME(SIM_GRAPH, cudaStreamBeginCaptureToGraph, v12030,
	(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	 const cudaGraphEdgeData *dependencyData, size_t numDependencies, enum cudaStreamCaptureMode mode),
	(stream, graph, dependencies, dependencyData, numDependencies, mode))
{
	return runtime_result(cuStreamBeginCaptureToGraph(stream, graph, dependencies,
							  (const CUgraphEdgeData *)dependencyData, numDependencies,
							  (CUstreamCaptureMode)mode));
}

RUNTIME(SIM_GRAPH, cudaStreamEndCapture, v10000, (cudaStream_t stream, cudaGraph_t *pGraph), (stream, pGraph))
{
	return runtime_result(cuStreamEndCapture(stream, pGraph));
}

RUNTIME(SIM_QUIET, cudaStreamIsCapturing, v10000, (cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus),
	(stream, pCaptureStatus))
{
	return runtime_result(cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)pCaptureStatus));
}

RUNTIME(SIM_QUIET, cudaStreamGetCaptureInfo, v12030,
	(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out,
	 cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out, const cudaGraphEdgeData **edgeData_out,
	 size_t *numDependencies_out),
	(stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out))
{
	cuuint64_t id = 0;
	CUresult result = cuStreamGetCaptureInfo_v3(stream, (CUstreamCaptureStatus *)captureStatus_out, &id, graph_out,
						    dependencies_out, (const CUgraphEdgeData **)edgeData_out,
						    numDependencies_out);

	if (id_out)
		*id_out = id;
	return runtime_result(result);
}

RUNTIME(SIM_QUIET, cudaStreamUpdateCaptureDependencies, v12030,
	(cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData,
	 size_t numDependencies, unsigned int flags),
	(stream, dependencies, dependencyData, numDependencies, flags))
{
	(void)stream;
	(void)dependencies;
	(void)dependencyData;
	(void)numDependencies;
	(void)flags;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaThreadExchangeStreamCaptureMode, v10010, (enum cudaStreamCaptureMode * mode), (mode))
{
	return runtime_result(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}
