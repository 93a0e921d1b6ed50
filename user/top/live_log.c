/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "top/live_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "export/export.h"
#include "export/folded/folded.h"
#include "input/gpt/gpt_slice.h"
#include "input/gpt/gpt_trace.h"
#include "input/two_pass_trace.h"
#include "log/reader.h"
#include "model/slice/sliced_trace.h"
#include "report/report.h"

/* The most time from GPU work until its records leave CUPTI's buffers, and until the segment ends. */
#define LATE_NS 1000000000ull

/* The most time from a launch to its work; an earlier launch is not found here. */
#define LAUNCHED_NS 1000000000ull

/* A span of at most so many bytes of records is read once, and not part by part, which takes twice the time. */
#define WHOLE_BYTES (64u << 20)

/* Block size of a file system: freed ranges begin and end at multiples of it. */
#define DISK_BLOCK 4096u

void live_log_open(struct live_log *live, int fd)
{
	struct log_reader reader;
	const char *why;

	*live = (struct live_log){.fd = fd};
	if (log_reader_open(&reader, fd, &why))
		return;
	live->at = live->freed = reader.first;
	live->start_ns = reader.header.start_ns;
	live->wall_offset_ns = reader.header.wall_offset_ns;
	log_reader_close(&reader);
}

/* Reads the header of the segment at that offset, with its lists; false: not complete yet. */
static bool read_header(int fd, uint64_t at, struct log_bytes *room)
{
	struct log_source source;
	struct gpt_log_segment header;

	log_source_open(&source, fd);
	if (log_source_read_at(&source, at, &header, sizeof(header)) < (int64_t)sizeof(header) ||
	    !log_segment_sizes_are_sane(&header))
		return false;
	log_bytes_reserve(room, header.header_size, 0);
	if (log_source_read_at(&source, at, room->data, header.header_size) < header.header_size)
		return false;
	return log_segment_header_is_sane((const struct gpt_log_segment *)room->data);
}

static uint64_t segment_bytes(const struct gpt_log_segment *header)
{
	return header->header_size + log_segment_body_room(header);
}

bool live_log_update(struct live_log *live)
{
	struct log_bytes room = {0};
	uint64_t before = live->at;

	if (!live->at)
		live_log_open(live, live->fd);
	while (live->at && read_header(live->fd, live->at, &room)) {
		const struct gpt_log_segment *header = (const struct gpt_log_segment *)room.data;

		if (header->last_ns > live->end_ns)
			live->end_ns = header->last_ns;
		live->at += segment_bytes(header);
	}
	log_bytes_free(&room);
	return live->at != before;
}

bool live_log_span(const struct live_log *live, uint64_t length_ns, uint64_t *from_ns, uint64_t *to_ns)
{
	if (live->end_ns <= live->start_ns + LATE_NS)
		return false;
	*to_ns = live->end_ns - LATE_NS;
	*from_ns = *to_ns > live->start_ns + length_ns ? *to_ns - length_ns : live->start_ns;
	return *from_ns < *to_ns;
}

static struct log_restriction restrict_to(const struct live_log *live, uint64_t from_ns, uint64_t to_ns)
{
	const struct gpt_span span = {
		.start_ns = live->start_ns, .end_ns = live->end_ns, .wall_offset_ns = live->wall_offset_ns};
	struct log_restriction wanted = gpt_restrict(&span, from_ns, to_ns, NULL, 0);

	wanted.from_ns = from_ns > LAUNCHED_NS ? from_ns - LAUNCHED_NS : 1;
	wanted.from_wall_ns = wanted.from_ns + (uint64_t)live->wall_offset_ns;
	wanted.to_ns = to_ns + 2 * LATE_NS;
	wanted.to_wall_ns = wanted.to_ns + (uint64_t)live->wall_offset_ns;
	return wanted;
}

