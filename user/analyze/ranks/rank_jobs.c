/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_jobs.h"

#include <inttypes.h>
#include <string.h>

static char *same_recording(const struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->logs.count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct rank_log *a = &ranks->logs.items[k], *b = &ranks->logs.items[i];

			/* several may begin and end at the same moment (--start-at) */
			if (a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
			    a->set_up_at_ns == b->set_up_at_ns && a->wall_offset_ns == b->wall_offset_ns &&
			    !strcmp(a->host, b->host) && !strcmp(a->boot, b->boot))
				return xasprintf("%s and %s are the same recording", a->name, b->name);
		}
	return NULL;
}

static const char *port_of(const char *master)
{
	const char *colon = master ? strrchr(master, ':') : NULL;

	return colon ? colon + 1 : NULL;
}

/*
 * What shows that two ranks are of different jobs, by the environment that they were started with; NULL: nothing does.
 * Machines may have other names for the same address, so only ranks of one machine are compared by that.
 */
static const char *job_differs(const struct ranks *ranks, const struct rank_row *a, const struct rank_row *b)
{
	const char *port = port_of(a->of->master), *other = port_of(b->of->master);

	if (a->of->run_id && b->of->run_id && strcmp(a->of->run_id, b->of->run_id) != 0)
		return "TORCHELASTIC_RUN_ID";
	if (!port || !other)
		return NULL;
	if (strcmp(port, other) != 0)
		return "MASTER_PORT";
	return ranks->logs.items[a->log].clock == ranks->logs.items[b->log].clock &&
			       strcmp(a->of->master, b->of->master) != 0
		       ? "MASTER_ADDR"
		       : NULL;
}

static char *job_text(const struct ranks *ranks, const struct rank_row *row, bool by_run_id)
{
	return xasprintf("rank %" PRId64 " of %s (process %" PRIu32 ") has %s", row->of->rank,
			 ranks->logs.items[row->log].name, row->of->pid, by_run_id ? row->of->run_id : row->of->master);
}

/* Each rank with one that has the facts; those of one job have the same. */
static char *other_job(const struct ranks *ranks)
{
	const struct rank_row *first[2] = {NULL, NULL}; /* with a run id, with a master */

	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct rank_row *row = &ranks->rows.items[i];

		for (size_t k = 0; k < 2; k++) {
			const char *differs = first[k] ? job_differs(ranks, first[k], row) : NULL;
			bool one_log = first[k] && first[k]->log == row->log;
			AUTO_FREE char *here = NULL, *there = NULL;

			if (!first[k] && (k ? row->of->master : row->of->run_id))
				first[k] = row;
			if (!differs)
				continue;
			here = job_text(ranks, first[k], differs[0] == 'T');
			there = job_text(ranks, row, differs[0] == 'T');
			return xasprintf(
				"they are of different jobs, by %s: %s, %s; %s, or, if one job was started so, "
				"--unaligned",
				differs, here, there,
				one_log ? "choose the processes of one (--process)" : "name the logs of one");
		}
	}
	return NULL;
}

static char *wrong_ranks(struct ranks *ranks)
{
	size_t first = 0;

	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct rank_row *row = &ranks->rows.items[i], *before = i ? row - 1 : row;
		const char *name = ranks->logs.items[row->log].name, *other = ranks->logs.items[before->log].name;

		if (i && row->of->rank >= 0 && row->of->rank == before->of->rank && !row->of->by_environment &&
		    !before->of->by_environment)
			return xasprintf("rank %" PRId64 " is there twice: process %" PRIu32
					 " of %s and process %" PRIu32 " of %s; name the logs of one job, each once",
					 row->of->rank, before->of->pid, other, row->of->pid, name);
	}
	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct rank_row *row = &ranks->rows.items[i];

		if (row->of->world && ranks->world && row->of->world != ranks->world)
			return xasprintf("they are of different jobs: %s has ranks of %" PRId64 ", %s of %" PRId64
					 "; name the logs of one job",
					 ranks->logs.items[first].name, ranks->world, ranks->logs.items[row->log].name,
					 row->of->world);
		if (row->of->world && !ranks->world) {
			ranks->world = row->of->world;
			first = row->log;
		}
	}
	return NULL;
}

char *rank_jobs_refuse(struct ranks *ranks, bool trusts_caller)
{
	char *why = same_recording(ranks);

	if (!why && !trusts_caller)
		why = other_job(ranks);
	return why ?: wrong_ranks(ranks);
}
