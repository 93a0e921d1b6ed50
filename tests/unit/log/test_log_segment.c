/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the header of a segment says about its records. */
#include <errno.h>

#include "log/segment.h"
#include "log_builder.h"
#include "segments.h"

/* The only segment of a log with these records; free it with segments_free. */
static struct segments *encode_segment(const struct log_builder *records, uint32_t repeated, uint32_t flags)
{
	size_t schema_bytes;
	char *text = schema_text(&schema_bytes);
	struct schema *schema = schema_own();
	struct segment_encoder *encoder = segment_encoder_new(schema);
	struct gpt_log_header header = {.magic = GPT_LOG_MAGIC,
					.version = GPT_LOG_VERSION,
					.header_size = sizeof(header),
					.schema_bytes = (uint32_t)schema_bytes};
	struct log_builder file = {0};
	struct segment segment;
	struct segments *log;
	int fd;

	assert_int_equal(segment_encode(encoder, records->data, records->size, repeated, 5, flags, &segment), 0);
	assert_int_equal(segment.size % 8, 0);
	assert_int_equal(segment.header_size % 8, 0);
	log_raw(&file, &header, sizeof(header));
	log_raw(&file, text, schema_bytes);
	log_pad(&file);
	log_raw(&file, segment.bytes, segment.size);
	fd = memfd_create("segment", MFD_CLOEXEC);
	assert_int_equal(write(fd, file.data, file.size), file.size);
	log = segments_of(fd);
	assert_int_equal(log->count, 1);
	assert_int_equal(log->left_over, 0);
	close(fd);
	log_free(&file);
	segment_encoder_free(encoder);
	schema_free(schema);
	free(text);
	return log;
}

static void put_records(struct log_builder *log)
{
	memset(log, 0, sizeof(*log));
	log_thread(log, 7, 8, 50, "worker");
	log_launch(log, 7, 8, 300, 0, 1);
	log_launch(log, 9, 9, 200, 0, 2);
	log_batch(log, 9, 9, 400);
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = 7000, .end_wall_ns = 8000});
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = 0, .end_wall_ns = 0});
	log_batch_end(log);
}

static void the_records_come_back_as_they_were(void **state)
{
	struct log_builder records;
	struct segments *log;

	put_records(&records);
	log = encode_segment(&records, 0, 0);
	assert_int_equal(log->items[0].header.record_bytes, records.size);
	assert_memory_equal(log->items[0].records, records.data, records.size);
	assert_int_equal(log->items[0].header.records, 4);
	assert_int_equal(log->items[0].header.sequence, 5);
	segments_free(log);
	log_free(&records);
}

static void times_kinds_and_processes_are_those_of_the_records_that_are_not_repeated(void **state)
{
	static const struct gpt_log_kind kinds[] = {{.type = GPT_CALL, .count = 2},
						    {.type = GPT_AGENT_BATCH, .count = 1},
						    {.type = GPT_AGENT_KERNEL, .count = 2}};
	static const uint32_t pids[] = {7, 9};
	struct log_builder records;
	const struct gpt_log_segment *header;
	struct segments *log;

	put_records(&records);
	log = encode_segment(&records, 1, GPT_LOG_SEGMENT_FORGOT);
	header = &log->items[0].header;
	assert_int_equal(header->repeated, 1);
	assert_int_equal(header->records, 4);
	assert_int_equal(header->flags, GPT_LOG_SEGMENT_FORGOT);
	assert_int_equal(header->first_ns, 200);
	assert_int_equal(header->last_ns, 400);
	assert_int_equal(header->first_wall_ns, 7000);
	assert_int_equal(header->last_wall_ns, 8000);
	assert_int_equal(header->kinds, 3);
	assert_memory_equal(log->items[0].header_bytes + sizeof(*header), kinds, sizeof(kinds));
	assert_int_equal(header->processes, 2);
	assert_memory_equal(log->items[0].header_bytes + sizeof(*header) + sizeof(kinds), pids, sizeof(pids));
	segments_free(log);
	log_free(&records);
}

static void a_segment_of_more_processes_than_can_be_listed_lists_none(void **state)
{
	struct log_builder records = {0};
	struct segments *log;

	for (uint32_t pid = 1; pid <= 5000; pid++)
		log_launch(&records, pid, pid, 300, 0, 1);
	log = encode_segment(&records, 0, 0);
	assert_int_equal(log->items[0].header.processes, GPT_LOG_ANY_PROCESS);
	assert_true(log->items[0].header.header_size < 200);
	segments_free(log);
	log_free(&records);
}

static void records_whose_sizes_do_not_add_up_are_refused(void **state)
{
	struct schema *schema = schema_own();
	struct segment_encoder *encoder = segment_encoder_new(schema);
	struct log_builder records;
	struct segment segment;

	put_records(&records);
	assert_int_equal(segment_encode(encoder, records.data, records.size - 8, 0, 0, 0, &segment), -EINVAL);
	((struct gpt_record *)records.data)->size = 4;
	assert_int_equal(segment_encode(encoder, records.data, records.size, 0, 0, 0, &segment), -EINVAL);
	log_free(&records);
	segment_encoder_free(encoder);
	schema_free(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_records_come_back_as_they_were),
		cmocka_unit_test(times_kinds_and_processes_are_those_of_the_records_that_are_not_repeated),
		cmocka_unit_test(a_segment_of_more_processes_than_can_be_listed_lists_none),
		cmocka_unit_test(records_whose_sizes_do_not_add_up_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
