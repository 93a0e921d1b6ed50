/*
 * stream.c: libcuda's streams, events and stream capture.
 */
#include <stdlib.h>
#include <string.h>

#include "thunk.h"

DRIVER(SIM_QUIET, cuStreamCreate, (CUstream * phStream, unsigned int Flags), (phStream, Flags))
{
	*phStream = sim_stream_create(sim_context_current(), Flags, 0);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuStreamCreateWithPriority, (CUstream * phStream, unsigned int flags, int priority),
       (phStream, flags, priority))
{
	*phStream = sim_stream_create(sim_context_current(), flags, priority);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuStreamDestroy_v2, (CUstream hStream), (hStream))
{
	if ((uintptr_t)hStream <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_stream_destroy(hStream);
	return CUDA_SUCCESS;
}

DRIVER(SIM_SYNC, cuStreamSynchronize, (CUstream hStream), (hStream))
{
	sim_stream_synchronize(hStream);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuStreamQuery, (CUstream hStream), (hStream))
{
	return sim_stream_idle(hStream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

DRIVER(SIM_EVENT, cuStreamWaitEvent, (CUstream hStream, CUevent hEvent, unsigned int Flags), (hStream, hEvent, Flags))
{
	(void)Flags;
	sim_stream_wait_event(hStream, hEvent);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuStreamGetPriority, (CUstream hStream, int *priority), (hStream, priority))
{
	*priority = sim_stream_resolve(hStream)->priority;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuStreamGetFlags, (CUstream hStream, unsigned int *flags), (hStream, flags))
{
	*flags = sim_stream_resolve(hStream)->flags;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuStreamGetId, (CUstream hStream, unsigned long long *streamId), (hStream, streamId))
{
	*streamId = sim_stream_resolve(hStream)->id;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuStreamGetCtx, (CUstream hStream, CUcontext *pctx), (hStream, pctx))
{
	*pctx = sim_stream_resolve(hStream)->context;
	return CUDA_SUCCESS;
}

DRIVER(SIM_GRAPH, cuStreamBeginCapture_v2, (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode))
{
	(void)mode;
	return sim_capture_begin(hStream, NULL) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

DRIVER(SIM_GRAPH, cuStreamBeginCaptureToGraph,
       (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
	size_t numDependencies, CUstreamCaptureMode mode),
       (hStream, hGraph, dependencies, dependencyData, numDependencies, mode))
{
	(void)dependencies;
	(void)dependencyData;
	(void)numDependencies;
	(void)mode;
	return sim_capture_begin(hStream, hGraph) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

DRIVER(SIM_GRAPH, cuStreamEndCapture, (CUstream hStream, CUgraph *phGraph), (hStream, phGraph))
{
	*phGraph = sim_capture_end(hStream);
	return *phGraph ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

DRIVER(SIM_QUIET, cuStreamIsCapturing, (CUstream hStream, CUstreamCaptureStatus *captureStatus),
       (hStream, captureStatus))
{
	*captureStatus =
		sim_stream_resolve(hStream)->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), (mode))
{
	CUstreamCaptureMode previous = sim_thread()->capture_mode;

	sim_thread()->capture_mode = *mode;
	*mode = previous;
	return CUDA_SUCCESS;
}

/* The capture's last node is the only dependency: captures here are one chain. */
DRIVER(SIM_QUIET, cuStreamGetCaptureInfo_v3,
       (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
	const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out),
       (hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out))
{
	CUstream stream = sim_stream_resolve(hStream);
	CUgraph graph = stream->capture;

	*captureStatus_out = graph ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	if (id_out)
		*id_out = graph ? stream->capture_id : 0;
	if (graph_out)
		*graph_out = graph;
	if (dependencies_out)
		*dependencies_out = graph && graph->last ? &graph->last : NULL;
	if (edgeData_out)
		*edgeData_out = NULL;
	if (numDependencies_out)
		*numDependencies_out = graph && graph->last ? 1 : 0;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuEventCreate, (CUevent * phEvent, unsigned int Flags), (phEvent, Flags))
{
	*phEvent = sim_event_create(Flags);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuEventDestroy_v2, (CUevent hEvent), (hEvent))
{
	sim_event_destroy(hEvent);
	return CUDA_SUCCESS;
}

DRIVER(SIM_EVENT, cuEventRecord, (CUevent hEvent, CUstream hStream), (hEvent, hStream))
{
	sim_event_record(hEvent, hStream);
	return CUDA_SUCCESS;
}

DRIVER(SIM_EVENT, cuEventRecordWithFlags, (CUevent hEvent, CUstream hStream, unsigned int flags),
       (hEvent, hStream, flags))
{
	(void)flags;
	sim_event_record(hEvent, hStream);
	return CUDA_SUCCESS;
}

DRIVER(SIM_SYNC, cuEventSynchronize, (CUevent hEvent), (hEvent))
{
	sim_event_synchronize(hEvent);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuEventQuery, (CUevent hEvent), (hEvent))
{
	uint64_t time;

	if (!sim_event_is_recorded(hEvent))
		return CUDA_SUCCESS;
	return sim_event_time(hEvent, &time) && time <= sim_now() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

DRIVER(SIM_QUIET, cuEventElapsedTime_v2, (float *pMilliseconds, CUevent hStart, CUevent hEnd),
       (pMilliseconds, hStart, hEnd))
{
	uint64_t start, end;

	if (!sim_event_is_recorded(hStart) || !sim_event_is_recorded(hEnd))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!sim_event_time(hStart, &start) || !sim_event_time(hEnd, &end))
		return CUDA_ERROR_NOT_READY;
	*pMilliseconds = (float)((double)(int64_t)(end - start) / 1e6);
	return CUDA_SUCCESS;
}
