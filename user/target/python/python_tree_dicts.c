/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "target/python/python_tree_dicts.h"

#include "base/monotonic.h"

#define ENTRIES_PER_PIECE 1024u
#define BYTES_MOST (64u << 20) /* of a level's entries at a time */

/* ---- reading many pieces ---------------------------------------------------------------------------------------- */

bool reading_is_over(struct reading *reading)
{
	if (monotonic_ns() <= reading->end_ns)
		return false;
	reading->tree->late = true;
	return true;
}

void reading_want(struct reading *reading, uint64_t address, size_t bytes)
{
	array_push(&reading->pieces, ((struct process_piece){address, (uint32_t)bytes}));
}

bool reading_get(struct reading *reading)
{
	size_t bytes = 0;

	for (size_t i = 0; i < reading->pieces.count; i++)
		bytes += reading->pieces.items[i].bytes;
	reading->bytes.count = 0;
	if (reading_is_over(reading))
		return false;
	if (bytes > BYTES_MOST) {
		reading->tree->cut = true;
		return false;
	}
	reading->bytes.items = array_reserve(reading->bytes.items, 1, 0, bytes + 1, &reading->bytes.capacity);
	reading->has_failed = process_read_pieces(reading->reader->pid, reading->pieces.items, reading->pieces.count,
						  reading->bytes.items) != 0;
	return !reading->has_failed;
}

/* ---- dicts ------------------------------------------------------------------------------------------------------ */

bool reading_find_attributes(struct reading *reading, size_t first, size_t end)
{
	enum { PIECE = 16 };
	uint64_t before[2];
	const struct python_tree *tree = reading->tree;
	const struct python_reader *reader = reading->reader;
	size_t at = 0;

	reading->pieces.count = reading->views.count = 0;
	for (size_t i = first; i < end; i++) {
		const struct python_tree_module *module = &tree->modules.items[i];
		const struct python_tree_class *class =
			module->class == PYTHON_MODULE_NONE ? NULL : &tree->classes.items[module->class];

		if (class && python_has_managed_dict(reader, class->flags))
			reading_want(reading, module->address - PYTHON_DICT_BEFORE, PIECE);
		else
			reading_want(reading,
				     class && class->dict_offset > 0 ? module->address + (uint64_t) class->dict_offset
								     : 0,
				     class && class->dict_offset > 0 ? 8 : 0);
	}
	if (!reading_get(reading))
		return false;
	for (size_t i = first; i < end; i++) {
		const struct python_tree_module *module = &tree->modules.items[i];
		const uint8_t *bytes = reading->bytes.items + at;
		struct view view = {0};
		const struct python_tree_class *class =
			module->class == PYTHON_MODULE_NONE ? NULL : &tree->classes.items[module->class];

		if (!class) {
			array_push(&reading->views, view);
			continue;
		}
		if (reading_is_over(reading)) /* a dict's values may take a read of their own */
			return false;
		view.cut = !was_read(reading, i - first);
		if (python_has_managed_dict(reader, class->flags)) {
			at += PIECE;
			memcpy(before, bytes, sizeof(before));
			if (!view.cut)
				view.values = python_managed_values(reader, module->address, class->basicsize,
								    class->flags, before, &view.dict);
			view.keys = view.values ? class->cached_keys : 0;
		} else if (class->dict_offset > 0) {
			at += 8;
			view.dict = view.cut ? 0 : word_at(bytes);
		}
		array_push(&reading->views, view);
	}
	return true;
}

/* Completes the views whose dict is known. */
static bool read_dicts(struct reading *reading)
{
	const struct gpt_pylayout *layout = reading->reader->layout;
	size_t at = 0, piece = 0;

	reading->pieces.count = 0;
	for (size_t i = 0; i < reading->views.count; i++)
		if (reading->views.items[i].dict && !reading->views.items[i].keys)
			reading_want(reading, reading->views.items[i].dict + layout->dict_keys, 16);
	if (!reading_get(reading))
		return false;
	array_each (view, &reading->views) {
		if (!view->dict || view->keys)
			continue;
		if (was_read(reading, piece++)) {
			view->keys = word_at(reading->bytes.items + at);
			view->values = python_dict_values(layout, word_at(reading->bytes.items + at + 8));
		} else {
			view->cut = true;
		}
		at += 16;
	}
	return true;
}

static bool read_heads(struct reading *reading, uint64_t most)
{
	size_t at = 0, piece = 0;

	reading->pieces.count = 0;
	for (size_t i = 0; i < reading->views.count; i++)
		if (reading->views.items[i].keys)
			reading_want(reading, reading->views.items[i].keys, PYTHON_KEYS_HEAD);
	if (!reading_get(reading))
		return false;
	array_each (view, &reading->views) {
		if (!view->keys)
			continue;
		if (!was_read(reading, piece++) || !python_parse_keys(reading->reader->layout, view->keys,
								      reading->bytes.items + at, &view->entries)) {
			view->entries.count = 0;
			view->cut = true;
		}
		if (view->entries.count > most) {
			view->entries.count = most;
			view->cut = true;
		}
		at += PYTHON_KEYS_HEAD;
	}
	return true;
}

/* Wants count elements of some bytes, in pieces; returns the bytes. */
static size_t want_array(struct reading *reading, uint64_t address, uint64_t count, uint64_t bytes)
{
	for (uint64_t i = 0; i < count; i += ENTRIES_PER_PIECE)
		reading_want(reading, address + i * bytes,
			     bytes * (count - i < ENTRIES_PER_PIECE ? count - i : ENTRIES_PER_PIECE));
	return count * bytes;
}

bool reading_get_entries(struct reading *reading, uint64_t most)
{
	size_t at = 0, piece = 0;

	if (!read_dicts(reading) || !read_heads(reading, most))
		return false;
	reading->pieces.count = 0;
	array_each (view, &reading->views) {
		view->at = at;
		at += want_array(reading, view->entries.address, view->entries.count, view->entries.bytes);
		view->values_at = at;
		if (view->values)
			at += want_array(reading, view->values, view->entries.count, 8);
		if (at > BYTES_MOST) { /* before the list of pieces is as long as the target likes */
			reading->tree->cut = true;
			return false;
		}
	}
	if (!reading_get(reading))
		return false;
	array_each (view, &reading->views) {
		uint64_t pieces = (view->entries.count + ENTRIES_PER_PIECE - 1) / ENTRIES_PER_PIECE;
		bool whole = true;

		for (uint64_t j = 0; j < pieces * (view->values ? 2 : 1); j++)
			whole = was_read(reading, piece++) && whole;
		if (!whole) {
			view->entries.count = 0;
			view->cut = true;
		}
	}
	return true;
}

uint64_t view_key(const struct reading *reading, const struct view *view, uint64_t i)
{
	return word_at(reading->bytes.items + view->at + i * view->entries.bytes + view->entries.key);
}

uint64_t view_value(const struct reading *reading, const struct view *view, uint64_t i)
{
	return word_at(reading->bytes.items + (view->values
						       ? view->values_at + i * 8
						       : view->at + i * view->entries.bytes + view->entries.value));
}

uint64_t view_value_address(const struct view *view, uint64_t i)
{
	return view->values ? view->values + i * 8
			    : view->entries.address + i * view->entries.bytes + view->entries.value;
}
