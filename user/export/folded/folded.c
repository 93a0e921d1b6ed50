/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/folded/folded.h"

#include <errno.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/array.h"
#include "export/folded/folded_lines.h"
#include "export/file/stack_frames.h"

static void put_sums(struct sink *sink, const struct model *model, const struct stack_sums *sums, int process)
{
	struct folded_lines lines;

	folded_lines_begin(&lines);
	for (size_t i = 0; i < stack_sums_count(sums); i++) {
		struct stack_row row = stack_sums_row(sums, i);

		if (process >= 0 && row.process != (uint32_t)process)
			continue;
		stack_row_frames(model, &row, folded_take_frame, &lines.frames);
		folded_lines_end_line(&lines, row.value);
	}
	folded_lines_put(sink, &lines);
}

static int put_calls(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	const struct analyze_options of_use = {.attribution = &options->attribution,
					       .if_of_use = !options->by_launches};
	const enum analysis *which = options->by_launches ? ANALYSES(ANALYZE_CALL_STACKS)
							  : ANALYSES(ANALYZE_CALL_STACKS, ANALYZE_GPU_STACKS);
	struct analyses all;
	int error = analyze_with(&all, trace, which, &of_use);

	if (!error)
		put_sums(sink, all.model, all.has[ANALYZE_GPU_STACKS] ? &all.gpu_stacks : &all.call_stacks,
			 options->process);
	analyses_free(&all);
	return error;
}

static int put_samples(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct analyses all;
	int error = analyze(&all, trace, ANALYSES(ANALYZE_CPU_STACKS), &options->attribution);

	if (!error && !stack_sums_count(&all.cpu_stacks))
		error = -ENODATA;
	if (!error)
		put_sums(sink, all.model, &all.cpu_stacks, options->process);
	analyses_free(&all);
	return error;
}

int folded_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	if (options->folded_by == FOLDED_BY_LAYER)
		return folded_layers_write(sink, trace, options);
	if (options->by_cpu)
		return put_samples(sink, trace, options);
	if (options->by_idle)
		return folded_idle_write(sink, trace, options);
	return options->folded_by ? folded_ops_write(sink, trace, options) : put_calls(sink, trace, options);
}
