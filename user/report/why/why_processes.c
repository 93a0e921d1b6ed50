/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes that are other processes. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/collectives.h"
#include "model/communication.h"
#include "report/why/why_causes.h"

static char *process_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	const struct model_process *other = &all->model->processes[loss->lines[0].detail];
	AUTO_FREE char *often = cause_how_often(loss);

	return xasprintf("Work of this program was launched and had to wait %s, while %s (pid %" PRIu32
			 ") ran kernels on the same GPU.",
			 often, other->name, other->pid);
}

/* "Rank 3"; of one whose number is not known "Process 4711". */
static char *rank_of(const struct analyses *all, const struct why_line *line)
{
	return line->detail == NONE ? xasprintf("Process %" PRIu32, all->model->processes[line->process].pid)
				    : xasprintf("Rank %" PRIu32, line->detail);
}

/* What the collective is: its op, or what its kernel's name says. */
static char *collective_of(const struct analyses *all, const struct why_line *line)
{
	const char *name = why_name(all->model, line->extra);
	struct collective collective;

	return xstrdup(collective_read(&collective, name) ? collective.fields[GPT_COLLECTIVE_NAME]
							  : communication_word(name));
}

/* Says how often that rank was the last. */
static char *rank_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	const struct why_line *line = &loss->lines[0];
	const struct why *why = &all->why;
	uint64_t times = 0,
		 complete = (why->open_collectives ? why->open_collectives->complete : 0) + why->named.complete;
	char *rank = rank_of(all, line), *collective = collective_of(all, line), *text;

	for (size_t i = 0; i < loss->line_count; i++)
		if (loss->lines[i].detail == line->detail &&
		    (line->detail != NONE || loss->lines[i].process == line->process))
			times += loss->lines[i].count;
	text = xasprintf("%s came last to %s of %s collectives (%s among them), and the other ranks' GPUs waited in "
			 "them, for %s at the longest.",
			 rank, number_count(times).text, number_count(complete).text, collective,
			 number_time(loss->longest_ns).text);
	free(rank);
	free(collective);
	return text;
}

static char *peer_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	AUTO_FREE char *often = cause_how_often(loss);

	return xasprintf("The GPU had nothing to do %s, while %s of its process had not ended: it ends when the last "
			 "process has come to it and the data has gone from CPU to CPU.",
			 often, why_name(all->model, loss->lines[0].detail));
}

static char *rank_place(const struct analyses *all, const struct why_line *line, char *label, enum line_brevity brevity)
{
	char *rank = rank_of(all, line), *text = xasprintf("%c%s at %s", tolower(*rank), rank + 1, label);

	free(rank);
	free(label);
	return text;
}

static char *peer_words(const struct model *model, const struct idle_row *row)
{
	return xstrdup(why_name(model, row->detail));
}

static char *peer_place(const struct analyses *all, const struct why_line *line, char *label, enum line_brevity brevity)
{
	return cause_at(label, why_name(all->model, line->detail));
}

const struct cause cause_process = {
	.title = "work waits while another process uses the GPU",
	.brief = "another process",
	.color = COLOR_OTHERS,
	.known_by = "by GPU work",
	.evidence = process_evidence,
	.advice = "Give each process a GPU of its own (CUDA_VISIBLE_DEVICES), or run them under MPS, so that "
		  "their kernels share it.",
};
const struct cause cause_rank = {
	.title = "ranks wait in collectives for the one that comes last",
	.brief = "a late rank",
	.color = COLOR_OTHERS,
	.known_by = "by GPU work",
	.place = rank_place,
	.evidence = rank_evidence,
	.advice = "See what that rank does before the collective that the others do not: more data, a slower CPU or "
		  "GPU, work that only it has (`gputrace why` with --process).",
};
const struct cause cause_peer = {
	.title = "the GPU waits for other processes in a collective on the CPU",
	.brief = "a collective",
	.color = COLOR_OTHERS,
	.known_by = "by ops and stacks of the thread",
	.words_of = peer_words,
	.inner = "in CUDA or PyTorch",
	.place = peer_place,
	.evidence = peer_evidence,
	.advice = "See what the process that comes last does before it (`gputrace why` with --process). Of tensors "
		  "on GPUs the backend nccl makes kernels, which need no copy to the CPU.",
};
