/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/merge/merge_logs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/process/interrupt.h"
#include "export/export.h"
#include "export/file/tar.h"

#define MANIFEST "perfetto_manifest.json"

/* A trace in the archive: one rank of a log that has several, else the whole log. */
struct member {
	char name[TAR_NAME_MAX + 1];
	size_t log;
	int process; /* index into the model, -1: all */
};

struct archive {
	struct tar tar;
	const struct options *options;
	const struct ranks *ranks;
	const struct collective_split *split;
	ARRAY(struct member) members;
	struct export_used_ids *used; /* by clock, and so by machine */
};

/* ---- what is in it ----------------------------------------------------------------------------------------------- */

static void add_member(struct archive *archive, size_t log, int process, int64_t rank)
{
	struct member member = {.log = log, .process = process};

	if (rank >= 0)
		snprintf(member.name, sizeof(member.name), "rank-%" PRId64 ".pftrace", rank);
	else
		snprintf(member.name, sizeof(member.name), "log-%zu.pftrace", log);
	array_push(&archive->members, member);
}

static bool is_of_one_process(const struct collective_arrivals *arrivals)
{
	return arrivals->ranks.list.count &&
	       !array_find(&arrivals->ranks.list, item, item->process != arrivals->ranks.list.items[0].process);
}

static void add_log(struct archive *archive, size_t log)
{
	const struct rank_log *of = &archive->ranks->logs.items[log];
	const struct collective_arrivals *arrivals = &of->arrivals;
	size_t known = 0;

	for (size_t i = 0; i < arrivals->ranks.list.count; i++)
		known += arrivals->ranks.list.items[i].rank >= 0 &&
			 !arriving_rank_is_further_gpu(arrivals->ranks.list.items, i);
	if (known < 2) {
		add_member(archive, log, -1, is_of_one_process(arrivals) ? arrivals->ranks.list.items[0].rank : -1);
		return;
	}
	if (of->processes > known)
		msg_warn(
			"%s has processes that are no rank: they are in a .pftrace or .json of all, not in the archive",
			of->name);
	for (size_t i = 0; i < arrivals->ranks.list.count; i++)
		if (arrivals->ranks.list.items[i].rank >= 0 &&
		    !arriving_rank_is_further_gpu(arrivals->ranks.list.items, i))
			add_member(archive, log, (int)arrivals->ranks.list.items[i].process,
				   arrivals->ranks.list.items[i].rank);
}

/* ---- manifest ---------------------------------------------------------------------------------------------------- */

/* Machines are distinguished by name: the second one of a name gets " (2)", and so on. */
static void put_machine(struct sink *out, const struct ranks *ranks, size_t clock)
{
	const char *host = ranks->logs.items[ranks->clocks.items[clock].log].host;
	unsigned before = 0;
	char *name;

	for (size_t i = 0; i < clock; i++)
		before += !strcmp(ranks->logs.items[ranks->clocks.items[i].log].host, host);
	name = before ? xasprintf("%s (%u)", host, before + 1) : xstrdup(*host ? host : "?");
	sink_json(out, name);
	free(name);
}

static void put_file(struct sink *out, const struct archive *archive, size_t index)
{
	const struct member *member = &archive->members.items[index];
	const struct ranks *ranks = archive->ranks;
	size_t clock = ranks->logs.items[member->log].clock;
	bool first_of_clock = true;

	for (size_t i = 0; i < index; i++)
		first_of_clock &= ranks->logs.items[archive->members.items[i].log].clock != clock;
	sink_text(out, index ? ",\n  {\"path\": " : "\n  {\"path\": ");
	sink_json(out, member->name);
	sink_literal(out, ", \"machine\": {\"name\": ");
	put_machine(out, ranks, clock);
	sink_char(out, '}');
	if (index && first_of_clock) {
		sink_literal(out, ", \"clocks\": {\"clock\": \"MONOTONIC\", \"sync_to\": {\"file\": ");
		sink_json(out, archive->members.items[0].name);
		sink_literal(out, ", \"clock\": \"MONOTONIC\"}, \"offset_ns\": ");
		sink_i64(out, ranks->clocks.items[clock].fit.line.offset_ns);
		sink_char(out, '}');
	}
	sink_char(out, '}');
}

