/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer as a whole: how busy GPUs were, that nothing needs fixing or can be said, and what is doubtful. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/page/parts.h"
#include "report/table/text.h"
#include "report/why/why_words.h"

/* If more than one in this many launches has no GPU times, idle time is doubtful. */
#define UNTIMED_SHARE 50u

/* If more than one part in this many of the time was lost without a culprit, a caution says so. */
#define WHY_BEGUN_SHARE 20u

/* "11 steps of training", "the 9.80 s from its first operation to its last" */
static char *what_was_looked_at(const struct why *why)
{
	bool many = why->devices.count > 1;
	const char *whose = many ? "their" : "its", *sum = many ? ", added up" : "";

	if (why->step_count)
		return xasprintf("%s steps of training, %s%s", number_count(why->step_count).text,
				 number_time(why->looked_ns).text, sum);
	return xasprintf("the %s from %s first operation to %s last%s", number_time(why->looked_ns).text, whose, whose,
			 sum);
}

char *why_busy(const struct analyses *all)
{
	const struct why *why = &all->why;
	AUTO_FREE char *gpus =
		why->devices.count > 1 ? xasprintf("%zu GPUs were", why->devices.count) : xstrdup("The GPU was");
	AUTO_FREE char *what = what_was_looked_at(why);
	char *text =
		xasprintf("%s busy for %s %% of %s.", gpus,
			  number_percent((double)(why->looked_ns - why->idle_ns), (double)why->looked_ns).text, what);

	return text;
}

/* Where GPUs had work in less than half of the trace, how long they had none before and after it; else "". */
static char *outside_text(const struct analyses *all)
{
	const struct why *why = &all->why;
	uint64_t trace_ns = all->window.end_ns - all->window.start_ns;
	uint64_t worked_ns = why->devices.count ? why->looked_ns / why->devices.count : 0;

	if (why->step_count || worked_ns >= trace_ns / 2)
		return xstrdup("");
	return xasprintf("; in the other %s no GPU work was seen", number_time(trace_ns - worked_ns).text);
}

char *why_nothing(const struct analyses *all)
{
	const struct why *why = &all->why;
	AUTO_FREE char *outside = NULL;

	if (why->lost_ns >= why->looked_ns / WHY_MEND_SHARE)
		return xstrdup("No cause that this trace shows has 1 % of that time or more.");
	outside = outside_text(all);
	return xasprintf("Nothing to mend: %s %% of that time was lost%s.",
			 number_percent((double)why->lost_ns, (double)why->looked_ns).text, outside);
}

/* ---- when nothing can be said ------------------------------------------------------------------------------------ */

static char *nothing_recorded(const struct analyses *all)
{
	AUTO_FREE char *reason = all->model->process_count
					 ? report_unseen_reason(all->model)
					 : xstrdup("No process with a CUDA library was found: `gputrace "
						   "doctor` says what it can see.");

	return xasprintf("No CUDA call was seen in %s. %s", number_time(all->window.end_ns - all->window.start_ns).text,
			 reason);
}

static char *nothing_timed(const struct analyses *all)
{
	char *reason = report_untimed_reason(all);

	if (!reason)
		reason = xstrdup("GPU times come from CUPTI: `gputrace doctor -p PID` says what keeps it from a "
				 "process.");
	return xjoin(reason, " ",
		     xasprintf("%s CUDA call%s seen, but no GPU times: when the GPU worked is not in this trace.",
			       number_count(all->calls).text, all->calls == 1 ? " was" : "s were"));
}

static char *none_in_slice(const struct analyses *all)
{
	uint64_t untimed = all->untimed.launches.events;
	AUTO_FREE char *known = untimed ? xasprintf("%s launch%s no GPU times: whether GPUs worked is not known",
						    number_count(untimed).text, untimed == 1 ? " has" : "es have")
					: xstrdup("GPUs worked only before it, or only after it");

	return xasprintf("No GPU operation is in this slice: %s. Take a slice that has some, with another --from or "
			 "--to.",
			 known);
}

