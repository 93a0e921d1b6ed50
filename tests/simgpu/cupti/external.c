/*
 * external.c: ids that a client pushes on a thread, and the records that link them to API calls.
 */
#include "stand-in.h"

#define KINDS 16
#define DEPTH 256

static __thread struct {
	uint32_t depth;
	uint64_t ids[DEPTH];
} stacks[KINDS];

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	if (kind == CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || (unsigned)kind >= KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (stacks[kind].depth < DEPTH)
		stacks[kind].ids[stacks[kind].depth] = id;
	stacks[kind].depth++;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *lastId)
{
	uint32_t depth;

	if (kind == CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || (unsigned)kind >= KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	depth = stacks[kind].depth;
	if (!depth)
		return CUPTI_ERROR_QUEUE_EMPTY;
	stacks[kind].depth = depth - 1;
	if (lastId)
		*lastId = depth <= DEPTH ? stacks[kind].ids[depth - 1] : 0;
	return CUPTI_SUCCESS;
}

void external_emit(uint32_t correlation)
{
	if (!kind_enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
		return;
	for (uint32_t kind = 1; kind < KINDS; kind++) {
		uint32_t depth = stacks[kind].depth;

		if (depth && depth <= DEPTH)
			records_emit(&(CUpti_ActivityExternalCorrelation){
				.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
				.externalKind = (CUpti_ExternalCorrelationKind)kind,
				.externalId = stacks[kind].ids[depth - 1],
				.correlationId = correlation,
			});
	}
}