/* How each offset was found, and its error. */
static void put_attributes(struct sink *out, const struct archive *archive)
{
	char text[320];

	sink_literal(out, "\"gputrace.version\": \"" GPUTRACE_VERSION "\"");
	array_each (member, &archive->members) {
		const struct ranks *ranks = archive->ranks;
		const struct clock_fit *fit = &ranks->clocks.items[ranks->logs.items[member->log].clock].fit;

		snprintf(text, sizeof(text),
			 ",\n  \"gputrace.aligned_by.%s\": \"%s\", \"gputrace.error_ns.%s\": %" PRIu64, member->name,
			 rank_clock_word(ranks, member->log), member->name, fit->error_ns);
		sink_text(out, text);
	}
}

static int put_manifest(struct archive *archive)
{
	struct sink sink;
	int err = tar_begin(&archive->tar);

	if (err)
		return err;
	sink_open(&sink, archive->tar.fd, false);
	sink_literal(&sink, "{\"perfetto_manifest\": {\"version\": 1,\n"
			    " \"trace_time\": {\"clock\": \"MONOTONIC\", \"file\": ");
	sink_json(&sink, archive->members.items[0].name);
	sink_literal(&sink, "},\n \"files\": [");
	for (size_t i = 0; i < archive->members.count; i++)
		put_file(&sink, archive, i);
	sink_literal(&sink, "],\n \"attributes\": {");
	put_attributes(&sink, archive);
	sink_literal(&sink, "}}}\n");
	err = sink_close(&sink);
	return err ? err : tar_end(&archive->tar, MANIFEST);
}

/* ---- traces ------------------------------------------------------------------------------------------------------ */

static int put_member(struct archive *archive, const struct merge_log *opened, const struct member *member)
{
	const struct ranks *ranks = archive->ranks;
	const char *label = member->process >= 0 ? opened->labels[member->process] : opened->gpu_label;
	struct export_place place = {.is_aligned = true,
				     .splits = &opened->splits,
				     .clock = *rank_log_clock(ranks, member->log),
				     .wall_offset_ns = ranks->logs.items[member->log].wall_offset_ns,
				     .slept_ns = ranks->logs.items[member->log].slept_ns,
				     .process_labels = (const char *const *)opened->labels,
				     .gpu_label = label,
				     .used = &archive->used[ranks->logs.items[member->log].clock]};
	int err = tar_begin(&archive->tar);

	place.clock.offset_ns = 0; /* the manifest has it */
	if (!err)
		err = export_write(
			archive->tar.fd, export_format_by_name("pftrace"), opened->reading.trace,
			&(struct export_options){.process = member->process, .place = &place, .cancel = interrupt()});
	return err ? err : tar_end(&archive->tar, member->name);
}

static int put_members(struct archive *archive)
{
	struct merge_log opened = {.options = archive->options, .ranks = archive->ranks, .split = archive->split};
	int err = 0;

	for (size_t i = 0, next; i < archive->members.count && !err; i = next) {
		size_t log = archive->members.items[i].log;

		err = merge_log_open(&opened, log);
		if (err)
			return err;
		for (next = i; next < archive->members.count && archive->members.items[next].log == log && !err; next++)
			err = put_member(archive, &opened, &archive->members.items[next]);
		merge_log_close(&opened);
	}
	return err;
}

int merge_write_tar(const struct options *options, const struct ranks *ranks, const struct collective_split *split,
		    int fd)
{
	const struct rank_log *first = &ranks->logs.items[0];
	struct archive archive = {
		.tar = {.fd = fd, .time_s = (first->start_ns + (uint64_t)first->wall_offset_ns) / 1000000000u},
		.options = options,
		.ranks = ranks,
		.split = split,
		.used = xcalloc(ranks->clocks.count, sizeof(*archive.used))};
	int err;

	for (size_t i = 0; i < ranks->logs.count; i++)
		add_log(&archive, i);
	err = put_manifest(&archive);
	if (!err)
		err = put_members(&archive);
	if (!err)
		err = tar_finish(&archive.tar);
	array_free(&archive.members);
	for (size_t i = 0; i < ranks->clocks.count; i++)
		export_used_ids_free(&archive.used[i]);
	free(archive.used);
	return err;
}
