/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds names and times of the command line in the tables of a recording. */
#include "cmd/output/slicing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "report/table/text.h"

/* How many names a message lists. */
#define NAMED_MAX 8

/* ---- lists for messages ----------------------------------------------------------------------------------------- */

struct names {
	char *text;
	unsigned count;
};

/* Takes over the name; does not add one that is there already. */
static void add_name(struct names *names, char *name)
{
	char *longer;

	if (names->count <= NAMED_MAX && !(names->text && strstr(names->text, name))) {
		longer = xasprintf("%s%s%s", names->text ? names->text : "", names->text ? ", " : "",
				   names->count < NAMED_MAX ? name : "...");
		free(names->text);
		names->text = longer;
		names->count++;
	}
	free(name);
}

static const char *text_of_names(const struct names *names)
{
	return names->text ? names->text : "none";
}

/* ---- processes -------------------------------------------------------------------------------------------------- */

uint32_t slicing_pid(const char *process)
{
	size_t digits = strspn(process, "0123456789");

	return digits && digits < 10 && !process[digits] ? (uint32_t)strtoul(process, NULL, 10) : 0;
}

/* Whether a word of a command line (up to a blank) ends in that name, after the last slash. */
static bool word_is(const char *word, const char *name)
{
	size_t length = strcspn(word, " "), wanted = strlen(name);

	return length >= wanted && !memcmp(word + length - wanted, name, wanted) &&
	       (length == wanted || word[length - wanted - 1] == '/');
}

/* Compares with the process's name, its program's file, or the first two words of its command line ("python train.py").
 */
static bool is_called(const struct model_process *process, const char *name)
{
	const char *second = process->cmdline + strcspn(process->cmdline, " ");

	if (slicing_pid(name))
		return slicing_pid(name) == process->pid;
	return !strcmp(process->name, name) || !strcmp(path_base(process->exe), name) ||
	       word_is(process->cmdline, name) || (*second && word_is(second + 1, name));
}

static enum exit_code no_such_process(const struct model *model, const char *log_name, const char *wanted)
{
	struct names names = {0};

	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].calls || model->processes[i].gpu_ops)
			add_name(&names,
				 xasprintf("%" PRIu32 " (%s)", model->processes[i].pid, model->processes[i].name));
	msg_error("--process %s: is not in %s; it has %s", wanted, log_name, text_of_names(&names));
	free(names.text);
	return EXIT_FAILED;
}

static struct process_facts facts_of(const struct model_process *process)
{
	return (struct process_facts){.comm = process->name,
				      .uid = process->uid,
				      .cgroup = process->cgroup,
				      .container = process->container,
				      .container_name = process->container_name,
				      .pod = process->pod,
				      .pod_name = process->pod_name};
}

static const char *const selection_options[SELECTION_KINDS] = {
	[SELECTION_COMM] = "comm",	     [SELECTION_USER] = "user", [SELECTION_CGROUP] = "cgroup",
	[SELECTION_CONTAINER] = "container", [SELECTION_POD] = "pod",
};

/* What a message lists of a process; NULL: that is not known of it. */
static char *fact_text(const struct model_process *process, enum selection_kind kind)
{
	const char *id = kind == SELECTION_POD ? process->pod : process->container;
	const char *name = kind == SELECTION_POD ? process->pod_name : process->container_name;

	switch (kind) {
	case SELECTION_COMM:
		return xstrdup(process->name);
	case SELECTION_USER:
		return process->uid == NONE ? NULL : xasprintf("%" PRIu32, process->uid);
	case SELECTION_CGROUP:
		return *process->cgroup ? xstrdup(process->cgroup) : NULL;
	default:
		return !*id ? NULL : *name ? xasprintf("%s (%.12s)", name, id) : xasprintf("%.12s", id);
	}
}

