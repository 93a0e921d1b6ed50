/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of formats, and writing a file from sink_open to sink_close. */
#include "export/export.h"

#include <string.h>
#include <strings.h>

#include "export/arrow/arrow.h"
#include "export/chrome/chrome.h"
#include "export/folded/folded.h"
#include "export/page/page.h"
#include "export/perfetto/perfetto.h"
#include "export/profiles/profile.h"
#include "export/file/sink.h"
#include "export/snapshot.h"
#include "export/sqlite/sqlite.h"

#define NO_METRIC "of --metric cpu: no samples"

const struct export_format export_formats[] = {
	{.name = "json",
	 .suffixes = (const char *const[]){".json", NULL},
	 .has_times = true,
	 .write = chrome_write,
	 .write_merged = chrome_write_merged},
	{.name = "json.gz",
	 .suffixes = (const char *const[]){".json.gz", NULL},
	 .gzip = true,
	 .binary = true,
	 .has_times = true,
	 .write = chrome_write,
	 .write_merged = chrome_write_merged},
	{.name = "folded",
	 .suffixes = (const char *const[]){".folded", NULL},
	 .write = folded_write,
	 .no_data =
		 "none of what was asked for is in the trace (of --folded-by self-cpu and self-cuda: no op of PyTorch "
		 "has such time and a Python stack; --forward-lines records stacks; of --folded-by layer: no call of a "
		 "module of PyTorch has GPU time; of --metric cpu: no samples; --cpu records them; of --metric idle: "
		 "no "
		 "times of GPU work)",
	 .no_data_in_file =
		 "none of what was asked for is in the file (of --folded-by self-cpu and self-cuda: no op of "
		 "PyTorch has such time and a Python stack; torch.profiler records stacks with with_stack=True; "
		 "of --folded-by layer: only a log has modules of PyTorch; of --metric cpu: no samples; of "
		 "--metric idle: no times of GPU work)"},
	{.name = "speedscope", .suffixes = (const char *const[]){".speedscope.json", NULL}, .write = speedscope_write},
	{.name = "pprof",
	 .suffixes = (const char *const[]){".pb.gz", NULL},
	 .gzip = true,
	 .binary = true,
	 .write = pprof_write},
	{.name = "pstats",
	 .suffixes = (const char *const[]){".prof", NULL},
	 .binary = true,
	 .write = pstats_write,
	 .no_data = NO_METRIC "; --cpu records them",
	 .no_data_in_file = NO_METRIC},
	{.name = "pftrace",
	 .suffixes = (const char *const[]){".pftrace", NULL},
	 .binary = true,
	 .has_times = true,
	 .write = perfetto_write,
	 .write_merged = perfetto_write_merged},
	{.name = "arrow", .suffixes = (const char *const[]){".arrow", NULL}, .binary = true, .write = arrow_write},
	{.name = "sqlite",
	 .suffixes = (const char *const[]){".sqlite", NULL},
	 .binary = true,
	 .needs_path = true,
	 .write = sqlite_write},
	{.name = "pickle",
	 .suffixes = (const char *const[]){".pickle", NULL},
	 .binary = true,
	 .write = snapshot_write,
	 .no_data = "PyTorch's allocations on a GPU are not in this trace; --memory records them",
	 .no_data_in_file = "PyTorch's allocations on a GPU are not in this file; torch.profiler records them with "
			    "profile_memory=True"},
	{.name = "svg",
	 .suffixes = (const char *const[]){".svg", NULL},
	 .write = svg_write,
	 .no_data = NO_METRIC "; --cpu records them; of --metric idle: no times of GPU work",
	 .no_data_in_file = NO_METRIC "; of --metric idle: no times of GPU work"},
	{.name = "html", .suffixes = (const char *const[]){".html", NULL}, .write = page_write},
	{.name = NULL},
};

static bool ends_with(const char *path, const char *suffix)
{
	size_t length = strlen(path), end = strlen(suffix);

	return length > end && !strcasecmp(path + length - end, suffix);
}

const struct export_format *export_format_by_suffix(const char *path)
{
	const struct export_format *best = NULL;
	size_t best_length = 0;

	for (const struct export_format *format = export_formats; format->name; format++)
		for (const char *const *suffix = format->suffixes; *suffix; suffix++)
			if (strlen(*suffix) > best_length && ends_with(path, *suffix)) {
				best = format;
				best_length = strlen(*suffix);
			}
	return best;
}

const struct export_format *export_format_by_name(const char *name)
{
	for (const struct export_format *format = export_formats; format->name; format++)
		if (!strcmp(format->name, name))
			return format;
	return NULL;
}

int export_write(int fd, const struct export_format *format, struct trace *trace, const struct export_options *options)
{
	struct sink sink;
	int error, close_error;

	sink_open(&sink, fd, format->gzip);
	sink.cancel = options->cancel;
	sink.most = options->most;
	error = format->write(&sink, trace, options);
	close_error = sink_close(&sink);
	return error ? error : close_error;
}

int export_write_merged(int fd, const struct export_format *format, const struct merge *merge,
			const struct cancel *cancel)
{
	struct sink sink;
	int error, close_error;

	sink_open(&sink, fd, format->gzip);
	sink.cancel = cancel;
	error = format->write_merged(&sink, merge);
	close_error = sink_close(&sink);
	return error ? error : close_error;
}
