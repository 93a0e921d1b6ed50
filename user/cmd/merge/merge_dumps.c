/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/merge/merge_dumps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/msg.h"
#include "cmd/commands.h"
#include "cmd/process/print.h"
#include "dump/dump_file.h"
#include "dump/text.h"

bool merge_is_of_dumps(const struct options *options)
{
	int fd = open(options->logs.list.items[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool is_one = fd >= 0 && dump_file_is_one(fd);

	if (fd >= 0)
		close(fd);
	return is_one;
}

static int add_file(look_list *looks, const char *path)
{
	int fd = from_log_open(path);
	char *why;

	if (fd < 0)
		return -1;
	why = dump_file_is_one(fd) ? dump_file_read(fd, looks)
				   : xstrdup("is not what gputrace dump --format json writes, as the first file is");
	close(fd);
	if (!why)
		return 0;
	msg_error("%s: %s", path, why);
	free(why);
	return -1;
}

/* If files have the same host, or none, their processes get the path of their file instead of the host. */
static void name_hosts(look_list *looks, const size_t *ends, const struct options *options)
{
	size_t count = options->logs.list.count, from = 0;
	bool *alike = xcalloc(count, sizeof(*alike));

	for (size_t i = 0; i < count; from = ends[i++])
		for (size_t k = 0, other = 0; k < count; other = ends[k++])
			if (k != i && from < ends[i] && other < ends[k])
				alike[i] |= is_same_text(looks->items[from].process->host,
							 looks->items[other].process->host);
	from = 0;
	for (size_t i = 0; i < count; i++)
		for (; from < ends[i]; from++) {
			struct look *look = &looks->items[from];

			if (alike[i] || !look->process->host)
				look->process->host = arena_text(look->arena, "%s", options->logs.list.items[i]);
		}
	free(alike);
}

struct request {
	struct dump_findings found;
	bool json;
};

/* "dumps of node-a (5 processes), node-b (4 processes)" */
static void print_hosts(FILE *out, const look_list *looks)
{
	size_t to;

	for (size_t from = 0; from < looks->count; from = to) {
		const char *host = looks->items[from].process->host;

		for (to = from + 1; to < looks->count && is_same_text(looks->items[to].process->host, host);)
			to++;
		fprintf(out, "%s%s (%zu process%s)", from ? ", " : "dumps of ", host, to - from,
			to - from == 1 ? "" : "es");
	}
	fputc('\n', out);
}

static int print_dumps(FILE *out, const struct screen *screen, void *context)
{
	const struct request *request = context;

	(void)screen;
	if (request->json) {
		dump_print_ranks_json(out, &request->found);
		return 0;
	}
	print_hosts(out, request->found.looks);
	dump_print_ranks(out, &request->found);
	return 0;
}

static enum exit_code print_found(const struct options *options, const look_list *looks)
{
	enum exit_code code = EXIT_FAILED;
	collective_list collectives;
	rank_list ranks;
	struct request request = {{.looks = looks, .ranks = &ranks, .collectives = &collectives},
				  options->report_format != NULL};

	ranks_find(&ranks, looks);
	collectives_find(&collectives, looks, &ranks);
	if (!ranks.count && !collectives.count)
		msg_error("no process of these dumps is a rank of a distributed job: name dumps of what torchrun "
			  "started, which has RANK in its environment");
	else if (!print_on_stdout(print_dumps, &request))
		code = EXIT_GOOD;
	collectives_free(&collectives);
	array_free(&ranks);
	return code;
}

static bool can_be_printed(const struct options *options)
{
	if (options->outputs.list.count)
		msg_error("--output %s: dumps have no timeline: leave it out, and redirect standard output",
			  options->outputs.list.items[0]);
	else if (options->report_format && strcmp(options->report_format->name, "json") != 0)
		msg_error("--format %s: of dumps there are text and json: choose one of these",
			  options->report_format->name);
	else
		return true;
	return false;
}

enum exit_code merge_dumps(const struct options *options)
{
	size_t *ends = xcalloc(options->logs.list.count, sizeof(*ends));
	enum exit_code code = can_be_printed(options) ? EXIT_GOOD : EXIT_FAILED;
	look_list looks = {0};

	for (size_t i = 0; i < options->logs.list.count && !code; i++) {
		if (add_file(&looks, options->logs.list.items[i]))
			code = EXIT_FAILED;
		ends[i] = looks.count;
	}
	if (!code) {
		name_hosts(&looks, ends, options);
		code = print_found(options, &looks);
	}
	looks_free(&looks);
	free(ends);
	return code;
}
