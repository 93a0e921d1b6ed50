/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Restores the records that pack() took, byte for byte, by the schema that they were packed with.  Its input is not
 * trusted: it accesses only the memory it was given, and the size of that bounds its own memory.
 * An unpacker belongs to one thread; several may share a schema.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "log/packing/schema.h"

struct unpacker;

/* The schema has to stay until the unpacker is freed. */
struct unpacker *unpacker_new(const struct schema *schema);
void unpacker_free(struct unpacker *unpacker);

/*
 * Fills records[record_bytes] with whole records.  -EPROTO: `packed` does not unpack to exactly that many bytes; the
 * content of records[] is then undefined.
 */
int unpack(struct unpacker *unpacker, const uint8_t *packed, size_t size, uint8_t *records, size_t record_bytes);
