/*
 * launch.c: libcudart's launches. nvcc's stubs call __cudaLaunchKernel, which is a tail jump to the
 * public function, as in the real library.
 */
#include "call.h"

static const char *symbol_of(const void *func)
{
	CUkernel kernel = sim_kernel_resolve(func);

	return kernel ? kernel->name : NULL;
}

static cudaError_t launch_function(const void *func, dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
				   void **args)
{
	CUkernel kernel = sim_kernel_resolve(func);

	if (!kernel)
		return runtime_result(cudaErrorInvalidDeviceFunction);
	return runtime_result(cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
					     (unsigned)shared, stream, args, NULL));
}

#define LAUNCH_PARAMETERS                                                                                              \
	(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
#define LAUNCH_ARGUMENTS (func, gridDim, blockDim, args, sharedMem, stream)

RUNTIME_SYMBOL(SIM_LAUNCH, cudaLaunchKernel, v7000, LAUNCH_PARAMETERS, LAUNCH_ARGUMENTS, symbol_of(func))
{
	return launch_function(func, gridDim, blockDim, sharedMem, stream, args);
}

cudaError_t cudaLaunchKernel_ptsz LAUNCH_PARAMETERS;
RUNTIME_SYMBOL(SIM_LAUNCH, cudaLaunchKernel_ptsz, v7000, LAUNCH_PARAMETERS, LAUNCH_ARGUMENTS, symbol_of(func))
{
	return launch_function(func, gridDim, blockDim, sharedMem, stream ? stream : cudaStreamPerThread, args);
}

cudaError_t __cudaLaunchKernel LAUNCH_PARAMETERS;
cudaError_t __cudaLaunchKernel LAUNCH_PARAMETERS
{
	SIM_FRAME();
	return cudaLaunchKernel LAUNCH_ARGUMENTS;
}

cudaError_t __cudaLaunchKernel_ptsz LAUNCH_PARAMETERS;
cudaError_t __cudaLaunchKernel_ptsz LAUNCH_PARAMETERS
{
	SIM_FRAME();
	return cudaLaunchKernel_ptsz LAUNCH_ARGUMENTS;
}

RUNTIME_SYMBOL(SIM_LAUNCH, cudaLaunchCooperativeKernel, v9000, LAUNCH_PARAMETERS, LAUNCH_ARGUMENTS, symbol_of(func))
{
	CUkernel kernel = sim_kernel_resolve(func);

	if (!kernel)
		return runtime_result(cudaErrorInvalidDeviceFunction);
	return runtime_result(cuLaunchCooperativeKernel((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
							blockDim.y, blockDim.z, (unsigned)sharedMem, stream, args));
}

RUNTIME_SYMBOL(SIM_LAUNCH, cudaLaunchKernelExC, v11060,
	       (const cudaLaunchConfig_t *config, const void *func, void **args), (config, func, args), symbol_of(func))
{
	CUkernel kernel = sim_kernel_resolve(func);
	CUlaunchConfig driver = {
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.hStream = config->stream,
	};

	if (!kernel)
		return runtime_result(cudaErrorInvalidDeviceFunction);
	return runtime_result(cuLaunchKernelEx(&driver, (CUfunction)kernel, args, NULL));
}

RUNTIME(SIM_LAUNCH, cudaLaunchHostFunc, v10000, (cudaStream_t stream, cudaHostFn_t fn, void *userData),
	(stream, fn, userData))
{
	return runtime_result(cuLaunchHostFunc(stream, fn, userData));
}

RUNTIME(SIM_LAUNCH, cudaStreamAddCallback, v5000,
	(cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned int flags),
	(stream, callback, userData, flags))
{
	(void)flags;
	sim_stream_synchronize(stream);
	callback(stream, cudaSuccess, userData);
	return cudaSuccess;
}

/* ---- graphs ---- */

RUNTIME(SIM_LAUNCH, cudaGraphLaunch, v10000, (cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream))
{
	return runtime_result(cuGraphLaunch(graphExec, stream));
}

RUNTIME(SIM_GRAPH, cudaGraphUpload, v10000, (cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream))
{
	return runtime_result(cuGraphUpload(graphExec, stream));
}

RUNTIME(SIM_GRAPH, cudaGraphInstantiate, v12000,
	(cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags), (pGraphExec, graph, flags))
{
	return runtime_result(cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

RUNTIME(SIM_GRAPH, cudaGraphInstantiateWithFlags, v11040,
	(cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags), (pGraphExec, graph, flags))
{
	return runtime_result(cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

RUNTIME(SIM_QUIET, cudaGraphCreate, v10000, (cudaGraph_t * pGraph, unsigned int flags), (pGraph, flags))
{
	return runtime_result(cuGraphCreate(pGraph, flags));
}

RUNTIME(SIM_QUIET, cudaGraphDestroy, v10000, (cudaGraph_t graph), (graph))
{
	return runtime_result(cuGraphDestroy(graph));
}

RUNTIME(SIM_QUIET, cudaGraphExecDestroy, v10000, (cudaGraphExec_t graphExec), (graphExec))
{
	return runtime_result(cuGraphExecDestroy(graphExec));
}

RUNTIME(SIM_QUIET, cudaGraphGetNodes, v10000, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes),
	(graph, nodes, numNodes))
{
	return runtime_result(cuGraphGetNodes(graph, nodes, numNodes));
}

/* Edges are not simulated: no node has dependencies. */
RUNTIME(SIM_QUIET, cudaGraphNodeGetDependencies, v12030,
	(cudaGraphNode_t node, cudaGraphNode_t *pDependencies, cudaGraphEdgeData *edgeData, size_t *pNumDependencies),
	(node, pDependencies, edgeData, pNumDependencies))
{
	(void)node;
	(void)pDependencies;
	(void)edgeData;
	*pNumDependencies = 0;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaUserObjectCreate, v11030,
	(cudaUserObject_t * object_out, void *ptr, cudaHostFn_t destroy, unsigned int initialRefcount,
	 unsigned int flags),
	(object_out, ptr, destroy, initialRefcount, flags))
{
	(void)destroy;
	(void)initialRefcount;
	(void)flags;
	*object_out = ptr;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaUserObjectRelease, v11030, (cudaUserObject_t object, unsigned int count), (object, count))
{
	(void)object;
	(void)count;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaGraphRetainUserObject, v11030,
	(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
	(graph, object, count, flags))
{
	(void)graph;
	(void)object;
	(void)count;
	(void)flags;
	return cudaSuccess;
}
