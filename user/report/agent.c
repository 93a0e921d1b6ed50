/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says for each process why it has no GPU times, and what to do about it. */
#include <inttypes.h>
#include <string.h>

#include "report/page/parts.h"

#define PROCESSES_NAMED 10u /* of more that made no call the first one is no likely culprit */

struct hint {
	const char *why, *remedy;
};

/* Remedies on which `gputrace doctor` says more while the process runs. */
static const char let_it_in[] = "start the program as `gputrace -- COMMAND`, or see what keeps the agent out";
static const char see_what_works[] = "see what works in the process";

static const char not_at_work[] = "gputrace's CUPTI agent was not at work in the process";

/* Never advises what was done already, or cannot be done any more. */
static const struct hint no_agent[] = {
	{"the trace was taken with --agent off", "record without it"},
	{not_at_work, "see that CUDA starts there (nvidia-smi); a note says so where the agent could not come in"},
	{not_at_work, "it has ended: start the program as `gputrace -- COMMAND`, and the driver loads the agent"},
	{not_at_work, let_it_in},
};

enum {
	AGENT_OFF,
	AGENT_STARTED,
	AGENT_ENDED,
	AGENT_RUNS,
};

/* indexed by enum gpt_agent_failure */
static const struct hint failures[] = {
	[GPT_AGENT_OK] = {"the agent failed and did not say why", see_what_works},
	[GPT_AGENT_NO_CUPTI] =
		{"no libcupti was found",
		 "install the one of the process's CUDA, for example with pip install nvidia-cuda-cupti-cu12"},
	[GPT_AGENT_CUPTI_UNUSABLE] = {"its libcupti cannot be used",
				      "use CUPTI 11.8 or later, of the CUDA of the process"},
	[GPT_AGENT_OCCUPIED] = {"another tool holds CUPTI", "end the other profiler, or trace without it"},
	[GPT_AGENT_NO_CUDA] = {"CUPTI found no usable NVIDIA driver", "check it with nvidia-smi"},
	[GPT_AGENT_CUPTI_ERROR] = {"CUPTI answered with an error", see_what_works},
	[GPT_AGENT_NO_RESOURCES] = {"there was no memory or thread for the agent",
				    "raise that limit, of a process that runs with prlimit --pid PID"},
};

static const struct hint loaded = {
	"the agent is loaded and still waits for CUDA to start",
	"trace again once the program uses the GPU",
};

static const struct hint loaded_to_the_end = {
	"the agent was loaded and CUDA did not start before the process ended",
	"see that CUDA starts there (nvidia-smi)",
};

static const struct hint ready = {
	"the agent listened and CUPTI delivered nothing",
	"no call reached a GPU, or the trace ended before CUPTI handed its buffers over: trace longer",
};

static const struct hint silent = {
	"the agent had listened, and did not answer when the trace ended",
	"trace while the program runs; a note says so where it was frozen or stopped",
};

static const struct hint other_profiler = {
	"another profiler (torch.profiler) recorded, or might have, and nothing came from its buffers",
	"trace longer: a quarter of a second of launches shows whether one does, its buffers come when it ends",
};

static bool is_pid_list(const char *target)
{
	return !strncmp(target, "pid ", 4) && strspn(target + 4, "0123456789,") == strlen(target + 4);
}

/* Whether gputrace started the program, from the target text that session.c writes. */
static bool was_started(const struct model *model)
{
	const char *target = model_source(model)->target;

	return *target && strcmp(target, "all processes") != 0 && !is_pid_list(target);
}

static const struct hint *hint_without_agent(const struct model *model, const struct model_process *process)
{
	if (model->gpu_times == MODEL_GPU_TIMES_OFF)
		return &no_agent[AGENT_OFF];
	if (was_started(model))
		return &no_agent[AGENT_STARTED];
	return &no_agent[process->exit_ns ? AGENT_ENDED : AGENT_RUNS];
}

/* Only a trace that ended as it should has asked it to stop. */
static bool did_not_answer(const struct model *model, const struct model_process *process)
{
	return !process->exit_ns && gpt_agent_is_live(process->agent_state) && !model_source(model)->receipt.truncated;
}

