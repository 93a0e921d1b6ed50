/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Code objects and frames; owns the line tables until they are no longer needed. */
#include "model/tables/codes.h"

#include <stdlib.h>
#include <string.h>

#include "base/generated_path.h"
#include "base/path.h"

#define LINETABLE_MAX (256u << 10) /* bytes; no function is that long */

struct code_version {
	uint32_t code; /* model_code */
	uint32_t first_line;
	uint32_t first_traceable; /* as new_code */
	uint8_t linetable;	  /* enum gpt_linetable */
	bool decoded;
	bool whole;	      /* its table is complete, or was when it was decoded */
	bool named;	      /* as new_code.is_named */
	bool internal;	      /* see is_internal */
	bool no_code;	      /* nothing could be read, not even whether it is a code object */
	uint32_t before;      /* version in use until the table of this one is complete, NONE */
	uint32_t table_bytes; /* in all */
	ARRAY(uint8_t) table; /* received so far */
	line_ranges ranges;   /* of the table, when decoded */
};

static void drop_tables(struct code_version *version)
{
	array_free(&version->table);
	array_free(&version->ranges);
}

void codes_free(struct codes *codes)
{
	for (size_t i = 0; i < codes->versions.count; i++)
		drop_tables(&codes->versions.items[i]);
	array_free(&codes->versions);
	lookup_free(&codes->by_address);
	lookup_free(&codes->by_content);
	lookup_free(&codes->by_line);
	lookup_free(&codes->by_cell);
}

/* NONE: not known. */
static uint32_t intern_text(struct codes *codes, const struct python_text *text, bool is_named)
{
	if (!text->kind || text->size < text->kind)
		return NONE;
	if (is_named)
		return string_intern(codes->strings, text->bytes, text->size);
	return text->truncated ? string_intern_truncated(codes->strings, text->bytes, text->size, text->kind)
			       : string_intern_kind(codes->strings, text->bytes, text->size, text->kind);
}

/*
 * A notebook cell's file name is a hash of its text, which means nothing to its author and changes with each edit.  It
 * is shown as "cell 1" and so on in its folder, in order of appearance in the trace.
 */
static uint32_t name_cell(struct codes *codes, uint32_t file)
{
	const char *path = file == NONE ? "" : string_at(codes->strings, file);
	uint32_t *name;
	char *shown;

	if (!file_is_cell(path))
		return file;
	name = lookup_put(&codes->by_cell, 1, file, NONE);
	if (*name == NONE) {
		shown = xasprintf("%.*scell %zu", (int)(path_base(path) - path), path, codes->by_cell.count);
		*name = string_intern(codes->strings, shown, strlen(shown));
		free(shown);
	}
	return *name;
}

static uint32_t find_code(struct codes *codes, uint32_t name, uint32_t file, uint32_t first_line, bool described)
{
	/* string indices stay below 2^31 (LOG_BYTES_MAX), so the top bit is free */
	uint64_t key = (uint64_t)described << 63 | (uint64_t)name << 32 | file;
	uint32_t *code = lookup_put(&codes->by_content, first_line + 1, key, NONE);

	if (*code == NONE) {
		struct model_code made = {.name = string_at(codes->strings, name),
					  .file = string_at(codes->strings, name_cell(codes, file)),
					  .raw_file = string_at(codes->strings, file),
					  .first_line = first_line,
					  .described = described};

		*code = (uint32_t)codes->list.count;
		array_push(&codes->list, made);
	}
	return *code;
}

/*
 * Internal frames of the interpreter, which no traceback shows: CPython 3.12 and later create an instance under a frame
 * that checks the result of __init__ (_Py_InitCleanup in Python/specialize.c, which has no first line).
 */
static bool is_internal(const struct codes *codes, const uint32_t names[3], uint32_t first_line)
{
	return !first_line && names[0] != NONE && names[0] == names[2] &&
	       !strcmp(string_at(codes->strings, names[0]), "__init__");
}

static void forget_before(struct codes *codes, struct code_version *version)
{
	if (version->before != NONE)
		drop_tables(&codes->versions.items[version->before]);
	version->before = NONE;
}

static bool described_alike(const struct code_version *a, const struct code_version *b)
{
	return a->code == b->code && a->first_line == b->first_line && a->first_traceable == b->first_traceable &&
	       a->linetable == b->linetable && a->table_bytes == b->table_bytes && a->internal == b->internal &&
	       a->no_code == b->no_code;
}

/*
 * Two threads that use a new code object at the same time describe it twice, and each description comes in pieces,
 * possibly with other threads' stacks in between.  So a description equal to the current one replaces it only once its
 * own table is complete.
 */
static void replace_version(struct codes *codes, uint32_t *at, struct code_version made)
{
	struct code_version *stands = *at == NONE ? NULL : &codes->versions.items[*at];

	if (stands && !stands->decoded && !stands->whole && described_alike(stands, &made))
		return; /* the following pieces complete it */
	if (stands && stands->whole && described_alike(stands, &made)) {
		forget_before(codes, stands);
		made.before = *at;
	} else if (stands) {
		forget_before(codes, stands);
		drop_tables(stands);
	}
	*at = (uint32_t)codes->versions.count;
	array_push(&codes->versions, made);
}

