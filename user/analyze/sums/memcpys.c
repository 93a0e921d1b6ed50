/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by kind; and by kind and caller, to find the line of each kind. */
#include "analyze/sums/memcpys.h"

#include <stdlib.h>

/* CUpti_ActivityMemoryKind (cupti_activity.h) */
#define MEMORY_PAGEABLE 1

/* A sum with bytes has the number of its last memcpy with bytes, a sum without bytes that of its last memcpy. */
static void add_bytes(struct tally_entry *caller, uint64_t bytes, uint64_t number)
{
	if ((bytes && !caller->ns) || (!bytes == !caller->ns && number > caller->more))
		caller->more = number;
	caller->ns += bytes;
}

void memcpys_add_gpu(struct memcpys *memcpys, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	uint32_t kind = op->kind == MODEL_MEMSET ? MEMCPY_KIND_MEMSET : op->memcpy_kind;
	struct memcpy_row *sum = &memcpys->sums[kind];
	struct tally_key key = {{kind, event->caller, op->process}};
	uint64_t ns = gpu_ns(op), number = op->start_ns ? MEMCPY_TIMED : 0;

	if (op->kind == MODEL_KERNEL)
		return;
	sum->bytes += op->bytes;
	sum->count++;
	sum->ns += ns;
	if (!(op->unknown & MODEL_GPU_NO_BYTES)) {
		sum->sized++;
		sum->timed_bytes += ns ? op->bytes : 0;
		sum->timed_bytes_ns += ns;
	}
	if (op->kind == MODEL_MEMCPY && (op->from == MEMORY_PAGEABLE || op->to == MEMORY_PAGEABLE))
		sum->pageable_bytes += op->bytes;
	add_bytes(tally_at(&memcpys->callers, key), op->bytes, number | ++memcpys->number);
}

/*
 * Whether a line is better than the best so far: more bytes, or as many reached earlier; without any bytes, the latest.
 */
static bool is_better(const struct tally_entry *line, const struct tally_entry *best)
{
	if (!best || line->ns != best->ns)
		return !best || line->ns > best->ns;
	return line->ns ? line->more < best->more : line->more > best->more;
}

static void find_lines(struct memcpys *memcpys, struct lines *lines)
{
	struct tally by_line = {0};
	const struct tally_entry *best[MEMCPY_KINDS + 1] = {NULL};

	for (size_t i = 0; i < memcpys->callers.count; i++) {
		const struct tally_entry *caller = &memcpys->callers.entries[i];
		uint32_t line = line_of(lines, caller->key.part[1]);
		struct tally_entry *entry = tally_at(&by_line, (struct tally_key){{caller->key.part[0], line}});

		/* of several callers on a line, the one with the latest memcpy that had bytes reached the sum */
		if ((caller->ns && !entry->ns) || (!caller->ns == !entry->ns && caller->more > entry->more))
			entry->more = caller->more;
		entry->ns += caller->ns;
		process_note_in_sum(&entry->count, caller->key.part[2]);
	}
	for (size_t i = 0; i < by_line.count; i++) {
		const struct tally_entry *line = &by_line.entries[i];

		if (is_better(line, best[line->key.part[0]]))
			best[line->key.part[0]] = line;
	}
	for (uint32_t kind = 0; kind <= MEMCPY_KINDS; kind++) {
		if (!best[kind])
			continue;
		memcpys->sums[kind].line = best[kind]->key.part[1];
		memcpys->sums[kind].process = process_of_sum(best[kind]->count);
	}
	tally_free(&by_line);
}

void memcpys_finish(struct memcpys *memcpys, struct lines *lines)
{
	find_lines(memcpys, lines);
	memcpys->rows = xcalloc(MEMCPY_KINDS + 1, sizeof(*memcpys->rows));
	for (uint32_t kind = 0; kind <= MEMCPY_KINDS; kind++) {
		if (!memcpys->sums[kind].count)
			continue;
		memcpys->rows[memcpys->count] = memcpys->sums[kind];
		memcpys->rows[memcpys->count++].kind = kind;
	}
}
