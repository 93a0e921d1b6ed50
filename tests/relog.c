/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts a log of version 1 (plain records after a header of 24 bytes) to today's format: for logs kept from earlier,
 * with everything that is wrong in them. Bytes after the last whole record become as many bytes of damage.
 *
 *	relog OLD NEW [BYTES]	a segment has BYTES of records (4,000,000)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

#include "log/writer.h"

#define OLD_HEADER 24 /* the first fields of struct gpt_log_header */

static __attribute__((noreturn)) void fail_with(const char *what, int error)
{
	fprintf(stderr, "relog: %s: %s\n", what, strerror(-error));
	exit(1);
}

static void read_header(FILE *old, struct gpt_log_header *header)
{
	memset(header, 0, sizeof(*header));
	if (fread(header, OLD_HEADER, 1, old) != 1 || header->magic != GPT_LOG_MAGIC || header->version != 1 ||
	    header->header_size < OLD_HEADER || header->header_size > 4096)
		fail_with("not a log of version 1", -EPROTO);
	if (fseek(old, header->header_size, SEEK_SET) < 0)
		fail_with("reading", -errno);
}

/* False: no whole record follows; `damage`: other bytes do. */
static bool read_record(FILE *old, struct gpt_record *record, bool *damage)
{
	size_t got = fread(record, 1, sizeof(*record), old);

	*damage = got != 0;
	if (got != sizeof(*record) || record->size < sizeof(*record) || record->size % 8 ||
	    record->size > GPT_RECORD_MAX)
		return false;
	if (fread(record + 1, 1, record->size - sizeof(*record), old) != record->size - sizeof(*record))
		return false;
	*damage = false;
	return true;
}

/* If GPT_END is the last record, log_writer_finish writes it. */
static int take_record(struct log_writer *writer, struct gpt_end **end, const struct gpt_record *record)
{
	int err = *end ? log_writer_append(writer, &(*end)->hdr) : 0;

	free(*end);
	*end = NULL;
	if (err || record->type != GPT_END || record->size < sizeof(**end))
		return err ? err : log_writer_append(writer, record);
	*end = malloc(record->size);
	if (!*end)
		return -ENOMEM;
	memcpy(*end, record, record->size);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t each = argc > 3 ? strtoull(argv[3], NULL, 0) : 4000000, taken = 0, next = each;
	struct gpt_record *record = malloc(GPT_RECORD_MAX);
	struct gpt_log_header header;
	struct gpt_end *end = NULL;
	struct log_writer *writer;
	bool damage;
	FILE *old;
	int new, err = 0;

	if (argc < 3 || !record)
		fail_with("usage: relog OLD NEW [BYTES]", -EINVAL);
	old = fopen(argv[1], "rbe");
	new = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!old || new < 0)
		fail_with(old ? argv[2] : argv[1], -errno);
	read_header(old, &header);
	writer = log_writer_open(new);
	log_writer_set_start(writer, header.start_ns, header.wall_offset_ns);
	while (!err && read_record(old, record, &damage)) {
		err = take_record(writer, &end, record);
		taken += record->size;
		if (taken < next)
			continue;
		err = err ? err : log_writer_settle(writer);
		next += each;
	}
	if (!err && end && !damage)
		err = log_writer_finish(writer, end);
	else if (!err && end)
		err = log_writer_append(writer, &end->hdr);
	if (!err)
		err = log_writer_settle(writer);
	if (!err && damage && pwrite(new, "damage", 6, lseek(new, 0, SEEK_END)) != 6)
		err = -errno;
	if (err)
		fail_with(argv[2], err);
	log_writer_close(writer);
	free(record);
	free(end);
	fclose(old);
	close(new);
	return 0;
}
