/*
 * kernels.c: when a kernel of NCCL ends, and the ground truth about it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define TRANSFER_LEAST_NS 8000u
#define BYTES_PER_US 100000u /* 100 GB/s */
#define SPREAD_NS 1000u	     /* ranks end within this */

struct kernel {
	struct sim_meeting meeting; /* first: the core knows it by this */
	struct peers *peers;
	int ranks, rank, count;
	struct operation operations[];
};

/* One launch or replay. */
struct execution {
	const struct kernel *kernel;
	uint64_t begin_ns, last_ns;
	int last_rank;
	bool is_aborted;
	uint64_t numbers[];
};

uint64_t kernels_transfer_ns(uint64_t bytes)
{
	return TRANSFER_LEAST_NS + bytes * 1000 / BYTES_PER_US;
}

static struct operation operation_of(const struct execution *execution, int which)
{
	struct operation operation = execution->kernel->operations[which];

	operation.number = execution->numbers[which];
	return operation;
}

static void *kernel_submit(const struct sim_meeting *meeting)
{
	const struct kernel *kernel = (const struct kernel *)meeting;
	struct execution *execution = calloc(1, sizeof(*execution) + (size_t)kernel->count * sizeof(uint64_t));

	if (!execution)
		abort();
	execution->kernel = kernel;
	for (int i = 0; i < kernel->count; i++)
		execution->numbers[i] = peers_next_number(kernel->peers, &kernel->operations[i]);
	return execution;
}

static void kernel_begin(void *made, uint64_t begin_ns)
{
	struct execution *execution = made;

	execution->begin_ns = begin_ns;
	for (int i = 0; i < execution->kernel->count; i++) {
		struct operation operation = operation_of(execution, i);

		peers_begin(execution->kernel->peers, &operation, begin_ns);
	}
}

/* Ranks end in another order each time. */
static uint64_t spread_of(const struct execution *execution)
{
	uint64_t hash = (execution->numbers[0] * 31 + (uint64_t)execution->kernel->rank + 1) * 0x9e3779b97f4a7c15u;

	return (hash >> 32) % SPREAD_NS;
}

/* Operations of all run one after the other, sends and receives side by side. */
static bool kernel_end(void *made, uint64_t *end_ns)
{
	struct execution *execution = made;
	const struct kernel *kernel = execution->kernel;
	uint64_t in_turn_ns = 0, beside_ns = 0, last_ns;
	int last_rank = kernel->rank;

	if (peers_have_left(kernel->peers)) {
		execution->is_aborted = true;
		*end_ns = execution->last_ns = sim_now() > execution->begin_ns ? sim_now() : execution->begin_ns;
		return true;
	}
	execution->last_ns = 0;
	for (int i = 0; i < kernel->count; i++) {
		struct operation operation = operation_of(execution, i);

		if (!peers_last(kernel->peers, &operation, &last_ns, &last_rank))
			return false;
		if (last_ns > execution->last_ns) {
			execution->last_ns = last_ns;
			execution->last_rank = last_rank;
		}
		if (operation.kind == OPERATION_OF_ALL)
			in_turn_ns += operation.transfer_ns;
		else if (operation.transfer_ns > beside_ns)
			beside_ns = operation.transfer_ns;
	}
	*end_ns = execution->last_ns + in_turn_ns + beside_ns + spread_of(execution);
	return true;
}

static void kernel_placed(void *made, const struct sim_work *work)
{
	struct execution *execution = made;
	const struct kernel *kernel = execution->kernel;
	char line[1024];

	if (sim_truth_on()) {
		snprintf(line, sizeof(line),
			 "{\"is\":\"collective\",\"name\":\"%s\",\"operations\":%d,\"number\":%llu,\"rank\":%d,"
			 "\"ranks\":%d,\"pid\":%d,\"corr\":%u,\"stream\":%u,\"graph\":%u,\"node\":%llu,"
			 "\"submitted\":%llu,\"begin\":%llu,\"last\":%llu,\"last_rank\":%d,\"end\":%llu,"
			 "\"aborted\":%s}\n",
			 kernel->operations[0].name, kernel->count, (unsigned long long)execution->numbers[0],
			 kernel->rank, kernel->ranks, sim_thread()->pid, work->correlation, work->stream, work->graph,
			 (unsigned long long)work->node, (unsigned long long)work->submitted,
			 (unsigned long long)execution->begin_ns, (unsigned long long)execution->last_ns,
			 execution->last_rank, (unsigned long long)work->end, execution->is_aborted ? "true" : "false");
		sim_truth_line(line);
	}
	free(execution);
}

const struct sim_meeting *kernels_meet(struct peers *peers, int ranks, int rank, const struct operation *operations,
				       int count)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel) + (size_t)count * sizeof(*operations));

	if (!kernel)
		abort();
	kernel->meeting = (struct sim_meeting){kernel_submit, kernel_begin, kernel_end, kernel_placed};
	kernel->peers = peers;
	kernel->ranks = ranks;
	kernel->rank = rank;
	kernel->count = count;
	memcpy(kernel->operations, operations, (size_t)count * sizeof(*operations));
	return &kernel->meeting;
}
