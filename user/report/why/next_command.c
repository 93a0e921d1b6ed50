/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/why/next_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"
#include "report/why/why_words.h"

#define NAME_MOST 40u /* characters of a name */

/* Whether a shell takes a name from the traced program as the word that it is, and a line has room for it. */
static bool is_plain_word(const char *name)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";

	return *name && strspn(name, plain) == strlen(name) && strlen(name) <= NAME_MOST;
}

/* What --lines takes for the function around a line, else for its file; NULL: there is no plain word for it. */
static const char *name_for_lines(const struct lines *lines, uint32_t line)
{
	const struct line *place = line == NONE ? NULL : &lines->all.items[line];
	const char *dot, *slash;

	if (!place || place->reason)
		return NULL;
	if (is_plain_word(place->function))
		return place->function;
	dot = strrchr(place->function, '.');
	if (dot && is_plain_word(dot + 1))
		return dot + 1;
	slash = strrchr(place->file, '/');
	return is_plain_word(slash ? slash + 1 : place->file) ? (slash ? slash + 1 : place->file) : NULL;
}

static char *command_for_why(const struct analyses *all)
{
	AUTO_FREE char *file = report_file(all);

	return xasprintf("gputrace why%s", file);
}

static char *command_for_line(const struct analyses *all, uint32_t line)
{
	const char *name = name_for_lines(&all->lines, line);
	AUTO_FREE char *file = report_file(all);

	return name ? xasprintf("gputrace report%s --lines %s", file, name) : command_for_why(all);
}

/* Where nothing was sampled, a recording with samples knows more than any look at this one. */
static char *command_with_samples(const struct analyses *all, const struct why_finding *finding)
{
	const struct model_process *process = &all->model->processes[finding->line->process];

	if (process->exit_ns)
		return xstrdup("sudo gputrace why -- COMMAND");
	return xasprintf("sudo gputrace why -p %" PRIu32, process->pid);
}

/* Samples are missing that a recording with root's rights would have. */
static bool lacks_samples(const struct analyses *all, const struct why_finding *finding)
{
	enum why_cause cause = finding->loss->cause;

	return (cause == WHY_PYTHON || cause == WHY_PROGRAM || cause == WHY_UNSAMPLED) &&
	       !(all->idle.ran.samples && all->idle.ran.waits) && !model_is_foreign(all->model) &&
	       !all->model->no_sudo && !why_lowered_advice(all, finding->loss);
}

static char *command_for(const struct analyses *all, const struct why_finding *finding)
{
	const struct line_row *owner = all->gpu_lines.count ? &all->gpu_lines.rows[0] : NULL;

	if (finding && lacks_samples(all, finding))
		return command_with_samples(all, finding);
	if (finding && why_is_culprit(finding->loss->cause, finding->line))
		return command_for_line(all, finding->line->line);
	if (finding || !owner)
		return command_for_why(all);
	return command_for_line(all, owner->user_line == NONE ? owner->line : owner->user_line);
}

char *next_command(const struct analyses *all, const struct why_finding *finding, bool has_caution)
{
	AUTO_FREE char *command = command_for(all, finding);
	bool says_why = finding && lacks_samples(all, finding) && !has_caution;

	return xasprintf("Next: %s%s", command, says_why ? " (what ran meanwhile is not in this trace)" : "");
}
