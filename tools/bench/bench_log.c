/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The size and the cost of packed records: bytes and nanoseconds per launch for pack(), zstd and back, in segments of
 * 8 MB.  The records are a log's, or made here: a loop with kernels and returns, and two threads that launch all the
 * time.
 *
 *	bench_log [-c] [FILE.gpt]	-c: also the largest columns, each compressed by itself
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zstd.h>

#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>
#include <gputrace/walk.h>

#include "base/array.h"
#include "log/packing/pack.h"
#include "log/packing/packed.h"
#include "log/packing/unpack.h"
#include "log/packing/varint.h"
#include "log/reader.h"

#define SEGMENT_BYTES (8u << 20)
#define LEVEL 1
#define SECONDS 1.0 /* for measuring each step */
#define COLUMNS_SHOWN 25

struct segment {
	uint8_t *records;
	size_t record_bytes, packed_bytes, body_bytes;
	uint8_t *packed, *body;
};

struct bench {
	ARRAY(struct segment) segments;
	struct schema *schema;
	struct packer *packer;
	struct unpacker *unpacker;
	ZSTD_CCtx *compress;
	ZSTD_DCtx *decompress;
	uint8_t *room; /* for unpacked records and decompressed bytes */
	uint64_t launches, records;
};

struct column_sum {
	char name[2 * SCHEMA_NAME_MAX + 2];
	size_t packed, alone;
};

static void *append_segment(struct bench *bench, uint32_t size)
{
	struct segment *last = bench->segments.count ? &bench->segments.items[bench->segments.count - 1] : NULL;

	if (!last || last->record_bytes + size > SEGMENT_BYTES)
		last = array_push(&bench->segments, ((struct segment){.records = xmalloc(SEGMENT_BYTES + size)}));
	last->record_bytes += size;
	return last->records + last->record_bytes - size;
}

/* ---- generated records -------------------------------------------------------------------------------------- */

#define WALL_NS 1700000000000000000ull

static uint64_t random_below(uint64_t below)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static uint64_t stack_id(uint64_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u;
}

/* As in tools/bench/rate.py: no agent, calls with arguments. */
static void make_flat_out(struct bench *bench)
{
	uint64_t time_ns = 5000000000000;

	for (unsigned i = 0; i < 1000000; i++) {
		struct gpt_call_args *args = append_segment(bench, sizeof(*args));

		time_ns += 700 + random_below(1500);
		*args = (struct gpt_call_args){.call = {.hdr = {.size = sizeof(*args), .type = GPT_CALL_ARGS},
							.time_ns = time_ns,
							.pid = 4321,
							.tid = 4322 + (uint32_t)random_below(2),
							.stack_id = stack_id(random_below(2)),
							.api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
							.origin = GPT_ORIGIN_SYMBOL},
					       .function = 0x7f0000001000,
					       .grid = {1, 1, 1},
					       .block = {32, 1, 1}};
	}
}

static void add_returns_and_kernels(struct bench *bench, uint64_t *calls, uint32_t first, uint32_t count,
				    uint64_t now_ns)
{
	uint32_t bytes = count * (sizeof(struct gpt_agent_api) + sizeof(struct gpt_agent_kernel));
	struct gpt_agent_batch *batch = append_segment(bench, sizeof(*batch) + bytes);
	struct gpt_agent_api *api = (struct gpt_agent_api *)batch->data;
	struct gpt_agent_kernel *kernel = (struct gpt_agent_kernel *)(api + count);
	static uint64_t gpu_ns;

	*batch = (struct gpt_agent_batch){.hdr = {.size = sizeof(*batch) + bytes, .type = GPT_AGENT_BATCH},
					  .time_ns = now_ns,
					  .pid = 4321,
					  .tid = 4330,
					  .bytes = bytes};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t name = (first + i) % 45;
		uint64_t start_ns = calls[i] + 9000 + random_below(2000);

		start_ns = start_ns > gpu_ns ? start_ns : gpu_ns + 900;
		gpu_ns = start_ns + 1500 + 300 * name + random_below(400);
		api[i] = (struct gpt_agent_api){.hdr = {.size = sizeof(*api), .type = GPT_AGENT_API},
						.start_ns = calls[i] + 400 + random_below(60),
						.end_ns = calls[i] + 4500 + random_below(800),
						.corr = 1000 + 5 * (first + i),
						.api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
						.tid = 4321};
		kernel[i] = (struct gpt_agent_kernel){.hdr = {.size = sizeof(*kernel), .type = GPT_AGENT_KERNEL},
						      .start_wall_ns = WALL_NS + start_ns,
						      .end_wall_ns = WALL_NS + gpu_ns,
						      .corr = 1000 + 5 * (first + i),
						      .context = 1,
						      .stream = 7,
						      .name = 1 + name % 23,
						      .grid = {16u << name % 5, 1 + name % 3, 1},
						      .block = {128u << name % 3, 1, 1},
						      .dynamic_shared_bytes = name % 4 * 8192,
						      .registers = 32 + name % 7 * 8};
	}
}