void codes_add(struct codes *codes, uint32_t epoch, const struct new_code *from)
{
	struct code_version version = {.before = NONE,
				       .linetable = (uint8_t)from->linetable,
				       .first_line = from->first_line <= INT32_MAX ? from->first_line : 0,
				       .first_traceable =
					       from->first_traceable <= INT32_MAX ? from->first_traceable : 0,
				       .table_bytes = from->linetable_bytes,
				       .named = from->is_named};
	uint32_t names[3] = {intern_text(codes, &from->name, from->is_named),
			     intern_text(codes, &from->qualname, from->is_named),
			     intern_text(codes, &from->file, from->is_named)};
	uint32_t *at;

	if (names[1] != NONE)
		names[0] = names[1];
	version.no_code = names[0] == NONE && names[2] == NONE && !version.first_line && !version.table_bytes;
	version.internal = is_internal(codes, names, version.first_line);
	version.code = find_code(codes, names[0] != NONE ? names[0] : string_intern(codes->strings, "?", 1),
				 names[2] != NONE ? names[2] : string_intern(codes->strings, "", 0), version.first_line,
				 names[0] != NONE);
	version.whole = !version.table_bytes;
	at = lookup_put(&codes->by_address, epoch, from->key, NONE);
	replace_version(codes, at, version);
}

bool codes_add_lines(struct codes *codes, uint32_t epoch, uint64_t key, uint32_t offset, const void *bytes,
		     uint32_t size)
{
	uint32_t *at = lookup_get(&codes->by_address, epoch, key);
	struct code_version *version = at && *at != NONE ? &codes->versions.items[*at] : NULL;

	/* its description was lost, which is counted elsewhere */
	if (!version)
		return true;
	/*
	 * two threads described the code object at once, and the first one's stack came before the second one's table
	 */
	if (version->decoded)
		return offset <= version->table_bytes && size <= version->table_bytes - offset;
	/* an earlier piece was lost, which is counted elsewhere: this one cannot be placed, and lines stay unknown */
	if (offset > version->table.count)
		return true;
	/* two threads described the code object at once: keep what is there */
	if (offset < version->table.count && offset + size <= version->table.count)
		return true;
	if (offset != version->table.count)
		return false;
	if (size > version->table_bytes - version->table.count || size > LINETABLE_MAX ||
	    version->table.count + size > LINETABLE_MAX)
		return false;
	version->table.items =
		array_reserve(version->table.items, 1, version->table.count, size, &version->table.capacity);
	if (size)
		memcpy(version->table.items + version->table.count, bytes, size);
	version->table.count += size;
	version->whole = version->table.count == version->table_bytes;
	if (version->whole)
		forget_before(codes, version);
	return true;
}

void codes_remove(struct codes *codes, uint32_t epoch, uint64_t address)
{
	uint32_t *at = lookup_get(&codes->by_address, epoch, address);

	if (!at || *at == NONE)
		return;
	forget_before(codes, &codes->versions.items[*at]);
	drop_tables(&codes->versions.items[*at]);
	*at = NONE;
}

static uint32_t find_line(struct codes *codes, struct code_version *version, int32_t lasti)
{
	if (version->named)
		return lasti > 0 ? (uint32_t)lasti : 0;
	if (lasti < 0) /* entered, nothing executed yet */
		return version->first_line;
	if (version->before != NONE)
		version = &codes->versions.items[version->before];
	if (!version->decoded) {
		linetable_decode(version->linetable, version->table.items, version->table.count, version->whole,
				 version->first_line, &version->ranges);
		version->decoded = true;
		array_free(&version->table);
	}
	return linetable_find(version->ranges.items, version->ranges.count, (uint32_t)lasti);
}

static uint32_t unknown_code(struct codes *codes)
{
	if (codes->unknown == NONE)
		codes->unknown = find_code(codes, string_intern(codes->strings, "?", 1),
					   string_intern(codes->strings, "", 0), 0, false);
	return codes->unknown;
}

uint32_t codes_at(struct codes *codes, uint32_t epoch, uint64_t address)
{
	const uint32_t *at = lookup_get(&codes->by_address, epoch, address);

	return at && *at != NONE ? codes->versions.items[*at].code : unknown_code(codes);
}

uint32_t codes_frame(struct codes *codes, uint32_t epoch, uint64_t address, int32_t lasti)
{
	uint32_t *at = lookup_get(&codes->by_address, epoch, address);
	struct model_frame frame = {0};
	uint32_t *index;

	if (at && *at != NONE) {
		struct code_version *version = &codes->versions.items[*at];

		/* The interpreter also hides a frame that has not begun (_PyFrame_IsIncomplete, pycore_frame.h). */
		if (version->internal ||
		    (version->linetable == GPT_LINES_LOCATIONS && lasti < (int32_t)version->first_traceable))
			return NONE;
		if (version->no_code)
			return FRAME_OF_NO_CODE;
		frame.code = version->code;
		frame.line = find_line(codes, version, lasti);
	} else {
		frame.code = unknown_code(codes);
	}
	index = lookup_put(&codes->by_line, frame.code + 1, frame.line, NONE);
	if (*index == NONE) {
		*index = (uint32_t)codes->frames.count;
		array_push(&codes->frames, frame);
	}
	return *index;
}
