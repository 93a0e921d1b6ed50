/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The operations handed to NCCL or gloo that have not finished, as text. */
#include "dump/text_collectives.h"

void dump_print_rank(FILE *out, const struct dump_process *process, int64_t number)
{
	const char *host = process->host;

	if (number < 0)
		fprintf(out, "%d", (int)process->pid);
	else
		fprintf(out, "%lld (process %d", (long long)number, (int)process->pid);
	fprintf(out, "%s%s%s", host ? " on " : "", host ? host : "", number < 0 ? "" : ")");
}

static void print_work(FILE *out, const struct collective_rank *rank)
{
	const struct dump_work *work = rank->work;

	fprintf(out, "%s %llu", work->name, (unsigned long long)work->number);
	if (work->sizes)
		fprintf(out, " of %s", work->sizes);
	if (rank->part == PART_OTHER)
		fputs(" in its place", out);
}

static void print_part(FILE *out, const struct collective *collective, const struct collective_rank *rank,
		       uint64_t waited_ns)
{
	switch (rank->part) {
	case PART_HAS_NOT_COME:
		fputs("not called; the last one was ", out);
		print_work(out, rank);
		break;
	case PART_NOTHING:
		fputs("not called, nor any other in this group", out);
		break;
	case PART_FINISHED:
		fputs("finished", out);
		break;
	case PART_GIVEN_UP:
		fputs("PyTorch no longer waits for it (a timeout, or an error)", out);
		break;
	case PART_UNKNOWN:
		fputs(rank->work->number > collective->number ? "no longer in the recorder"
							      : "called; whether it has finished is not recorded",
		      out);
		break;
	default:
		print_work(out, rank);
		fputs(rank->work->state == WORK_STARTED ? " has begun" : "", out);
		if (waited_ns)
			fprintf(out, ", called %.1f s ago", dump_seconds(waited_ns));
	}
	if (rank->line)
		fprintf(out, ", at %s (%s:%u)", rank->line->function, rank->line->file, rank->line->line);
	if (rank->later)
		fprintf(out, "; %u more after it", rank->later);
	fputc('\n', out);
}

/* Prints the ranks that say the same, with the time since the last one's call. */
static void print_alike(FILE *out, const struct collective *collective, size_t first)
{
	const struct collective_rank *ranks = collective->ranks.items;
	bool numbered = ranks[first].rank >= 0;
	uint64_t waited_ns = ranks[first].waited_ns;
	unsigned count = 0;

	for (size_t i = first; i < collective->ranks.count; i++) {
		if (ranks[i].alike != first)
			continue;
		count++;
		if (ranks[i].waited_ns < waited_ns)
			waited_ns = ranks[i].waited_ns;
	}
	fprintf(out, "    %s%s ", numbered ? "rank" : "process", count == 1 ? "" : numbered ? "s" : "es");
	for (size_t i = first, printed = 0; i < collective->ranks.count; i++) {
		if (ranks[i].alike != first)
			continue;
		fputs(printed++ ? ", " : "", out);
		dump_print_rank(out, ranks[i].process, ranks[i].rank);
	}
	fputs(": ", out);
	print_part(out, collective, &ranks[first], waited_ns);
}

static void print_collective(FILE *out, const struct collective *collective)
{
	const struct dump_group *group = collective->group;
	const char *described = *group->description ? group->description : NULL;

	fprintf(out, "  %s %llu in group %s", collective->name, (unsigned long long)collective->number, group->name);
	if (described)
		fprintf(out, " (%s)", described);
	if (group->rank_count)
		fprintf(out, " of %u rank%s", group->rank_count, group->rank_count == 1 ? "" : "s");
	if (collective->process->job)
		fprintf(out, ", job at %s", collective->process->job);
	fputc('\n', out);
	for (int part = 0; part < PARTS; part++)
		for (size_t i = 0; i < collective->ranks.count; i++)
			if (collective->ranks.items[i].alike == i && (int)collective->ranks.items[i].part == part)
				print_alike(out, collective, i);
	if (collective->not_looked_at)
		fprintf(out, "    %u of its ranks %s not looked at\n", collective->not_looked_at,
			collective->not_looked_at == 1 ? "was" : "were");
}

/* Whether ranks of a job use PyTorch, and no process has any records. */
static bool is_missed(const struct dump_findings *found)
{
	return found->ranks->count > 1 && !array_find(found->looks, item, item->process->group_count) &&
	       array_find(found->ranks, item, item->process->has_torch);
}

void dump_print_collectives(FILE *out, const struct dump_findings *found)
{
	if (found->collectives->count)
		fputs("\nnot finished, by PyTorch's Flight Recorder\n", out);
	for (size_t i = 0; i < found->collectives->count; i++)
		print_collective(out, &found->collectives->items[i]);
	if (is_missed(found))
		fputs("\nPyTorch's Flight Recorder has nothing of these ranks (before PyTorch 2.11 it is off: "
		      "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 turns it on; that of 2.7 and later can be read)\n",
		      out);
}