/* A training step of 45 launches from one thread. */
static void make_loop(struct bench *bench)
{
	uint64_t time_ns = 5000000000000, calls[64];
	uint32_t first = 0;

	for (unsigned i = 0; i < 1000000; i++) {
		struct gpt_call *call = append_segment(bench, sizeof(*call));

		time_ns += 6000 + random_below(3000) + (i % 45 ? 0 : 400000);
		*call = (struct gpt_call){.hdr = {.size = sizeof(*call), .type = GPT_CALL},
					  .time_ns = time_ns,
					  .pid = 4321,
					  .tid = 4321,
					  .stack_id = stack_id(i % 45),
					  .corr = 1000 + 5 * i,
					  .api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
					  .origin = GPT_ORIGIN_AGENT};
		calls[i - first] = time_ns;
		if (i - first == 48) {
			add_returns_and_kernels(bench, calls, first, 48, time_ns);
			calls[0] = time_ns;
			first = i;
		}
	}
}

static bool read_log(struct bench *bench, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct gpt_record *record;
	struct log_reader reader;
	const char *why = NULL;
	int error = fd < 0 ? -errno : log_reader_open(&reader, fd, &why);

	if (error) {
		fprintf(stderr, "bench_log: %s: %s\n", path, why ? why : strerror(-error));
		return false;
	}
	while ((record = log_reader_next(&reader)) != NULL)
		memcpy(append_segment(bench, record->size), record, record->size);
	log_reader_close(&reader);
	close(fd);
	return true;
}

/* ---- measured ----------------------------------------------------------------------------------------------- */

static bool is_launch(unsigned api)
{
#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	{GPT_API(GPT_DOMAIN_##domain, cbid), GPT_CLASS_##class},                                                       \
		{GPT_API(GPT_DOMAIN_##domain, twin_cbid), GPT_CLASS_##class},
	static const struct {
		unsigned short api, class;
	} rows[] = {GPT_CUDA_API_TABLE(ROW)};
#undef ROW

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].api == api)
			return rows[i].class == GPT_CLASS_LAUNCH;
	return false;
}

static void count_records(struct bench *bench, const uint8_t *bytes, size_t size)
{
	const struct gpt_record *record;
	size_t at = 0, inside;

	while ((record = record_at(bytes, size, &at)) != NULL) {
		bench->records++;
		if (record->type == GPT_CALL || record->type == GPT_CALL_ARGS)
			bench->launches += is_launch(((const struct gpt_call *)record)->api);
		inside = 0;
		while (record->type == GPT_AGENT_BATCH && batch_next((const struct gpt_agent_batch *)record, &inside))
			bench->records++;
	}
}

static void step_pack(struct bench *bench, struct segment *segment)
{
	struct pack_out out;

	if (pack(bench->packer, segment->records, segment->record_bytes, 0, &out))
		abort();
	if (!segment->packed) {
		segment->packed = xmalloc(out.packed_bytes);
		memcpy(segment->packed, out.packed, out.packed_bytes);
		segment->packed_bytes = out.packed_bytes;
	}
}

