/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer target: any bytes as a log.  Its model and timeline must hold their invariants (model_check.h,
 * timeline_check.h), and the timeline of its parts must have as many events as the whole.  Parts that are made while
 * the log is read must hold the invariants, too, and none may be missing.  Needs no corpus.
 *
 * Input that begins like a log is read as a file; the checksums of its segments are corrected first, so that damage is
 * not rejected early.  Any other input is records, which become a log of one segment.  The mutator starts from a log
 * with every kind of record, in both forms, and mostly changes bytes inside records, so that the chain of sizes holds.
 */
#include <gputrace/nccl.h>

#include "log_model.h"
#include "input/gpt/gpt_trace.h"
#include "log_file.h"
#include "model_check.h"
#include "timeline_check.h"
#include "trace_cut.h"
#include "whole_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#define PID 7

static bool is_file(const uint8_t *data, size_t size)
{
	const uint32_t magic = GPT_LOG_MAGIC;

	return size >= sizeof(struct gpt_log_header) && memcmp(data, &magic, sizeof(magic)) == 0;
}

/* Corrects checksums up to the first segment whose header is invalid. */
static void sign_segments(struct log_file *file)
{
	const struct gpt_log_header *header = (const struct gpt_log_header *)file->bytes.data;
	uint64_t at = header->header_size + gpt_padded(header->schema_bytes);

	while (at % 8 == 0 && at + sizeof(struct gpt_log_segment) <= file->bytes.size) {
		const struct gpt_log_segment *segment = log_file_header(file, at);
		uint64_t bytes = segment->header_size + gpt_padded(segment->body_bytes);

		if (segment->magic != GPT_LOG_SEGMENT_MAGIC || bytes > file->bytes.size - at ||
		    segment->header_size < sizeof(*segment))
			break;
		log_file_sign(file, at);
		at += bytes;
	}
}

static int open_file(const uint8_t *data, size_t size)
{
	struct log_file file = {0};
	int fd;

	log_raw(&file.bytes, data, size);
	sign_segments(&file);
	fd = log_file_fd(&file);
	log_free(&file.bytes);
	return fd;
}

static int open_records(const uint8_t *data, size_t size)
{
	struct log_head head;
	struct log_file file;
	int fd;

	memcpy(&head, data, sizeof(head));
	log_file_begin(&file, head.start_ns, head.wall_offset_ns);
	log_file_segment(&file, data + sizeof(head), log_whole_records(data + sizeof(head), size - sizeof(head)), 0);
	fd = log_file_fd(&file);
	log_file_free(&file);
	return fd;
}

/* Reads the log like one that is larger than memory.  Nonsense may give other results than when read in one part. */
static const char *check_long(int fd, int process, uint32_t records)
{
	const struct trace_division division = {.chunk_records = 16 * records, .part_events = 4};
	struct trace *parts;
	const char *why, *wrong;
	uint64_t of_parts[3];

	if (gpt_trace_open(fd, &division, NULL, &parts, &why))
		return "a log can be read whole, but not in parts";
	wrong = timeline_check(parts, process, of_parts);
	if (!wrong && parts->error)
		wrong = "a round over the parts of a log ended early";
	gpt_trace_close(parts);
	return wrong;
}

