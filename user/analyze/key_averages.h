/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What torch.profiler calls key averages: a row for each name of an op, of a CUDA call, of work on a GPU.  Ops come
 * from ops.h.  Work has no time on the CPU, and a call has none on the GPU: that is of the op it was made in.
 */
#ifndef GPUTRACE_ANALYZE_KEY_AVERAGES_H
#define GPUTRACE_ANALYZE_KEY_AVERAGES_H

#include "analyze/ops.h"

struct key_row {
	char *name;
	uint64_t count, cpu_self_ns, cpu_ns, gpu_self_ns, gpu_ns;
};

struct key_averages {
	struct tally calls; /* api */
	struct tally gpu;   /* name; or NONE and how the model tells copies and fills apart */
	ARRAY(struct key_row) rows;
	uint64_t cpu_self_ns, gpu_ns; /* what shares are of */
};

void key_averages_free(struct key_averages *keys);
void key_averages_add_call(struct key_averages *keys, const struct call_event *event);
void key_averages_add_gpu(struct key_averages *keys, const struct gpu_event *event);

/* Rows by their own time on the GPU, on the CPU where there is none; after ops. */
void key_averages_finish(struct key_averages *keys, const struct ops_by_name *ops);

#endif