static enum exit_code none_selected(const struct model *model, const char *log_name, enum selection_kind kind,
				    const char *wanted)
{
	struct names names = {0};

	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];
		char *text = process->calls || process->gpu_ops ? fact_text(process, kind) : NULL;

		if (text)
			add_name(&names, text);
	}
	msg_error("--%s %s: fits no process of %s; it has %s", selection_options[kind], wanted, log_name,
		  text_of_names(&names));
	free(names.text);
	return EXIT_FAILED;
}

/* Whether some process fits the value. */
static bool fits_any(const struct model *model, enum selection_kind kind, const char *value)
{
	for (uint32_t i = 0; i < model->process_count; i++) {
		struct process_facts facts = facts_of(&model->processes[i]);

		if (selection_value_fits(kind, value, &facts))
			return true;
	}
	return false;
}

static enum exit_code check_selection(const struct selection *selection, const struct model *model,
				      const char *log_name)
{
	for (enum selection_kind kind = 0; kind < SELECTION_KINDS; kind++)
		for (size_t i = 0; i < selection->values[kind].count; i++)
			if (!fits_any(model, kind, selection->values[kind].items[i]))
				return none_selected(model, log_name, kind, selection->values[kind].items[i]);
	return EXIT_GOOD;
}

static void select_processes(struct slicing *slicing, const struct selection *selection, const struct model *model)
{
	if (selection_is_empty(selection))
		return;
	if (!slicing->processes) {
		slicing->slice.processes = slicing->processes =
			xcalloc(model->process_count, sizeof(*slicing->processes));
		memset(slicing->processes, true, model->process_count * sizeof(*slicing->processes));
	}
	for (uint32_t i = 0; i < model->process_count; i++) {
		struct process_facts facts = facts_of(&model->processes[i]);

		slicing->processes[i] &= selection_fits(selection, &facts);
	}
}