static const char *check_timelines(const struct model *model, int fd, int process, uint32_t parts)
{
	struct trace *cut = trace_cut_each(model, (model->call_count + model->gpu_count) / parts + 1);
	struct trace_of_model whole;
	uint64_t of_whole[3], of_parts[3];
	const char *wrong = timeline_check(trace_of_model(&whole, model), process, of_whole);

	if (!wrong)
		wrong = timeline_check(cut, process, of_parts);
	if (!wrong && memcmp(of_whole, of_parts, sizeof(of_whole)) != 0)
		wrong = "parts have not as much as the whole";
	trace_cut_free(cut);
	return wrong ? wrong : check_long(fd, process, parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *model = NULL;
	const char *why, *wrong;
	char name[64];
	int fd;

	if (size < sizeof(struct log_head))
		return 0;
	fd = is_file(data, size) ? open_file(data, size) : open_records(data, size);
	if (!model_build(fd, &model, &why)) {
		wrong = model_check(model);
		if (!wrong)
			wrong = check_timelines(model, fd, size % 4 ? -1 : 0, size % 5 + 1);
		if (wrong) {
			fprintf(stderr, "broken promise: %s\n", wrong);
			abort();
		}
		for (uint32_t i = 0; i < model->gpu_count; i++)
			if (model_check_text(gpu_name(model, &model->gpu[i], name, sizeof(name))))
				abort();
	}
	model_free(model);
	close(fd);
	return 0;
}

static void add_python(struct log_builder *log)
{
	const uint8_t lnotab[] = {2, 1, 4, 0xff, 6, 3}, table_310[] = {2, 1, 4, 0x80, 6, 3};
	struct gpt_pyframe frames[] = {
		{.code = 0x100, .lasti = 8}, {.code = 0x200, .lasti = 4}, {.code = 0x300, .lasti = -1}};

	log_function(log, PID, 0x100, "f", "/src/a.py", 10);
	log_code(log, PID, 0x200, "g", NULL, "b.py", 5, GPT_LINES_LNOTAB, lnotab, sizeof(lnotab));
	log_code(log, PID, 0x300, NULL, "C.h", "c.py", 5, GPT_LINES_310, table_310, sizeof(table_310));
	log_stack(log, PID, 1, 3, frames);
	log_stack_truncated(log, PID, 2, 2, frames + 1);
	log_native_stack(log, PID, 1, 2, (uint64_t[]){0x10, 0x20});
	log_native_sym(log, PID, 0x10, "_ZN1a1bIiEEvT_", "/usr/lib/libx.so");
	log_native_sym(log, PID, 0x20, "", "/usr/lib/liby.so");
	log_generated(log, 10, 18,
		      (const char *const[]){"/torchinductor_a/b.py", "triton_0", "sin", "aten.sin", "/cache/c.py"});
}

static void add_calls(struct log_builder *log)
{
	log_thread(log, PID, PID, 90, "main");
	for (uint32_t corr = 1; corr <= 3; corr++)
		log_launch(log, PID, PID, 100 * corr, corr % 3, corr);
	log_call_args(log, (struct gpt_call_args){.call = {.time_ns = 500, .pid = PID, .tid = 8, .native_id = 1}});
	log_call_args(log,
		      (struct gpt_call_args){.call = {.time_ns = 408, .pid = PID, .tid = PID, .api = GPT_API(2, 211)}});
	log_call(log, (struct gpt_call){
			      .hdr.flags = GPT_CALL_NESTED_IN_SYMBOL, .time_ns = 501, .pid = PID, .tid = 8, .corr = 4});
}

static void add_batch(struct log_builder *log)
{
	log_batch(log, PID, 9, 900);
	log_agent_hello(log, GPT_AGENT_READY, GPT_AGENT_OK, 28, "/usr/lib/libcupti.so", "detail");
	log_agent_name(log, 1, "_Z4gemmPf");
	log_agent_clock(log, (struct gpt_agent_clock){.mono_ns = 100, .wall_offset_ns = 5, .error_ns = 1});
	log_agent_clock(log, (struct gpt_agent_clock){.mono_ns = 700, .wall_offset_ns = 50000, .error_ns = 1});
	log_agent_device(log, &(struct gpt_agent_device){.id = 0, .uuid = "u"}, "Example GPU");
	log_agent_context(log, (struct gpt_agent_context){.context = 1});
	log_agent_stream(log, (struct gpt_agent_stream){.stream = 7});
	log_agent_api(log, (struct gpt_agent_api){.start_ns = 100, .end_ns = 150, .corr = 1, .api = GPT_API(2, 211)});
	log_agent_kernel(log,
			 (struct gpt_agent_kernel){.start_wall_ns = 200, .end_wall_ns = 300, .corr = 1, .name = 1});
	log_agent_memcpy(log,
			 (struct gpt_agent_memcpy){.start_wall_ns = 50600, .end_wall_ns = 50700, .corr = 2, .kind = 1});
	log_agent_memset(log,
			 (struct gpt_agent_memset){.start_wall_ns = 400, .end_wall_ns = 500, .corr = 2, .memory = 3});
	log_agent_overhead(log, (struct gpt_agent_overhead){.start_wall_ns = 400, .end_wall_ns = 500, .tid = 8});
	log_agent_api_activity(
		log,
		(struct gpt_agent_api_activity){
			.start_wall_ns = 415, .end_wall_ns = 455, .corr = 9, .api = GPT_API(2, 211), .thread = PID});
	log_agent_api_activity(log,
			       (struct gpt_agent_api_activity){
				       .start_wall_ns = 505, .end_wall_ns = 510, .corr = 10, .api = GPT_API(2, 315)});
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = 520, .end_wall_ns = 530, .corr = 9});
	log_agent_jit(log,
		      (struct gpt_agent_jit){
			      .start_wall_ns = 400, .end_wall_ns = 500, .corr = 1, .operation = GPT_AGENT_JIT_COMPILE});
	for (uint16_t what = GPT_AGENT_RANGE_MARK; what <= GPT_AGENT_RANGE_LOST; what++)
		log_agent_range(log,
				&(struct gpt_agent_range){.time_ns = 100 + what, .id = 1, .tid = PID, .what = what},
				"range", what == GPT_AGENT_RANGE_STARTED ? "domain" : "");
	log_agent_stats(log, (struct gpt_agent_stats){.calls = 4});
}

