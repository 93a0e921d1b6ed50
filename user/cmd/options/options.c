/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frees parsed options, and answers questions about them. */
#include "cmd/options/options.h"

#include <string.h>

void options_free(struct options *options)
{
	array_free(&options->pids.list);
	array_free(&options->outputs.list);
	array_free_items(&options->outputs.made);
	array_free(&options->labels.list);
	array_free(&options->logs.list);
	name_list_free(&options->slice.processes);
	selection_free(&options->slice.selection);
	selection_free(&options->targets);
	step_value_free(&options->step);
	comm_kernels_free(&options->comm_kernels);
}

bool options_want_slice(const struct options *options)
{
	const struct slice_options *slice = &options->slice;

	return slice->from.kind || slice->to.kind || slice->processes.list.count || slice->thread.tid ||
	       slice->has_gpu || !selection_is_empty(&slice->selection) || options_want_steps(options);
}

bool options_select(const struct options *options)
{
	return options->gpu_processes || !selection_is_empty(&options->targets);
}

bool options_rotate(const struct options *options)
{
	return options->rotate.bytes || options->rotate.span_ns;
}

bool options_want_steps(const struct options *options)
{
	return options->slice.steps.has_any || options->slice.cycle;
}

bool options_use_stdout(const struct options *options)
{
	return any_of(options->outputs.list.count, i, !strcmp(options->outputs.list.items[i], "-"));
}

/*
 * Only in traces of named programs, and only beside GPU work, whose gaps it explains.  Who names one of the two has
 * chosen; --kernels-only and a schedule are for the least cost.
 */
struct default_activity options_default_activity(const struct options *options)
{
	bool fits = (options->command || options->pids.list.count || options_select(options)) &&
		    options->agent != ATTACH_AGENT_OFF && !options->cpu_frequency && !options->off_cpu_min_ns &&
		    !options->schedule.active && !(options->has_activity_sets && !options->activity_sets);

	return (struct default_activity){.cpu = fits && !options->cpu_unwanted,
					 .off_cpu = fits && !options->off_cpu_unwanted};
}