/* NULL, or a name that fits no process. */
static const char *find_processes(struct slicing *slicing, const struct slice_options *options,
				  const struct model *model)
{
	const char *missing = NULL;

	if (!options->processes.list.count)
		return NULL;
	slicing->slice.processes = slicing->processes = xcalloc(model->process_count, sizeof(*slicing->processes));
	for (size_t n = 0; n < options->processes.list.count; n++) {
		const char *wanted = options->processes.list.items[n];
		bool found = false;

		for (uint32_t i = 0; i < model->process_count; i++)
			if (is_called(&model->processes[i], wanted))
				found = slicing->processes[i] = true;
		if (!found)
			missing = wanted;
	}
	return missing;
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static uint32_t pid_of(const struct model *model, uint32_t thread)
{
	return model->processes[model->threads[thread].process].pid;
}

static enum exit_code no_such_thread(const struct model *model, const char *log_name, const struct thread_value *wanted,
				     bool ambiguous)
{
	AUTO_FREE char *own = wanted->pid ? xasprintf("%" PRIu32 "/%" PRIu32, wanted->pid, wanted->tid)
					  : xasprintf("%" PRIu32, wanted->tid);
	struct names names = {0};

	for (uint32_t i = 0; i < model->thread_count; i++)
		if (ambiguous ? model->threads[i].tid == wanted->tid : model->threads[i].calls > 0)
			add_name(&names, xasprintf("%" PRIu32 "/%" PRIu32, pid_of(model, i), model->threads[i].tid));
	if (ambiguous)
		msg_error("--thread %s: several processes of %s had such a thread (%s): --process chooses one", own,
			  log_name, text_of_names(&names));
	else
		msg_error("--thread %s: is not in %s; it has %s", own, log_name, text_of_names(&names));
	free(names.text);
	return EXIT_FAILED;
}

/* Marks the threads with that id; returns how many processes had one. */
static unsigned find_thread(struct slicing *slicing, const struct slice_options *options, const struct model *model)
{
	const struct thread_value *wanted = &options->thread;
	unsigned found = 0;
	uint32_t pid = 0;

	slicing->slice.threads = slicing->threads = xcalloc(model->thread_count, sizeof(*slicing->threads));
	for (uint32_t i = 0; i < model->thread_count; i++) {
		uint32_t process = model->threads[i].process;

		if (model->threads[i].tid != wanted->tid || (wanted->pid && pid_of(model, i) != wanted->pid) ||
		    (slicing->processes && !slicing->processes[process]))
			continue;
		found += pid != pid_of(model, i);
		pid = pid_of(model, i);
		slicing->threads[i] = true;
	}
	return found;
}

/* ---- GPUs ------------------------------------------------------------------------------------------------------- */

static enum exit_code no_such_gpu(const struct model *model, const char *log_name, uint32_t wanted)
{
	struct names names = {0};

	for (uint32_t i = 0; i < model->device_count; i++)
		add_name(&names, xasprintf("GPU %" PRIu32, model->devices[i].id));
	msg_error("--gpu %" PRIu32 ": is not in %s; it has %s", wanted, log_name, text_of_names(&names));
	free(names.text);
	return EXIT_FAILED;
}

static bool has_gpu(const struct model *model, uint32_t wanted)
{
	return any_of(model->device_count, i, model->devices[i].id == wanted);
}

/* ---- times ------------------------------------------------------------------------------------------------------ */

void slicing_times(const struct slice_options *options, const struct moment_clock *clock, uint64_t *from_ns,
		   uint64_t *to_ns)
{
	*from_ns = options->from.kind ? moment_resolve(&options->from, clock) : 0;
	*to_ns = options->to.kind ? moment_resolve(&options->to, clock) : UINT64_MAX;
}

static enum exit_code find_times(struct slicing *slicing, const struct slice_options *options,
				 const struct model *model, const char *log_name)
{
	struct moment_clock clock = {.start_ns = model->start_ns,
				     .end_ns = model->end_ns > model->start_ns ? model->end_ns : model->start_ns,
				     .wall_offset_ns = model_source(model)->wall_offset_ns};
	bool has_from = options->from.kind, has_to = options->to.kind;
	struct number lasts = number_time(clock.end_ns - clock.start_ns);

	uint64_t from, to;

	slicing_times(options, &clock, &from, &to);
	slicing->slice.from_ns = has_from && from > clock.start_ns ? from : 0;
	slicing->slice.to_ns = has_to && to < clock.end_ns ? to : UINT64_MAX;
	if (has_from && has_to && to <= from) {
		msg_error("--to %s: is not after --from %s; nothing lies between them", options->to.text,
			  options->from.text);
		return EXIT_USAGE;
	}
	if (has_from && from >= clock.end_ns) {
		msg_error("--from %s: is after the end of %s, which lasts %s", options->from.text, log_name,
			  lasts.text);
		return EXIT_FAILED;
	}
	if (has_to && to <= clock.start_ns) {
		msg_error("--to %s: is before the start of %s, which lasts %s", options->to.text, log_name, lasts.text);
		return EXIT_FAILED;
	}
	return EXIT_GOOD;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* Takes over the addition. */
static void add_words(char **words, char *addition)
{
	char *longer = xasprintf("%s%s%s", *words, **words ? "; " : "", addition);

	free(*words);
	free(addition);
	*words = longer;
}

static char *steps_words(const struct steps_value *steps)
{
	if (steps->last == UINT64_MAX)
		return xasprintf("steps from %" PRIu64 " on", steps->first);
	if (steps->last == steps->first)
		return xasprintf("step %" PRIu64, steps->first);
	return xasprintf("steps %" PRIu64 " to %" PRIu64, steps->first, steps->last);
}

static char *words_of(const struct slice *slice, const struct slice_options *options, const struct model *model)
{
	uint64_t lasts = model->end_ns > model->start_ns ? model->end_ns - model->start_ns : 0;
	char *words = xstrdup("");

	if (slice->from_ns || slice->to_ns != UINT64_MAX)
		add_words(
			&words,
			xasprintf("%s to %s of %s",
				  number_time(slice->from_ns ? slice->from_ns - model->start_ns : 0).text,
				  number_time(slice->to_ns != UINT64_MAX ? slice->to_ns - model->start_ns : lasts).text,
				  number_time(lasts).text));
	if (options->steps.has_any)
		add_words(&words, steps_words(&options->steps));
	if (options->cycle)
		add_words(&words, xasprintf(model->schedule.is_capture ? "capture range %" PRIu64
								       : "cycle %" PRIu64 " of the schedule",
					    options->cycle));
	for (size_t i = 0; i < options->processes.list.count; i++)
		add_words(&words, xasprintf("process %s", options->processes.list.items[i]));
	for (enum selection_kind kind = 0; kind < SELECTION_KINDS; kind++)
		for (size_t i = 0; i < options->selection.values[kind].count; i++)
			add_words(&words, xasprintf("%s %s", selection_options[kind],
						    options->selection.values[kind].items[i]));
	if (options->thread.tid)
		add_words(&words, xasprintf("thread %" PRIu32, options->thread.tid));
	if (slice->device != NONE)
		add_words(&words, xasprintf("GPU %" PRIu32, slice->device));
	if (!*words)
		add_words(&words, xasprintf("all %s", number_time(lasts).text));
	return words;
}

enum exit_code slicing_find(struct slicing *slicing, const struct slice_options *options, const struct model *recorded,
			    const char *log_name)
{
	enum exit_code code;
	const char *missing;
	unsigned found;

	if (!log_name)
		log_name = "what was recorded";

	*slicing = (struct slicing){.slice = {.device = options->has_gpu ? options->gpu : NONE}};
	code = find_times(slicing, options, recorded, log_name);
	if (code)
		return code;
	missing = find_processes(slicing, options, recorded);
	if (missing)
		return no_such_process(recorded, log_name, missing);
	code = check_selection(&options->selection, recorded, log_name);
	if (code)
		return code;
	select_processes(slicing, &options->selection, recorded);
	found = options->thread.tid ? find_thread(slicing, options, recorded) : 1;
	if (found != 1)
		return no_such_thread(recorded, log_name, &options->thread, found > 1);
	if (options->has_gpu && !has_gpu(recorded, options->gpu))
		return no_such_gpu(recorded, log_name, options->gpu);
	slicing->words = words_of(&slicing->slice, options, recorded);
	return EXIT_GOOD;
}

void slicing_find_span(struct slicing *slicing, const struct slice_options *options, const struct model *recorded,
		       uint64_t from_ns, uint64_t to_ns)
{
	*slicing = (struct slicing){
		.slice = {.from_ns = from_ns, .to_ns = to_ns, .device = options->has_gpu ? options->gpu : NONE}};
	find_processes(slicing, options, recorded);
	select_processes(slicing, &options->selection, recorded);
	if (options->thread.tid)
		find_thread(slicing, options, recorded);
	slicing->words = words_of(&slicing->slice, options, recorded);
}

void slicing_add_steps(struct slicing *slicing, const struct steps *steps, const struct model *recorded)
{
	struct slice *slice = &slicing->slice;

	slice->spans = slicing->spans = xcalloc(recorded->process_count, sizeof(*slicing->spans));
	for (uint32_t i = 0; i < recorded->process_count; i++) {
		const struct step_track *track = steps_of_process(steps, recorded, i);
		uint64_t from_ns = slice->from_ns, to_ns = slice->to_ns;

		if (!track)
			continue;
		if (track->list.items[0].start_ns > from_ns)
			from_ns = track->list.items[0].start_ns;
		if (track->list.items[track->list.count - 1].end_ns < to_ns)
			to_ns = track->list.items[track->list.count - 1].end_ns;
		slicing->spans[i] = (struct slice_span){.from_ns = from_ns, .to_ns = to_ns > from_ns ? to_ns : from_ns};
	}
}

void slicing_name_steps(struct slicing *slicing, const struct steps *steps)
{
	const struct step_track *track = &steps->tracks.items[0];

	add_words(&slicing->words,
		  steps_words(&(struct steps_value){.first = track->list.items[0].number,
						    .last = track->list.items[track->list.count - 1].number}));
}

void slicing_free(struct slicing *slicing)
{
	free(slicing->spans);
	free(slicing->processes);
	free(slicing->threads);
	free(slicing->words);
}
