/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gives the records of a log the layout that this gputrace's structs have, when the log is of another gputrace whose
 * records have grown: fields are found by their names.  What the structs have not is left out; what the log has not is
 * 0, or, at the end of a record, not there.  Also for records in batches, for elements of arrays, and where text
 * follows.
 */
#ifndef GPUTRACE_LOG_RESHAPE_H
#define GPUTRACE_LOG_RESHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "log/schema.h"

struct reshaper;

/*
 * From records by one schema, which has to stay, to those by another, which becomes the reshaper's.  NULL: the types
 * that both have are the same, and records can stay as they are.
 */
struct reshaper *reshaper_new(const struct schema *from, struct schema *to);
void reshaper_free(struct reshaper *reshaper);

/*
 * *out holds the records until the next call.  They are as many, each of the type that it was.  -EPROTO: they are not
 * whole, or would be more than GPT_LOG_RECORD_BYTES_MAX.
 */
int reshape(struct reshaper *reshaper, const uint8_t *records, size_t bytes, const uint8_t **out, size_t *out_bytes);

#endif
