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

static char *line_text(const struct model *model, const struct model_stack *stack)
{
	struct sink out;
	char *text;

	sink_open_memory(&out);
	for (uint32_t i = stack->depth; i-- > 0;)
		put_frame(&out, model, model->stack_frames[stack->first + i]);
	sink_char(&out, '\0');
	text = xstrdup(out.buffer);
	sink_close(&out);
	return text;
}

int folded_ops_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	AUTO_FREE struct folded_line *lines = NULL;
	struct analyses all;
	size_t count = 0;
	int error = analyze(&all, trace, ANALYSES(ANALYZE_OP_STACKS), &options->attribution);

	if (!error) {
		const struct tally *sums = &all.op_stacks.sums;

		lines = xmalloc(sums->count * sizeof(*lines));
		for (size_t i = 0; i < sums->count; i++) {
			const struct tally_entry *sum = &sums->entries[i];
			uint64_t us = options->folded_by == FOLDED_BY_SELF_CUDA ? sum->more : sum->ns;

			if (us && (options->process < 0 || sum->key.part[1] == (uint32_t)options->process))
				lines[count++] = (struct folded_line){
					line_text(all.model, &all.model->stacks[sum->key.part[0]]), us};
		}
		folded_lines_put(sink, lines, count);
		/* one process of several may have none; otherwise the request cannot be met */
		if (!count && options->process < 0)
			error = -ENODATA;
	}
	analyses_free(&all);
	return error;
}
