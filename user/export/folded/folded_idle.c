/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Idle time of GPUs by stack: that of the launch that ended a gap, then what happened, and the stack to blame. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "base/array.h"
#include "export/folded/folded.h"
#include "export/folded/folded_lines.h"
#include "export/file/stack_frames.h"
#include "report/why/why_words.h"

static void put_note(struct sink *out, char *words)
{
	AUTO_FREE char *note = xasprintf("[%s]", words);

	folded_put_frame(out, note);
	free(words);
}

/* For a thread without Python: the reason. */
static void put_reason(struct sink *out, struct analyses *all, uint32_t place)
{
	folded_put_frame(out, all->lines.all.items[line_of(&all->lines, place)].reason);
}

static void put_stack(struct sink *out, struct analyses *all, uint32_t place)
{
	if (place < CALLER_NO_FRAME)
		stack_python_frames(all->model, place, folded_take_frame, out);
	else
		put_reason(out, all, place);
}

/* If the culprit is another process than the launching one, adds its name. */
static void put_culprit(struct sink *out, struct analyses *all, const struct idle_charge *charge)
{
	uint32_t place = charge->what.part[0], process = idle_charge_process(&all->idle, charge);

	if (process != charge->process)
		folded_put_frame(out, all->model->processes[process].name);
	if (place != charge->launch_place || process != charge->process)
		put_stack(out, all, place);
}

static char *line_text(struct analyses *all, const struct idle_charge *charge)
{
	struct sink out;
	char *text;

	sink_open_memory(&out);
	folded_put_frame(&out, all->model->processes[charge->process].name);
	if (charge->what.part[1] == WHY_SHORT) {
		folded_put_frame(&out, "[gaps under 5 us]");
	} else {
		put_stack(&out, all, charge->launch_place);
		put_note(&out, idle_charge_words(&all->idle, charge));
		put_culprit(&out, all, charge);
	}
	sink_char(&out, '\0');
	text = xstrdup(out.buffer);
	sink_close(&out);
	return text;
}

int folded_idle_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct folded_line *lines;
	struct analyses all;
	int error = analyze(&all, trace, ANALYSES(ANALYZE_IDLE), &options->attribution);
	size_t count = 0;

	if (!error && !all.idle.sum)
		error = -ENODATA;
	if (!error) {
		lines = xmalloc((idle_charge_count(&all.idle) + 1) * sizeof(*lines));
		for (size_t i = 0; i < idle_charge_count(&all.idle); i++) {
			struct idle_charge charge = idle_charge_at(&all.idle, i);

			if (options->process < 0 || charge.process == (uint32_t)options->process)
				lines[count++] = (struct folded_line){line_text(&all, &charge), charge.ns};
		}
		folded_lines_put(sink, lines, count);
		free(lines);
	}
	analyses_free(&all);
	return error;
}
