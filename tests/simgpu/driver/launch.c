/*
 * launch.c: libcuda's launches: kernels, host functions, graphs.
 */
#include "thunk.h"

static const char *symbol_of(CUfunction function)
{
	CUkernel kernel = sim_kernel_resolve(function);

	return kernel ? kernel->name : NULL;
}

static CUresult launch_function(CUfunction function, const uint32_t grid[3], const uint32_t block[3], uint32_t shared,
				CUstream stream)
{
	CUkernel kernel = sim_kernel_resolve(function);
	struct sim_work work;

	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_kernel_work(&work, kernel, grid, block, shared);
	sim_submit(stream, &work);
	return CUDA_SUCCESS;
}

#define SHAPE_PARAMETERS                                                                                               \
	CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,     \
		unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream
#define SHAPE_ARGUMENTS f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream
#define SHAPE_LAUNCH                                                                                                   \
	launch_function(f, (const uint32_t[3]){gridDimX, gridDimY, gridDimZ},                                          \
			(const uint32_t[3]){blockDimX, blockDimY, blockDimZ}, sharedMemBytes, hStream)

DRIVER_SYMBOL(SIM_LAUNCH, cuLaunchKernel, (SHAPE_PARAMETERS, void **kernelParams, void **extra),
	      (SHAPE_ARGUMENTS, kernelParams, extra), symbol_of(f))
{
	(void)kernelParams;
	(void)extra;
	return SHAPE_LAUNCH;
}

DRIVER_SYMBOL(SIM_LAUNCH, cuLaunchKernel_ptsz, (SHAPE_PARAMETERS, void **kernelParams, void **extra),
	      (SHAPE_ARGUMENTS, kernelParams, extra), symbol_of(f))
{
	(void)kernelParams;
	(void)extra;
	hStream = hStream ? hStream : CU_STREAM_PER_THREAD;
	return SHAPE_LAUNCH;
}

DRIVER_SYMBOL(SIM_LAUNCH, cuLaunchCooperativeKernel, (SHAPE_PARAMETERS, void **kernelParams),
	      (SHAPE_ARGUMENTS, kernelParams), symbol_of(f))
{
	(void)kernelParams;
	return SHAPE_LAUNCH;
}

static CUresult launch_config(const CUlaunchConfig *config, CUfunction f)
{
	return launch_function(f, (const uint32_t[3]){config->gridDimX, config->gridDimY, config->gridDimZ},
			       (const uint32_t[3]){config->blockDimX, config->blockDimY, config->blockDimZ},
			       config->sharedMemBytes, config->hStream);
}

DRIVER_SYMBOL(SIM_LAUNCH, cuLaunchKernelEx,
	      (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra),
	      (config, f, kernelParams, extra), symbol_of(f))
{
	(void)kernelParams;
	(void)extra;
	return launch_config(config, f);
}

/* Calls the function on the launching thread, once the stream's earlier work is done. */
DRIVER(SIM_LAUNCH, cuLaunchHostFunc, (CUstream hStream, CUhostFn fn, void *userData), (hStream, fn, userData))
{
	CUstream stream = sim_stream_resolve(hStream);

	if (stream->capture) {
		CUgraphNode node = sim_graph_add(stream->capture, CU_GRAPH_NODE_TYPE_HOST, NULL);

		node->host = fn;
		node->host_data = userData;
		return CUDA_SUCCESS;
	}
	sim_stream_synchronize(stream);
	fn(userData);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuGraphCreate, (CUgraph * phGraph, unsigned int flags), (phGraph, flags))
{
	(void)flags;
	*phGraph = sim_graph_create();
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuGraphDestroy, (CUgraph hGraph), (hGraph))
{
	sim_graph_destroy(hGraph);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuGraphAddKernelNode_v2,
       (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
	const CUDA_KERNEL_NODE_PARAMS *nodeParams),
       (phGraphNode, hGraph, dependencies, numDependencies, nodeParams))
{
	CUkernel kernel =
		sim_kernel_resolve(nodeParams->func ? (const void *)nodeParams->func : (const void *)nodeParams->kern);
	struct sim_work work;

	(void)dependencies;
	(void)numDependencies;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_kernel_work(&work, kernel,
			(const uint32_t[3]){nodeParams->gridDimX, nodeParams->gridDimY, nodeParams->gridDimZ},
			(const uint32_t[3]){nodeParams->blockDimX, nodeParams->blockDimY, nodeParams->blockDimZ},
			nodeParams->sharedMemBytes);
	*phGraphNode = sim_graph_add(hGraph, CU_GRAPH_NODE_TYPE_KERNEL, &work);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuGraphGetNodes, (CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes), (hGraph, nodes, numNodes))
{
	size_t count = 0;

	for (CUgraphNode node = hGraph->first; node; node = node->next, count++)
		if (nodes && count < *numNodes)
			nodes[count] = node;
	*numNodes = count;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuGraphNodeGetType, (CUgraphNode hNode, CUgraphNodeType *type), (hNode, type))
{
	*type = hNode->type;
	return CUDA_SUCCESS;
}

DRIVER(SIM_GRAPH, cuGraphInstantiateWithFlags, (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
       (phGraphExec, hGraph, flags))
{
	(void)flags;
	*phGraphExec = sim_graph_instantiate(hGraph);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuGraphExecDestroy, (CUgraphExec hGraphExec), (hGraphExec))
{
	sim_graph_exec_destroy(hGraphExec);
	return CUDA_SUCCESS;
}

DRIVER(SIM_GRAPH, cuGraphUpload, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream))
{
	(void)hGraphExec;
	(void)hStream;
	return CUDA_SUCCESS;
}

DRIVER(SIM_LAUNCH, cuGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream))
{
	sim_graph_launch(hGraphExec, hStream);
	return CUDA_SUCCESS;
}
