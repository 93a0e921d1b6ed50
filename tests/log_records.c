/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the records of a log to standard output as gputrace reads them, one after the other: for tests that compare
 * them with others.
 *
 *	log_records FILE.gpt
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/reader.h"

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	const char *why = "usage: log_records FILE.gpt";
	const struct gpt_record *record;
	struct log_reader reader;
	bool whole;

	if (fd < 0 || log_reader_open(&reader, fd, &why)) {
		fprintf(stderr, "log_records: %s\n", why ? why : "cannot be read");
		return 1;
	}
	while ((record = log_reader_next(&reader)))
		fwrite(record, 1, record->size, stdout);
	whole = !reader.torn && !reader.error;
	log_reader_close(&reader);
	return fflush(stdout) || !whole;
}
