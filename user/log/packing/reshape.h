/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts the records of a log to the layout of this gputrace's structs, when another version of gputrace wrote it
 * with other fields.  Fields are matched by name.  A field that the structs lack is left out; one that the log lacks is
 * 0, or, at the end of a record, missing.  Also converts records in batches, elements of arrays, and records that text
 * follows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "log/packing/schema.h"

struct reshaper;

/*
 * Converts from one schema, which must outlive the reshaper, to another, which the function takes over.  NULL: the
 * types that both have are the same, and records can stay as they are.
 */
struct reshaper *reshaper_new(const struct schema *from, struct schema *to);
void reshaper_free(struct reshaper *reshaper);

/*
 * *out holds the records until the next call; their number and types are the same as before.  -EPROTO: the records are
 * not whole, or the result would exceed GPT_LOG_RECORD_BYTES_MAX.
 */
int reshape(struct reshaper *reshaper, const uint8_t *records, size_t bytes, const uint8_t **out, size_t *out_bytes);
