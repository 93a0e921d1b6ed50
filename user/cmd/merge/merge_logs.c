/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/merge/merge_logs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/commands.h"

/* The label if no rank is known: the host, and the log's name if the host has several logs. */
static char *label_of_log(const struct ranks *ranks, size_t log)
{
	const struct rank_log *of = &ranks->logs.items[log];

	return value_of_first(ranks->logs.count, i, i != log && !strcmp(ranks->logs.items[i].host, of->host),
			      xasprintf("%s, %s", of->host, path_base(of->name)), xstrdup(of->host));
}

/* "rank 3, node", "ranks 0-3, node" */
static char *label_of_process(const struct ranks *ranks, size_t log, uint32_t process)
{
	const struct rank_log *of = &ranks->logs.items[log];
	int64_t least = INT64_MAX, most = -1;

	array_each (rank, &of->arrivals.ranks.list) {
		if (rank->process != process || rank->rank < 0)
			continue;
		least = rank->rank < least ? rank->rank : least;
		most = rank->rank > most ? rank->rank : most;
	}
	if (most < 0)
		return label_of_log(ranks, log);
	return least == most ? xasprintf("rank %" PRId64 ", %s", most, of->host)
			     : xasprintf("ranks %" PRId64 "-%" PRId64 ", %s", least, most, of->host);
}

static void make_labels(struct merge_log *opened, size_t log, const struct model *model)
{
	const struct rank_log *of = &opened->ranks->logs.items[log];
	const struct collective_arrivals *arrivals = &of->arrivals;

	opened->processes = model->process_count;
	opened->labels = xcalloc(model->process_count, sizeof(*opened->labels));
	for (uint32_t i = 0; i < model->process_count; i++) {
		opened->labels[i] = label_of_process(opened->ranks, log, i);
	}
	if (arrivals->ranks.list.count == 1 && arrivals->ranks.list.items[0].rank >= 0)
		opened->gpu_label = xasprintf("rank %" PRId64 ", %s", arrivals->ranks.list.items[0].rank, of->host);
	else
		opened->gpu_label = label_of_log(opened->ranks, log);
}

static int open_reading(struct merge_log *opened, size_t log)
{
	const char *name = opened->ranks->logs.items[log].name;

	opened->delivery =
		(struct delivery){.options = opened->options, .log_name = from_log_name(name), .skip = SIZE_MAX};
	opened->delivery.log_fd = from_log_open(name);
	if (opened->delivery.log_fd < 0)
		return -EIO;
	if (!reading_open(&opened->reading, &opened->delivery))
		return 0;
	reading_close(&opened->reading);
	close(opened->delivery.log_fd);
	return -EIO;
}

static bool find_split(const void *context, uint32_t process, uint64_t start_ns, uint32_t corr,
		       struct timeline_split *found)
{
	const struct merge_log *opened = context;
	const struct collective_split *all = opened->split;
	const struct kernel_split *split;
	const struct collective_kernel *kernel =
					       collective_split_find(all, opened->log, process, start_ns, corr, &split),
				       *last;
	const struct split_rank *rank;

	if (!kernel)
		return false;
	*found = (struct timeline_split){.waiting_ns = split->waiting_ns,
					 .transfer_ns = split->transfer_ns,
					 .error_ns = split->error_ns,
					 .unknown = split->lack == SPLIT_KNOWN ? NULL : split_lack_words[split->lack],
					 .last_line = ""};
	found->has_dispatch = kernel_dispatch(kernel, &found->dispatch_ns);
	if (split->last == NONE)
		return true;
	rank = &all->ranks.items[split->last];
	last = &rank->of->kernels.list.items[split->last_kernel];
	if (rank->rank >= 0)
		snprintf(found->last_rank, sizeof(found->last_rank), "%" PRId64, rank->rank);
	else
		snprintf(found->last_rank, sizeof(found->last_rank), "pid %" PRIu32, rank->of->pid);
	if (last->line != NONE)
		found->last_line = all->logs[rank->log].texts.list.items[last->line];
	return true;
}

int merge_log_open(struct merge_log *opened, size_t log)
{
	const struct model *part;
	int err = open_reading(opened, log);

	if (err)
		return err;
	part = trace_first(opened->reading.trace);
	if (!part) {
		err = opened->reading.trace->error;
		reading_close(&opened->reading);
		close(opened->delivery.log_fd);
		return err;
	}
	make_labels(opened, log, part);
	opened->log = log;
	opened->splits = (struct timeline_splits){.find = find_split, .context = opened};
	return 0;
}

void merge_log_close(struct merge_log *opened)
{
	for (uint32_t i = 0; i < opened->processes; i++)
		free(opened->labels[i]);
	free(opened->labels);
	free(opened->gpu_label);
	reading_close(&opened->reading);
	close(opened->delivery.log_fd);
}