static void step_compress(struct bench *bench, struct segment *segment)
{
	size_t room = ZSTD_compressBound(segment->packed_bytes);

	if (!segment->body)
		segment->body = xmalloc(room);
	segment->body_bytes =
		ZSTD_compressCCtx(bench->compress, segment->body, room, segment->packed, segment->packed_bytes, LEVEL);
	if (ZSTD_isError(segment->body_bytes))
		abort();
}

static void step_decompress(struct bench *bench, struct segment *segment)
{
	if (ZSTD_decompressDCtx(bench->decompress, bench->room, segment->packed_bytes, segment->body,
				segment->body_bytes) != segment->packed_bytes)
		abort();
}

static void step_unpack(struct bench *bench, struct segment *segment)
{
	if (unpack(bench->unpacker, segment->packed, segment->packed_bytes, bench->room, segment->record_bytes))
		abort();
}

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* CPU nanoseconds of one pass over all segments: the least of some rounds. */
static double measure_step(struct bench *bench, void (*step)(struct bench *, struct segment *))
{
	double best = 0, all = 0;

	while (all < SECONDS * 1e9) {
		double before = cpu_ns(), took;

		for (size_t i = 0; i < bench->segments.count; i++)
			step(bench, &bench->segments.items[i]);
		took = cpu_ns() - before;
		best = all == 0 || took < best ? took : best;
		all += took;
	}
	return best;
}

/* ---- columns ------------------------------------------------------------------------------------------------ */

static void column_name(const struct schema_type *type, uint32_t column, char *name, size_t size)
{
	uint32_t elements = packed_elements(type), rest = packed_rest(type);

	if (column < PACKED_FIELDS)
		snprintf(name, size, "%s.(%s)", type->name, column == PACKED_SIZE ? "size" : "flags");
	else if (column < elements)
		snprintf(name, size, "%s.%s", type->name, type->fixed.items[column - PACKED_FIELDS].name);
	else if (column < rest && type->tail == SCHEMA_ARRAY)
		snprintf(name, size, "%s.%s", type->name, type->element.items[column - elements].name);
	else
		snprintf(name, size, "%s.(%s)", type->name, column < rest ? "no records" : "tail");
}

static void take_column(struct bench *bench, const uint8_t **at, const uint8_t *end, struct column_sum *sum)
{
	uint64_t bytes = 0;
	size_t room;
	void *body;

	if (!varint_get(at, end, &bytes))
		abort();
	room = ZSTD_compressBound(bytes);
	body = xmalloc(room);
	sum->packed += bytes;
	sum->alone += bytes ? ZSTD_compressCCtx(bench->compress, body, room, *at, bytes, LEVEL) : 0;
	*at += bytes;
	free(body);
}

static int by_alone(const void *left, const void *right)
{
	size_t a = ((const struct column_sum *)left)->alone, b = ((const struct column_sum *)right)->alone;

	return a > b ? -1 : a < b;
}

/* Adds a segment's columns to `sums`: the order, raw records, and the columns of each type that occurs in the order. */
static void sum_columns(struct bench *bench, const struct segment *segment, struct column_sum *sums)
{
	const uint8_t *at = segment->packed, *end = at + segment->packed_bytes;
	struct column_sum *sum = sums;
	bool there[SCHEMA_TYPES_MAX + 1] = {false};
	uint64_t count, type = 0, bytes;
	const uint8_t *order;

	if (!varint_get(&at, end, &count))
		abort();
	order = at;
	take_column(bench, &at, end, sum);
	strcpy(sum++->name, "(order)");
	if (!varint_get(&order, end, &bytes))
		abort();
	for (; count; count--)
		there[bytes && varint_get(&order, end, &type) ? bench->schema->rows[type] : 0] = true;
	if (there[0])
		take_column(bench, &at, end, sum);
	strcpy(sum++->name, "(raw)");
	for (size_t i = 0; i < bench->schema->count; i++)
		for (uint32_t j = 0; j < packed_columns(&bench->schema->types[i]); j++, sum++) {
			column_name(&bench->schema->types[i], j, sum->name, sizeof(sum->name));
			if (there[i + 1])
				take_column(bench, &at, end, sum);
		}
}