static const struct hint *hint_of(const struct model *model, const struct model_process *process)
{
	switch (process->agent_state) {
	case GPT_AGENT_LOADED:
		return process->exit_ns ? &loaded_to_the_end : &loaded;
	case GPT_AGENT_READY:
	case GPT_AGENT_BORROWING:
	case GPT_AGENT_STOPPED:
		if (process->agent_idle && !*process->agent_activity_sets)
			return &other_profiler;
		return did_not_answer(model, process) ? &silent : &ready;
	case GPT_AGENT_FAILED:
		return process->agent_failure < sizeof(failures) / sizeof(failures[0])
			       ? &failures[process->agent_failure]
			       : &failures[GPT_AGENT_OK];
	default:
		return hint_without_agent(model, process);
	}
}

/* Next to processes that have them: only if GPU times were requested, and the process's agent never recorded. */
static bool lacks_times(const struct analyses *all, const struct model_process *process)
{
	if (!all->gpu_ops)
		return process->calls;
	return process->calls && !process->gpu_ops && !process->agent_ready_ns &&
	       all->model->gpu_times == MODEL_GPU_TIMES_MEANT;
}

static void put_head(struct report *report)
{
	if (report->writer)
		report_title(report, "no_gpu_times", "No GPU times", NULL);
	else
		fputc('\n', report->out);
}

/* Does not send the user to a process that has ended. */
static char *remedy_of(const struct hint *hint, const struct model_process *process)
{
	if (hint->remedy != let_it_in && hint->remedy != see_what_works)
		return xstrdup(hint->remedy);
	if (process->exit_ns)
		return xasprintf("%s; it has ended: of the next one `gputrace doctor -p PID` says it while it runs",
				 hint->remedy);
	return xasprintf("%s: `gputrace doctor -p %" PRIu32 "`", hint->remedy, process->pid);
}

static const char *detail_of(const struct model_process *process)
{
	return process->agent_detail ? process->agent_detail : "";
}

static char *reason_of(const struct hint *hint, const struct model_process *process)
{
	const char *detail = detail_of(process);
	AUTO_FREE char *remedy = remedy_of(hint, process);

	return xasprintf("No GPU times for pid %" PRIu32 ": %s%s%s%s. To get them: %s.", process->pid, hint->why,
			 *detail ? " (" : "", detail, *detail ? ")" : "", remedy);
}

char *report_untimed_reason(const struct analyses *all)
{
	const struct model *model = all->model;

	for (uint32_t i = 0; i < model->process_count && !all->gpu_ops; i++)
		if (lacks_times(all, &model->processes[i]))
			return reason_of(hint_of(model, &model->processes[i]), &model->processes[i]);
	return NULL;
}

void report_no_gpu(struct report *report)
{
	const struct model *model = report->model;
	const struct hint *last = NULL;
	bool said = !report->writer && !report->all->gpu_ops; /* the verdict has the first one */
	unsigned shown = 0;

	for (uint32_t i = 0; i < model->process_count && shown < report->rows; i++) {
		const struct model_process *process = &model->processes[i];
		const struct hint *hint = hint_of(model, process);
		AUTO_FREE char *text = NULL;

		if (!lacks_times(report->all, process) || (last && hint == last && !*detail_of(process)))
			continue;
		last = hint;
		if (said) {
			said = false;
			continue;
		}
		if (!shown++)
			put_head(report);
		text = reason_of(hint, process);
		report_text(report, 2, "%s", text);
	}
}

char *report_unseen_reason(const struct model *model)
{
	if (model->process_count > PROCESSES_NAMED && !model->slice) /* which may lack those that made one */
		return xasprintf(
			"None of %s processes made one. If the one that you mean stands still, `gputrace dump -p "
			"PID` shows what its threads do and wait for. If it does call CUDA, `gputrace doctor "
			"-p PID` says what keeps that from being seen.",
			number_count(model->process_count).text);
	for (uint32_t i = 0; i < model->process_count; i++)
		if (!model->processes[i].exit_ns)
			return xasprintf("Is the process idle, or does it hang? `gputrace dump -p %" PRIu32
					 "` shows what its threads do and wait for, within seconds. If it does call "
					 "CUDA, `gputrace doctor -p %" PRIu32 "` says what keeps that from being seen.",
					 model->processes[i].pid, model->processes[i].pid);
	return xasprintf(
		"%s before the trace did: no call of a CUDA library that gputrace sees was made by then. What was "
		"not seen is in the notes, if anything was.",
		model->process_count > 1 ? "All processes ended" : "The process ended");
}