int live_log_use(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, live_use_fn *use, void *context)
{
	struct log_restriction wanted = restrict_to(live, from_ns, to_ns);
	const struct slice slice = {.from_ns = from_ns, .to_ns = to_ns, .device = NONE, .read_from_ns = wanted.from_ns};
	struct sliced_trace sliced;
	struct trace *trace;
	const char *why;
	struct trace_division division = trace_division_default;
	int error;

	division.whole_bytes = WHOLE_BYTES;
	error = gpt_trace_open(live->fd, &division, &wanted, &trace, &why);

	if (error)
		return error;
	error = sliced_trace_open(&sliced, trace, &slice, "");
	if (!error) {
		error = use(&sliced.trace, context);
		sliced_trace_close(&sliced);
	}
	gpt_trace_close(trace);
	return error;
}

struct tables_wanted {
	struct kept_tables *tables;
	unsigned width;
};

static int make_tables(struct trace *trace, void *context)
{
	const struct tables_wanted *wanted = context;
	struct report_options options = {.format = &table_format_kept,
					 .keeper = wanted->tables,
					 .verdict = &wanted->tables->verdict,
					 .is_verdict_brief = true,
					 .width = wanted->width};
	FILE *nowhere = fopen("/dev/null", "we");
	int error = nowhere ? report_write(nowhere, trace, &options) : -errno;

	if (nowhere)
		fclose(nowhere);
	return error;
}

int live_log_tables(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, unsigned width,
		    struct kept_tables *tables)
{
	struct tables_wanted wanted = {.tables = tables, .width = width};

	*tables = (struct kept_tables){0};
	return live_log_use(live, from_ns, to_ns, make_tables, &wanted);
}

struct stacks_wanted {
	enum top_time time;
	char **text;
};

static int make_stacks(struct trace *trace, void *context)
{
	const struct stacks_wanted *wanted = context;
	const struct export_options options = {.process = -1,
					       .has_metric = wanted->time != TOP_GPU_TIME,
					       .by_idle = wanted->time == TOP_IDLE_TIME,
					       .by_cpu = wanted->time == TOP_CPU_TIME};
	char **text = wanted->text;
	struct sink sink;
	int error;

	sink_open_memory(&sink);
	error = folded_write(&sink, trace, &options);
	sink_char(&sink, '\0');
	*text = error ? NULL : xstrdup(sink.buffer);
	sink_close(&sink);
	return error;
}

int live_log_stacks(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, enum top_time time, char **text)
{
	struct stacks_wanted wanted = {.time = time, .text = text};

	*text = NULL;
	return live_log_use(live, from_ns, to_ns, make_stacks, &wanted);
}

struct exporting {
	const struct export_format *format;
	int fd;
};

static int export_to(struct trace *trace, void *context)
{
	const struct exporting *exporting = context;

	return export_write(exporting->fd, exporting->format, trace, &(struct export_options){.process = -1});
}

int live_log_export(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, const char *name, int fd)
{
	struct exporting exporting = {.format = export_format_by_suffix(name), .fd = fd};

	return exporting.format ? live_log_use(live, from_ns, to_ns, export_to, &exporting) : -EINVAL;
}

/* Headers stay, as they lead to the next segment, and so do segments that every reading needs. */
static void free_body(const struct live_log *live, uint64_t at, const struct gpt_log_segment *header)
{
	uint64_t from = (at + header->header_size + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK;
	uint64_t to = (at + segment_bytes(header)) / DISK_BLOCK * DISK_BLOCK;

	if (from < to)
		(void)fallocate(live->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from));
}

void live_log_free_old(struct live_log *live)
{
	uint64_t kept_ns = LIVE_LOG_KEPT_NS + 2 * LATE_NS + LAUNCHED_NS;
	struct log_restriction wanted = restrict_to(live, live->end_ns - kept_ns, UINT64_MAX / 2);
	struct log_bytes room = {0};

	if (live->end_ns < kept_ns)
		return;
	while (live->freed < live->at && read_header(live->fd, live->freed, &room)) {
		const struct gpt_log_segment *header = (const struct gpt_log_segment *)room.data;

		if (header->last_ns && header->last_ns + kept_ns > live->end_ns)
			break;
		if (!log_restriction_wants(&wanted, header))
			free_body(live, live->freed, header);
		live->freed += segment_bytes(header);
	}
	log_bytes_free(&room);
}
