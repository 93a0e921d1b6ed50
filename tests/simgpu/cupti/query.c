/*
 * query.c: queries of names, results and ids.
 */
#include <stdio.h>

#include "stand-in.h"
#include "names.inc" /* made from the real headers: runtime_names[], driver_names[] */

CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = layout_version();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	*name = NULL;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < sizeof(runtime_names) / sizeof(runtime_names[0]))
		*name = runtime_names[cbid];
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < sizeof(driver_names) / sizeof(driver_names[0]))
		*name = driver_names[cbid];
	return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static const struct {
	CUptiResult code;
	const char *name;
} results[] = {
	{CUPTI_SUCCESS, "CUPTI_SUCCESS"},
	{CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
	{CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
	{CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
	{CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
	{CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
	{CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
	{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
	{CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
};

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	*str = "CUPTI_ERROR";
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].code == result)
			*str = results[i].name;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str)
{
	return cuptiGetResultString(result, str);
}

CUptiResult cuptiGetLastError(void)
{
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable)
{
	static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
						 CUPTI_CB_DOMAIN_RESOURCE};

	*domainCount = sizeof(domains) / sizeof(domains[0]);
	*domainTable = domains;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	*contextId = context ? context->id : 0;
	return context ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	*deviceId = (uint32_t)(context ? context : sim_context_current())->device;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream, uint32_t *streamId)
{
	(void)perThreadStream;
	if ((uintptr_t)stream <= 1 && context)
		stream = context->legacy;
	*streamId = sim_stream_resolve(stream)->id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	*nodeId = node->id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	*pId = graph->id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	*pId = graphExec->graph.id;
	return CUPTI_SUCCESS;
}
