/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/folded/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/array.h"
#include "export/folded/folded_lines.h"

/* Replaces the characters that PyTorch replaces, and others that could end a line. */
static void put_text(struct sink *out, const char *text)
{
	for (; *text; text++)
		sink_char(out,
			  *text == ' ' || *text == ';' || (unsigned char)*text < 0x20 || *text == 0x7f ? '_' : *text);
}

static void put_frame(struct sink *out, const struct model *model, uint32_t index)
{
	const struct model_frame *frame = &model->frames[index];
	const struct model_code *code = &model->codes[frame->code];

	if (out->used)
		sink_char(out, ';');
	put_text(out, code->file);
	sink_char(out, '(');
	sink_u64(out, model_shown_line(model, frame));
	sink_literal(out, "):_");
	put_text(out, code->name);
}

/* Returns the number of lines. */
static size_t put_sums(struct sink *sink, const struct analyses *all, const struct export_options *options)
{
	const struct model *model = all->model;
	struct folded_lines lines;
	size_t count;

	folded_lines_begin(&lines);
	for (size_t i = 0; i < all->op_stacks.sums.count; i++) {
		const struct tally_entry *sum = &all->op_stacks.sums.entries[i];
		const struct model_stack *stack = &model->stacks[sum->key.part[0]];
		uint64_t us = options->folded_by == FOLDED_BY_SELF_CUDA ? sum->more : sum->ns;

		if (!us || (options->process >= 0 && sum->key.part[1] != (uint32_t)options->process))
			continue;
		for (uint32_t k = stack->depth; k-- > 0;)
			put_frame(&lines.frames, model, model->stack_frames[stack->first + k]);
		folded_lines_end_line(&lines, us);
	}
	count = lines.list.count;
	folded_lines_put(sink, &lines);
	return count;
}

int folded_ops_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct analyses all;
	int error = analyze(&all, trace, ANALYSES(ANALYZE_OP_STACKS), &options->attribution);

	/* one process of several may have none; otherwise the request cannot be met */
	if (!error && !put_sums(sink, &all, options) && options->process < 0)
		error = -ENODATA;
	analyses_free(&all);
	return error;
}