/* A forward op with a stack, its backward node on another thread, and a launch in that node. */
static void add_ops(struct log_builder *log)
{
	log_stack_at(
		log,
		(struct gpt_stack_at){
			.time_ns = 599, .stack_id = 1, .number = 1, .pid = PID, .tid = PID, .what = GPT_STACK_OF_OP});
	log_stack_at(
		log,
		(struct gpt_stack_at){
			.time_ns = 649, .stack_id = 2, .number = 2, .pid = PID, .tid = 8, .what = GPT_STACK_OF_OP});
	log_nccl(log, (struct gpt_nccl){.time_ns = 660,
					.comm = 1,
					.comm_id = 2,
					.count = 8,
					.pid = PID,
					.tid = 8,
					.calls = 1,
					.ranks = 2,
					.function = GPT_NCCL_ALL_REDUCE,
					.dtype = 7});
	log_launch(log, PID, 8, 660, 2, 20);
	log_batch(log, PID, 9, 900);
	log_agent_op_name(log, 1, "aten::mm");
	log_agent_op_name(log, 2, "MmBackward0");
	log_agent_op(
		log,
		&(struct gpt_agent_op){
			.start_ns = 600, .end_ns = 620, .sequence = 7, .thread = 1, .tid = PID, .name = 1, .stack = 1});
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = 650,
						 .end_ns = 700,
						 .sequence = 7,
						 .thread = 2,
						 .forward_thread = 1,
						 .tid = 8,
						 .name = 2,
						 .stack = 2,
						 .scope = GPT_AGENT_OP_BACKWARD_FUNCTION});
	log_agent_ops(log, GPT_AGENT_OPS_STOPPED, 0, "");
}

static void make_seed(struct log_builder *log)
{
	log_begin(log, 10, 5);
	log_session(log, "1", "host", "6.1", "pid 7", 2, 0, 0);
	log_clock(log, (struct gpt_clock){.mono_ns = 20, .wall_offset_ns = 5, .error_ns = 2});
	log_process(log, PID, 1, 30, 5, 0x30c, "python3", "/usr/bin/python3", "python3 x.py", "");
	log_text(log, GPT_PROBES, 0, "libcudart.so: 3 sites");
	log_text(log, GPT_NOTE, 0, "a note");
	add_python(log);
	add_calls(log);
	add_batch(log);
	add_ops(log);
	log_mapped(log, (struct gpt_mapped){.pid = PID});
	log_code_dead(log, (struct gpt_code_dead){.code = 0x100, .pid = PID});
	log_process_event(log, GPT_FORK, 8, PID, 910, "child");
	log_process_event(log, GPT_EXEC, 8, 0, 920, "other");
	log_process_event(log, GPT_EXIT, PID, 0, 930, "python3");
	log_clock(log, (struct gpt_clock){.mono_ns = 940, .wall_offset_ns = 50000, .error_ns = 2});
	log_end(log, 1000);
}

/* Makes the seed a file with two segments of its records; replaces the log. */
static void make_file(struct log_builder *log)
{
	const uint8_t *records = log->data + sizeof(struct log_head);
	size_t bytes = log->size - sizeof(struct log_head);
	struct log_file file;

	log_file_begin(&file, 10, 5);
	log_file_segment(&file, records, bytes, 0);
	log_file_segment(&file, records, bytes, 2);
	log_file_finish(&file);
	log_free(log);
	*log = file.bytes;
	file.bytes = (struct log_builder){0};
	log_file_free(&file);
}

/* Collects the starts of records; returns their number, at most `most`. */
static size_t find_records(const uint8_t *data, size_t size, size_t *starts, size_t most)
{
	size_t count = 0;

	for (size_t at = sizeof(struct log_head); at + sizeof(struct gpt_record) <= size && count < most;) {
		struct gpt_record record;

		memcpy(&record, data + at, sizeof(record));
		if (record.size < sizeof(record) || record.size > size - at)
			break;
		starts[count++] = at;
		/* a batch has a chain of records of its own: step into it */
		at += record.type == GPT_AGENT_BATCH && record.size > sizeof(struct gpt_agent_batch)
			      ? sizeof(struct gpt_agent_batch)
			      : record.size;
	}
	return count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	size_t starts[512], count, at, room;
	struct gpt_record record;

	if (size < sizeof(struct log_head) || seed % 64 == 0) {
		struct log_builder log;

		make_seed(&log);
		log_batch_end(&log);
		if (seed % 128 == 0)
			make_file(&log);
		size = log.size < max_size ? log.size : max_size;
		memcpy(data, log.data, size);
		log_free(&log);
	}
	if (is_file(data, size))
		return LLVMFuzzerMutate(data, size, max_size);
	count = find_records(data, size, starts, sizeof(starts) / sizeof(starts[0]));
	if (!count || seed % 16 == 1)
		return LLVMFuzzerMutate(data, size, max_size);
	at = starts[seed / 64 % count];
	memcpy(&record, data + at, sizeof(record));
	if (seed % 8 == 2 && size + record.size <= max_size) { /* append a copy of the record */
		memcpy(data + size, data + at, record.size);
		return size + record.size;
	}
	/* mutate the record's body, keep its length */
	room = record.size - sizeof(record);
	if (room)
		LLVMFuzzerMutate(data + at + sizeof(record), room, room);
	return size;
}
