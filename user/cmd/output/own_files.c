/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last part of a trace knows what processes did; their collectives give their ranks. */
#include "cmd/output/own_files.h"

#include "analyze/analyze.h"
#include "base/msg.h"
#include "cmd/options/format.h"

static bool has_work(const struct model_process *process)
{
	return process->calls || process->gpu_ops || process->ops_state == GPT_AGENT_OPS_OBSERVING ||
	       process->ops_state == GPT_AGENT_OPS_STOPPED;
}

/* How many processes before this one have its pid (pids are used again) and a file of their own. */
static unsigned count_namesakes(const struct model *model, uint32_t process)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < process; i++)
		count += model->processes[i].pid == model->processes[process].pid && has_work(&model->processes[i]);
	return count;
}

static char *path_for_process(const char *path, const struct model *model, uint32_t process)
{
	unsigned namesakes = count_namesakes(model, process);
	AUTO_FREE char *name = namesakes ? xasprintf("%u.%u", model->processes[process].pid, namesakes + 1)
					 : xasprintf("%u", model->processes[process].pid);

	return format_path_for_process(path, name);
}

static struct export_rank rank_of(const struct model *model, const struct collective_arrivals *arrivals,
				  uint32_t process)
{
	const struct model_source *source = model_source(model);

	array_each (of, &arrivals->ranks.list) {
		if (of->process == process)
			return (struct export_rank){.rank = of->rank, .world = of->world};
	}
	/* otherwise the source's rank, if another tool's file has one: that is of a single process */
	return (struct export_rank){.rank = source->is_rank ? source->rank : -1, .world = source->world};
}

/* How many files so far are of that rank: a job that was started again has each rank twice. */
static unsigned count_of_rank(const struct own_files *files, int64_t rank)
{
	unsigned count = 0;

	for (size_t i = 0; i < files->list.count; i++)
		count += files->list.items[i].rank.rank == rank;
	return count;
}

static void add_process(struct own_files *files, const struct model *model, uint32_t process,
			const struct collective_arrivals *arrivals, const char *path)
{
	struct own_file file = {.process = (int)process, .rank = rank_of(model, arrivals, process)};

	if (!format_path_is_per_rank(path)) {
		file.path = path_for_process(path, model, process);
	} else if (file.rank.rank >= 0) {
		AUTO_FREE char *of_rank =
			format_path_for_rank(path, file.rank.rank, count_of_rank(files, file.rank.rank) + 1);

		file.path = path_for_process(of_rank, model, process);
	} else {
		msg_warn("%s: the rank of process %u (%s) is not known: it has no file", path,
			 model->processes[process].pid, model->processes[process].name);
		return;
	}
	array_push(&files->list, file);
}

/* Ranks are found by ops. */
static bool has_ops(const struct model *model)
{
	return any_of(model->thread_count, i, model->threads[i].has_ops);
}

int own_files_find(struct own_files *files, struct trace *trace, const char *path, bool needs_rank)
{
	const struct model *model = trace_last(trace);
	struct collective_arrivals arrivals = {0};
	struct analyses all;
	int error;

	if (!model)
		return trace->error;
	if ((needs_rank || format_path_is_per_rank(path)) && has_ops(model)) {
		error = analyze(&all, trace, ANALYSES(ANALYZE_ARRIVALS), NULL);
		if (!error) {
			model = all.model;
			arrivals = all.arrivals;
			all.arrivals = (struct collective_arrivals){0};
		}
		analyses_free(&all);
		if (error)
			return error;
	}
	for (uint32_t i = 0; i < model->process_count; i++)
		if (has_work(&model->processes[i]))
			add_process(files, model, i, &arrivals, path);
	collective_arrivals_free(&arrivals);
	return 0;
}

void own_files_free(struct own_files *files)
{
	for (size_t i = 0; i < files->list.count; i++)
		free(files->list.items[i].path);
	array_free(&files->list);
}
