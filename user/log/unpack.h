/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gives back the records that pack() took, byte for byte, by the schema that they were packed with.  What it reads is
 * hostile: it stays inside of what it was given, and its own memory is bounded by that.
 * An unpacker belongs to one thread; several may share a schema.
 */
#ifndef GPUTRACE_LOG_UNPACK_H
#define GPUTRACE_LOG_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "log/schema.h"

struct unpacker;

/* The schema has to stay until the unpacker is freed. */
struct unpacker *unpacker_new(const struct schema *schema);
void unpacker_free(struct unpacker *unpacker);

/*
 * Fills records[record_bytes] with whole records.  -EPROTO: `packed` does not come out as exactly that many bytes; what
 * is in records[] then means nothing.
 */
int unpack(struct unpacker *unpacker, const uint8_t *packed, size_t size, uint8_t *records, size_t record_bytes);

#endif
