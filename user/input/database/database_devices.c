/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPUs, as a profiler's database describes them; see database_reader.h. */
#include <string.h>

#include "input/database/database_reader.h"

/* Reads pairs of hex digits, whatever is between them. */
static void read_digits(struct text text, uint8_t uuid[16])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t bytes[16] = {0};
	size_t digits = 0;

	if (text.size > 4 && !memcmp(text.bytes, "GPU-", 4))
		text = (struct text){text.bytes + 4, text.size - 4};
	for (size_t i = 0; i < text.size && digits < 32; i++) {
		const char *digit = strchr(hex, text.bytes[i] | 0x20);

		if (!digit)
			continue;
		bytes[digits / 2] |= (uint8_t)((digit - hex) << (digits % 2 ? 0 : 4));
		digits++;
	}
	if (digits == 32)
		memcpy(uuid, bytes, sizeof(bytes));
}

static void read_uuid(struct database_rows *rows, uint8_t uuid[16])
{
	struct text bytes = database_blob(rows, DATABASE_DEVICE_UUID);

	if (bytes.size == 16)
		memcpy(uuid, bytes.bytes, 16);
	else
		read_digits(database_text(rows, DATABASE_DEVICE_UUID), uuid);
}

static uint32_t read_name(struct database_reader *reader, struct database_rows *rows)
{
	struct text name = database_text(rows, DATABASE_DEVICE_NAME);

	return name.size ? rows_text(&reader->file->rows, name.bytes, name.size)
			 : database_string_text(reader, database_number(rows, DATABASE_DEVICE_NAME, DATABASE_NONE));
}

static uint32_t at_most_16_bits(uint32_t value)
{
	return value <= UINT16_MAX ? value : 0;
}

void database_read_gpus(struct database_reader *reader, const char *table,
			const char *const columns[DATABASE_DEVICE_COLUMNS])
{
	struct database_rows rows = database_select(&reader->base, table, columns, DATABASE_DEVICE_COLUMNS);

	while (database_next(&rows)) {
		struct foreign_device found = {.name = ROW_NO_TEXT};
		struct model_device *device = &found.device;
		int64_t memory = database_number(&rows, DATABASE_DEVICE_MEMORY, 0);

		if (reader->file->devices.count >= DATABASE_DEVICES_MAX)
			continue;
		found.name = read_name(reader, &rows);
		read_uuid(&rows, device->uuid);
		device->id = database_small(&rows, DATABASE_DEVICE_ID, 0);
		device->memory_bytes = memory > 0 ? (uint64_t)memory : 0;
		device->multiprocessors = database_small(&rows, DATABASE_DEVICE_SMS, 0);
		device->compute_major = database_small(&rows, DATABASE_DEVICE_MAJOR, 0);
		device->compute_minor = database_small(&rows, DATABASE_DEVICE_MINOR, 0);
		device->warp_size = database_small(&rows, DATABASE_DEVICE_WARP, 0);
		device->max_threads_per_multiprocessor =
			at_most_16_bits(database_small(&rows, DATABASE_DEVICE_WARPS, 0)) *
			at_most_16_bits(device->warp_size);
		device->max_blocks_per_multiprocessor = database_small(&rows, DATABASE_DEVICE_BLOCKS, 0);
		device->max_threads_per_block = database_small(&rows, DATABASE_DEVICE_THREADS, 0);
		device->max_registers_per_multiprocessor = database_small(&rows, DATABASE_DEVICE_SM_REGISTERS, 0);
		device->max_registers_per_block = database_small(&rows, DATABASE_DEVICE_REGISTERS, 0);
		device->max_shared_per_multiprocessor = database_small(&rows, DATABASE_DEVICE_SM_SHARED, 0);
		device->max_shared_per_block = database_small(&rows, DATABASE_DEVICE_SHARED, 0);
		array_push(&reader->file->devices, found);
	}
}