/* GPU work is in the trace, but none in the time that is looked at. */
static char *none_looked_at(const struct why *why)
{
	if (why->step_count)
		return xasprintf("No GPU operation ran in the %s steps of training of this trace: what GPUs did is "
				 "before and after them. --step says what a step is.",
				 number_count(why->step_count).text);
	return xstrdup("No GPU operation ran while this was recorded, so there is no time between two of them to look "
		       "at: record for longer.");
}

/* Of a file that is cut or damaged, what lacks may be in the rest. */
static char *none_in_file(const struct analyses *all)
{
	bool is_whole = all->complete.end == COMPLETE_ENDED;

	return xasprintf("%s CUDA call%s and no GPU work are in %s: when the GPU worked is not known. %s",
			 all->calls ? number_count(all->calls).text : "No", all->calls == 1 ? "" : "s",
			 is_whole ? "this file" : "what could be read of this file, which is cut short or damaged",
			 is_whole ? "Its tool records it where it is asked to: torch.profiler with "
				    "ProfilerActivity.CUDA, nsys with --trace=cuda."
				  : "Copy the file again, or write it again.");
}

char *why_unknown(const struct analyses *all)
{
	const struct why *why = &all->why;

	if (!all->gpu_ops && analyses_know_gpus(all))
		return why->looked_ns ? NULL : none_in_slice(all);
	if (model_is_foreign(all->model) && !all->gpu_ops)
		return none_in_file(all);
	if (!all->calls && !all->gpu_ops)
		return nothing_recorded(all);
	if (!all->gpu_ops || !why->any_gpu)
		return nothing_timed(all);
	if (!why->looked_ns)
		return none_looked_at(why);
	return NULL;
}

static bool lacks_set(const struct analyses *all, const char *name)
{
	for (size_t i = 0; i < all->complete.set_count; i++)
		if (!strcmp(all->complete.sets[i], name))
			return true;
	return false;
}

static bool waits_for_python(const struct analyses *all)
{
	return all->why.sums[WHY_PYTHON].ns + all->why.sums[WHY_PROGRAM].ns > all->why.looked_ns / WHY_LEAST_SHARE;
}

static bool asked_for_ops(const struct model *model)
{
	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].ops_state)
			return true;
	return false;
}

char *why_caution(const struct analyses *all, unsigned index)
{
	uint64_t meant = all->complete.launches_meant, untimed = all->untimed.launches.events;

	if (meant && untimed > meant / UNTIMED_SHARE && !index--)
		return xasprintf("%s of %s launches have no GPU times: the GPU may have been less idle than this says.",
				 number_count(untimed).text, number_count(meant).text);
	if (lacks_set(all, "cuda") && !index--)
		return xstrdup("Copies were not recorded (--kernels-only, or --trace without cuda): they count as idle "
			       "time.");
	if (all->why.sums[WHY_GPU].ns > all->why.looked_ns / WHY_BEGUN_SHARE && !index--)
		return xasprintf(
			"For %s the GPU had work that was launched and did not begin it: what it waited "
			"for is not in this trace. It may be another stream's work%s, or a process that was not "
			"traced.",
			number_time(all->why.sums[WHY_GPU].ns).text,
			model_is_of_other_tool(all->model) ? "" : " (--trace sync records such waits)");
	if (!ran_is_known(&all->idle.ran) && waits_for_python(all) && !model_is_foreign(all->model) && !index--)
		return xstrdup(
			"What ran while the GPU waited is not in this trace: with root, -p or a COMMAND it is recorded "
			"by default, with the line and the process to blame.");
	if (!asked_for_ops(all->model) && waits_for_python(all) && !index--)
		return xasprintf("Whether Python was in PyTorch's DataLoader or compiler cannot be said: %s.",
				 model_is_foreign(all->model) ? "no ops of PyTorch are in the file"
							      : "the trace was taken without --ops");
	return NULL;
}

size_t why_worth(const struct analyses *all)
{
	const struct why *why = &all->why;
	size_t count = 0;

	if (why->lost_ns < why->looked_ns / WHY_MEND_SHARE)
		return 0;
	while (count < why->count && why->losses[count].ns >= why->looked_ns / WHY_LEAST_SHARE)
		count++;
	return count;
}
