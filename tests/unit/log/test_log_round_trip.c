/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log returns what was recorded unchanged, wherever its segments end: each record, the report, every export. */
#include "log_given.h"

#include <errno.h>

#include "export/export.h"
#include "log_model.h"
#include "log/writer.h"
#include "report/report.h"
#include "test_export_log.h"
#include "whole_trace.h"

/* The records of a run of several processes, in the order in which the ring and the collector produced them. */
static struct given read_recorded(void)
{
	int fd = sample_log(2, 40);
	struct given given = given_by_fd(fd, plain);

	assert_int_equal(given.err, 0);
	assert_false(given.torn);
	assert_true(given.count > 100);
	close(fd);
	return given;
}

/* Writes the records with a segment after every N; 0: as few segments as possible. */
static int write_records(const struct given *recorded, uint32_t every)
{
	int fd = memfd_create("log", MFD_CLOEXEC);
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_record *record;
	uint32_t count = 0;

	assert_int_equal(log_writer_set_start(writer, 1000, 7), 0);
	for (size_t at = 0; at < recorded->records.size; at += record->size) {
		record = (struct gpt_record *)(recorded->records.data + at);
		if (record->type == GPT_END) {
			assert_int_equal(log_writer_finish(writer, (struct gpt_end *)record), 0);
			continue;
		}
		assert_int_equal(log_writer_append(writer, record), 0);
		if (every && ++count % every == 0)
			assert_int_equal(log_writer_settle(writer), 0);
	}
	log_writer_close(writer);
	return fd;
}

/* All outputs of a log: the report, then every export. */
static char *make_outputs(int fd, size_t *size)
{
	const struct report_options options = {.width = 100};
	const struct export_options whole = {.process = -1};
	struct model *model;
	const char *why;
	char *text;
	FILE *stream = open_memstream(&text, size);

	assert_int_equal(model_build(fd, &model, &why), 0);
	assert_int_equal(report_write(stream, WHOLE_TRACE(model), &options), 0);
	for (const struct export_format *format = export_formats; format->name; format++) {
		int file = memfd_create("export", MFD_CLOEXEC);
		char bytes[4096];
		ssize_t got;
		int error = export_write(file, format, WHOLE_TRACE(model), &whole);

		if (error != -ENODATA || !format->no_data) /* the log has no data for that format */
			assert_int_equal(error, 0);
		assert_int_equal(lseek(file, 0, SEEK_SET), 0);
		while ((got = read(file, bytes, sizeof(bytes))) > 0)
			assert_int_equal(fwrite(bytes, 1, (size_t)got, stream), got);
		close(file);
	}
	model_free(model);
	fclose(stream);
	return text;
}

static const uint32_t everies[] = {0, 1, 2, 7, 50};

static void records_come_out_as_they_went_in_wherever_segments_end(void **state)
{
	struct given before = read_recorded();

	for (size_t i = 0; i < sizeof(everies) / sizeof(everies[0]); i++) {
		int fd = write_records(&before, everies[i]);
		struct given after = given_by_fd(fd, plain);

		assert_true(given_is(&after, &before.records));
		assert_false(after.torn);
		assert_true(everies[i] ? after.read >= before.count / everies[i] : after.read <= 2);
		log_free(&after.records);
		close(fd);
	}
	log_free(&before.records);
}

static void outputs_are_the_same_bytes_wherever_segments_end(void **state)
{
	struct given before = read_recorded();
	int fd = write_records(&before, 0);
	size_t size, cut_size;
	char *text = make_outputs(fd, &size);

	close(fd);
	for (size_t i = 1; i < sizeof(everies) / sizeof(everies[0]); i++) {
		char *cut;

		fd = write_records(&before, everies[i]);
		cut = make_outputs(fd, &cut_size);
		assert_int_equal(cut_size, size);
		assert_memory_equal(cut, text, size);
		free(cut);
		close(fd);
	}
	free(text);
	log_free(&before.records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_as_they_went_in_wherever_segments_end),
		cmocka_unit_test(outputs_are_the_same_bytes_wherever_segments_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
