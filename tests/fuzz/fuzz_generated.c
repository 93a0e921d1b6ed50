/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: any bytes as a generated file; results must lie within them. */
#include <stdlib.h>

#include "target/generated.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	const char *bytes;
	size_t size;
	uint32_t line;
};

static void check_text(const struct file *file, struct generated_text text)
{
	if (text.size && (text.bytes < file->bytes || text.size > file->size ||
			  (size_t)(text.bytes - file->bytes) > file->size - text.size))
		abort();
}

static void check_line(void *context, const struct generated_line *line)
{
	struct file *file = context;

	if (line->line <= file->line || !line->kernel.size)
		abort();
	file->line = line->line;
	check_text(file, line->kernel);
	check_text(file, line->nodes);
	check_text(file, line->ops);
	check_text(file, line->file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file file = {(const char *)data, size, 0};

	generated_read(file.bytes, size, check_line, &file);
	return 0;
}