static void show_columns(struct bench *bench)
{
	size_t count = 2;
	struct column_sum *sums;

	for (size_t i = 0; i < bench->schema->count; i++)
		count += packed_columns(&bench->schema->types[i]);
	sums = xcalloc(count, sizeof(*sums));
	for (size_t i = 0; i < bench->segments.count; i++)
		sum_columns(bench, &bench->segments.items[i], sums);
	qsort(sums, count, sizeof(*sums), by_alone);
	printf("\n  bytes a launch packed, compressed\n");
	for (size_t i = 0; i < count && i < COLUMNS_SHOWN && sums[i].alone; i++)
		printf("  %6.2f %6.2f  %s\n", (double)sums[i].packed / (double)bench->launches,
		       (double)sums[i].alone / (double)bench->launches, sums[i].name);
	free(sums);
}

static void run_bench(struct bench *bench, const char *what, bool columns)
{
	size_t records = 0, packed = 0, body = 0;
	double ns[4], launches, all;

	for (size_t i = 0; i < bench->segments.count; i++)
		count_records(bench, bench->segments.items[i].records, bench->segments.items[i].record_bytes);
	launches = bench->launches ? (double)bench->launches : 1;
	all = bench->records ? (double)bench->records : 1;
	ns[0] = measure_step(bench, step_pack);
	ns[1] = measure_step(bench, step_compress);
	ns[2] = measure_step(bench, step_decompress);
	ns[3] = measure_step(bench, step_unpack);
	for (size_t i = 0; i < bench->segments.count; i++) {
		records += bench->segments.items[i].record_bytes;
		packed += bench->segments.items[i].packed_bytes;
		body += bench->segments.items[i].body_bytes;
	}
	printf("%s: %.0f launches, %.0f records\n", what, launches, all);
	printf("  bytes a launch: %.1f, packed %.1f, compressed %.1f\n", (double)records / launches,
	       (double)packed / launches, (double)body / launches);
	printf("  ns a launch: packing %.0f, zstd -%d %.0f; back: zstd %.0f, unpacking %.0f (%.0f a record)\n",
	       ns[0] / launches, LEVEL, ns[1] / launches, ns[2] / launches, ns[3] / launches, ns[3] / all);
	if (columns)
		show_columns(bench);
}

static void drop_segments(struct bench *bench)
{
	for (size_t i = 0; i < bench->segments.count; i++) {
		free(bench->segments.items[i].records);
		free(bench->segments.items[i].packed);
		free(bench->segments.items[i].body);
	}
	array_free(&bench->segments);
	bench->launches = bench->records = 0;
}

int main(int argc, char **argv)
{
	bool columns = argc > 1 && !strcmp(argv[1], "-c");
	const char *path = argc > 1 + columns ? argv[1 + columns] : NULL;
	struct bench bench = {.schema = schema_own(),
			      .compress = ZSTD_createCCtx(),
			      .decompress = ZSTD_createDCtx(),
			      .room = xmalloc(GPT_LOG_RECORD_BYTES_MAX)};
	bool good = true;

	bench.packer = packer_new(bench.schema);
	bench.unpacker = unpacker_new(bench.schema);
	if (path) {
		good = read_log(&bench, path);
		if (good)
			run_bench(&bench, path, columns);
		drop_segments(&bench);
	} else {
		make_flat_out(&bench);
		run_bench(&bench, "two threads flat out", columns);
		drop_segments(&bench);
		make_loop(&bench);
		run_bench(&bench, "a loop with kernels and returns", columns);
		drop_segments(&bench);
	}
	packer_free(bench.packer);
	unpacker_free(bench.unpacker);
	schema_free(bench.schema);
	ZSTD_freeCCtx(bench.compress);
	ZSTD_freeDCtx(bench.decompress);
	free(bench.room);
	return !good;
}
