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

static void put_frames(struct sink *out, struct analyses *all, const struct idle_charge *charge)
{
	folded_put_frame(out, all->model->processes[charge->process].name);
	if (charge->what.part[1] == WHY_SHORT) {
		folded_put_frame(out, "[gaps under 5 us]");
	} else {
		put_stack(out, all, charge->launch_place);
		put_note(out, idle_charge_words(&all->idle, charge));
		put_culprit(out, all, charge);
	}
}

static void put_charges(struct sink *sink, struct analyses *all, int process)
{
	struct folded_lines lines;

	folded_lines_begin(&lines);
	for (size_t i = 0; i < idle_charge_count(&all->idle); i++) {
		struct idle_charge charge = idle_charge_at(&all->idle, i);

		if (process >= 0 && charge.process != (uint32_t)process)
			continue;
		put_frames(&lines.frames, all, &charge);
		folded_lines_end_line(&lines, charge.ns);
	}
	folded_lines_put(sink, &lines);
}

int folded_idle_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct analyses all;
	int error = analyze(&all, trace, ANALYSES(ANALYZE_IDLE), &options->attribution);

	if (!error && !all.idle.sum)
		error = -ENODATA;
	if (!error)
		put_charges(sink, &all, options->process);
	analyses_free(&all);
	return error;
}
