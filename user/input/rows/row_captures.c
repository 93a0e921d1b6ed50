/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture lasts from the end of the call that begins it to the start of the call that ends it; see row_captures.h. */
#include "input/rows/row_captures.h"

#include <stdlib.h>
#include <string.h>

#define NOTED_MAX (1u << 20)

void row_captures_add_call(struct foreign_file *file, const struct row_call *call)
{
	const struct row *row = &call->row;
	const char *name = api_is_named(call->api) ? api_name(call->api) : "";
	/* of CUDA's runtime, its driver and HIP; versions of a call have a longer name */
	bool begins = strstr(name, "StreamBeginCapture") != NULL, ends = strstr(name, "StreamEndCapture") != NULL;

	rows_add(&file->rows, row, sizeof(*call));
	if ((!begins && !ends) || (begins && call->result))
		return;
	if (file->captures.count >= NOTED_MAX) {
		file->bad[BAD_ROOM]++;
		return;
	}
	array_push(&file->captures, ((struct foreign_capture){.start_ns = begins ? row->end_ns : row->start_ns,
							      .pid = row->pid,
							      .tid = row->tid,
							      .begins = begins}));
}

static int compare_noted(const void *left, const void *right)
{
	const struct foreign_capture *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_captures(const void *left, const void *right)
{
	const struct foreign_capture *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Keeps the starts that the thread's next noted call ends. */
static void pair(struct foreign_file *file)
{
	struct foreign_capture *all = file->captures.items;
	size_t kept = 0;

	for (size_t i = 0; i + 1 < file->captures.count; i++) {
		struct foreign_capture capture = all[i];

		if (!capture.begins || all[i + 1].begins || all[i + 1].pid != capture.pid ||
		    all[i + 1].tid != capture.tid)
			continue;
		capture.end_ns = all[i + 1].start_ns;
		all[kept++] = capture;
	}
	file->captures.count = kept;
}

/* Merges overlapping captures of a process. */
static void merge(struct foreign_file *file)
{
	struct foreign_capture *all = file->captures.items;
	size_t kept = 0;

	for (size_t i = 1; i < file->captures.count; i++)
		if (all[i].pid != all[kept].pid || all[i].start_ns > all[kept].end_ns)
			all[++kept] = all[i];
		else if (all[i].end_ns > all[kept].end_ns)
			all[kept].end_ns = all[i].end_ns;
	file->captures.count = kept + 1;
}

void row_captures_finish(struct foreign_file *file)
{
	if (!file->captures.count)
		return;
	qsort(file->captures.items, file->captures.count, sizeof(*file->captures.items), compare_noted);
	pair(file);
	if (!file->captures.count)
		return;
	qsort(file->captures.items, file->captures.count, sizeof(*file->captures.items), compare_captures);
	merge(file);
}

bool row_captures_have(const struct foreign_file *file, uint32_t pid, uint64_t time_ns)
{
	const struct foreign_capture *all = file->captures.items, at = {.pid = pid, .start_ns = time_ns};
	size_t low = 0, high = file->captures.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_captures(&all[middle], &at) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && all[low - 1].pid == pid && time_ns < all[low - 1].end_ns;
}
