/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of user/log's reader: a log file of three segments, and what the reader returns from a file. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "log/reader.h"
#include "log_file.h"

/* The reader's result and records. */
struct given {
	int err;
	const char *why;
	struct log_builder records; /* one after the other */
	uint32_t count;
	bool torn, too_long;
	int error;
	uint32_t damaged, read, unwanted;
};

struct given_options {
	unsigned threads; /* 0: as many as the reader uses by default */
	const struct log_restriction *restriction;
};

LOG_FN struct given given_by_fd(int fd, struct given_options options)
{
	struct given given = {.why = "not set"};
	const struct gpt_record *record;
	struct log_reader reader;

	given.err = log_reader_open(&reader, fd, &given.why);
	if (!given.err) {
		if (options.threads)
			decode_ahead_use(&reader.ahead, options.threads);
		if (options.restriction)
			log_reader_restrict(&reader, options.restriction);
		while ((record = log_reader_next(&reader))) {
			log_raw(&given.records, record, record->size);
			given.count++;
		}
		assert_null(log_reader_next(&reader));
	}
	given.torn = reader.torn;
	given.too_long = reader.too_long;
	given.error = reader.error;
	given.damaged = reader.damaged;
	given.read = reader.read;
	given.unwanted = reader.unwanted;
	log_reader_close(&reader);
	return given;
}

LOG_FN struct given given_by(const struct log_file *file, struct given_options options)
{
	int fd = log_file_fd(file);
	struct given given = given_by_fd(fd, options);

	close(fd);
	return given;
}

LOG_FN bool given_is(const struct given *given, const struct log_builder *records)
{
	return !given->err && given->records.size == records->size &&
	       (!records->size || memcmp(given->records.data, records->data, records->size) == 0);
}

/* ---- three segments --------------------------------------------------------------------------------------------- */

#define THREE 3
#define THREE_PID 41230

/* Segment i repeats a code object (except the first) and has calls of its own at 1000 * (i + 1) by process PID + i. */
struct three {
	struct log_file file;
	struct log_builder repeated[THREE], own[THREE];
};

LOG_FN void three_make(struct three *three)
{
	memset(three, 0, sizeof(*three));
	log_file_begin(&three->file, 500, 7);
	for (uint32_t i = 0; i < THREE; i++) {
		struct log_builder *own = &three->own[i], all = {0};

		if (i)
			log_function(&three->repeated[i], THREE_PID, 0xc0de, "train", "/src/train.py", 10);
		for (uint32_t k = 0; k < 4; k++)
			log_launch(own, THREE_PID + i, THREE_PID, 1000 * (i + 1) + k, 1, 10 * i + k + 1);
		log_batch(own, THREE_PID + i, 9, 1000 * (i + 1) + 500);
		log_agent_kernel(own, (struct gpt_agent_kernel){.start_wall_ns = 1000000 * (i + 1),
								.end_wall_ns = 1000000 * (i + 1) + 100,
								.corr = 10 * i + 1});
		log_batch_end(own);
		if (i == THREE - 1)
			log_end(own, 4000);
		log_raw(&all, three->repeated[i].data, three->repeated[i].size);
		log_raw(&all, own->data, own->size);
		log_file_segment(&three->file, all.data, all.size, i ? 2 : 0);
		log_free(&all);
	}
}

LOG_FN void three_free(struct three *three)
{
	log_file_free(&three->file);
	for (unsigned i = 0; i < THREE; i++) {
		log_free(&three->repeated[i]);
		log_free(&three->own[i]);
	}
}

/* The records that a reader returns for a set of segments (bit i: segment i): after a missing one, the next repeats. */
LOG_FN void three_expect(const struct three *three, unsigned set, struct log_builder *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < THREE; i++) {
		if (!(set >> i & 1))
			continue;
		if (i && !(set >> (i - 1) & 1))
			log_raw(out, three->repeated[i].data, three->repeated[i].size);
		log_raw(out, three->own[i].data, three->own[i].size);
	}
}

LOG_FN bool three_gave(const struct three *three, const struct given *given, unsigned set)
{
	struct log_builder expected;
	bool same;

	three_expect(three, set, &expected);
	same = given_is(given, &expected);
	log_free(&expected);
	return same;
}

/* Reads on the caller's thread only. */
static const struct given_options plain __attribute__((unused)) = {.threads = 1};

LOG_FN void assert_three(const struct three *three, unsigned set, bool torn)
{
	struct given given = given_by(&three->file, plain);

	assert_true(three_gave(three, &given, set));
	assert_int_equal(given.torn, torn);
	assert_int_equal(given.error, 0);
	log_free(&given.records);
}
