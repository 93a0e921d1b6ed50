/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree of a torch.nn.Module, level by level: each read gets a piece of many modules of the level, so that 10,000
 * modules take some hundred system calls.
 */
#include <stdio.h>

#include "base/monotonic.h"
#include "target/python/python_tree_dicts.h"

#define MODULES_MOST (1u << 18)
#define OTHERS_MOST (1u << 16)
#define CLASSES_MOST 4096u
#define MODULES_AT_A_TIME 1024u
#define TEXTS_MOST (64u << 20)
#define CHILDREN_MOST (1u << 17) /* of a module */
#define NAME_BYTES 256u		 /* of one module's own name, in the target */
#define NAME_FIRST 48u		 /* characters that are read with the head of a str */
#define MRO_MOST 64u

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static uint32_t keep_text(struct python_tree *tree, const char *text, size_t bytes)
{
	uint32_t at = (uint32_t)tree->texts.count;

	if (at + bytes >= TEXTS_MOST) {
		tree->cut = true;
		return 0; /* the root's name, which is empty */
	}
	for (size_t i = 0; i < bytes; i++)
		array_push(&tree->texts, text[i]);
	array_push(&tree->texts, '\0');
	return at;
}

static size_t put_utf8(char *to, uint32_t character)
{
	if (!character || (character >= 0xd800 && character < 0xe000) || character > 0x10ffff)
		character = 0xfffd; /* the log has names as texts that end in a zero byte */
	if (character < 0x80) {
		to[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		to[0] = (char)(0xc0 | character >> 6);
		to[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		to[0] = (char)(0xe0 | character >> 12);
		to[1] = (char)(0x80 | (character >> 6 & 0x3f));
		to[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | character >> 18);
	to[1] = (char)(0x80 | (character >> 12 & 0x3f));
	to[2] = (char)(0x80 | (character >> 6 & 0x3f));
	to[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

/* A longer name ends in "...". */
static uint32_t keep_characters(struct python_tree *tree, const struct python_str *str, const uint8_t *data,
				size_t characters)
{
	char text[4 * NAME_BYTES + 4];
	size_t bytes = 0;

	for (size_t i = 0; i < characters; i++) {
		uint32_t character = 0;

		memcpy(&character, data + i * str->kind, str->kind);
		bytes += put_utf8(text + bytes, character);
	}
	if (characters < str->length)
		bytes = (size_t)(stpcpy(text + bytes, "...") - text);
	return keep_text(tree, text, bytes);
}

/* Reads one str alone. */
static uint32_t read_name(struct reading *reading, uint64_t object)
{
	uint8_t data[NAME_BYTES];
	struct python_str str;
	size_t characters;

	if (python_read_word(reading->reader, object + reading->reader->layout->object_type) != reading->str_type ||
	    !python_read_str(reading->reader, object, &str))
		return keep_text(reading->tree, "?", 1);
	characters = str.length < NAME_BYTES / str.kind ? str.length : NAME_BYTES / str.kind;
	if (!python_read(reading->reader, str.data, data, characters * str.kind))
		return keep_text(reading->tree, "?", 1);
	return keep_characters(reading->tree, &str, data, characters);
}

/* Names that are not known yet are read together; those at the end of a page or long ones alone. */
static bool read_names(struct reading *reading, const uint64_t *objects, size_t count)
{
	const struct gpt_pylayout *layout = reading->reader->layout;
	size_t head = layout->str_ascii_data, at = 0;
	ARRAY(uint64_t) unknown = {0};
	bool done;

	reading->pieces.count = 0;
	for (size_t i = 0; i < count && head <= PYTHON_STR_HEAD_MAX; i++) {
		if (lookup_get(&reading->names, 1, objects[i]))
			continue;
		lookup_put(&reading->names, 1, objects[i], PYTHON_MODULE_NONE);
		array_push(&unknown, objects[i]);
		reading_want(reading, objects[i], head + NAME_FIRST);
	}
	done = reading_get(reading);
	for (size_t i = 0; i < unknown.count && done; i++, at += head + NAME_FIRST) {
		struct python_str str;
		const uint8_t *bytes = reading->bytes.items + at;
		uint32_t text;

		done = !reading_is_over(reading);
		if (!done)
			break;
		if (was_read(reading, i) && word_at(bytes + layout->object_type) == reading->str_type &&
		    python_parse_str(layout, unknown.items[i], bytes, &str) && str.kind == 1 &&
		    str.length <= NAME_FIRST && str.data == unknown.items[i] + head)
			text = keep_characters(reading->tree, &str, bytes + head, str.length);
		else
			text = read_name(reading, unknown.items[i]);
		*lookup_put(&reading->names, 1, unknown.items[i], text) = text;
	}
	if (!done)
		lookup_free(&reading->names); /* some of them are not known */
	array_free(&unknown);
	return done;
}

/* ---- classes ---------------------------------------------------------------------------------------------------- */

static bool is_subtype(const struct python_reader *reader, uint64_t type, uint64_t wanted)
{
	const struct gpt_pylayout *layout = reader->layout;
	uint64_t mro = python_read_word(reader, type + TYPE_MRO), items[MRO_MOST];
	uint64_t count = mro ? python_read_word(reader, mro + layout->var_size) : 0;

	if (count > MRO_MOST)
		count = MRO_MOST;
	if (!count || !python_read(reader, mro + layout->tuple_items, items, count * 8))
		return false;
	return any_of(count, i, items[i] == wanted);
}

/* The name of a type, a C string that may end where its page does. */
static void read_type_name(const struct python_reader *reader, uint64_t type, char *buffer, size_t size)
{
	uint64_t address = python_read_word(reader, type + TYPE_NAME);
	size_t done = 0;

	memset(buffer, 0, size);
	while (address && done < size - 1 && strlen(buffer) == done) {
		size_t bytes = 4096 - (size_t)((address + done) % 4096);

		if (bytes > size - 1 - done)
			bytes = size - 1 - done;
		if (!python_read(reader, address + done, buffer + done, bytes))
			break;
		done += bytes;
	}
	memset(buffer + strlen(buffer), 0, size - strlen(buffer));
}

bool python_module_type_name(const struct python_reader *reader, const struct python_module_class *class,
			     uint64_t object, char *buffer, size_t size)
{
	uint64_t type = object ? python_read_word(reader, object + reader->layout->object_type) : 0;

	if (!type || !is_subtype(reader, type, class->type))
		return false;
	read_type_name(reader, type, buffer, size);
	return true;
}

static uint32_t class_of(struct reading *reading, uint64_t type)
{
	struct python_tree *tree = reading->tree;
	const struct python_reader *reader = reading->reader;
	struct python_tree_class class = {.type = type};
	char name[NAME_BYTES];
	uint32_t *known = type ? lookup_put(&tree->by_address, 2, type, PYTHON_MODULE_NONE) : NULL;

	if (!known)
		return PYTHON_MODULE_NONE;
	if (*known != PYTHON_MODULE_NONE)
		return *known;
	if (tree->classes.count >= CLASSES_MOST) {
		tree->cut = true;
		return PYTHON_MODULE_NONE;
	}
	class.is_module = is_subtype(reader, type, reading->class->type);
	if (class.is_module) {
		class.flags = python_read_word(reader, type + TYPE_FLAGS);
		class.basicsize = python_basicsize(reader, type);
		class.dict_offset = (int64_t)python_read_word(reader, type + TYPE_DICTOFFSET);
		class.cached_keys = python_read_word(reader, type + reader->layout->type_cached_keys);
		read_type_name(reader, type, name, sizeof(name));
		class.name = keep_text(tree, name, strlen(name));
	}
	*known = (uint32_t)tree->classes.count;
	array_push(&tree->classes, class);
	return *known;
}

static bool read_classes(struct reading *reading, size_t first, size_t end)
{
	struct python_tree *tree = reading->tree;
	size_t at = 0;

	reading->pieces.count = 0;
	for (size_t i = first; i < end; i++) {
		const struct python_tree_module *module = &tree->modules.items[i];

		reading_want(reading, module->address + reading->reader->layout->object_type, 8);
		reading_want(reading, module->held_at, module->held_at ? 8 : 0);
	}
	if (!reading_get(reading))
		return false;
	for (size_t i = first; i < end; i++) {
		struct python_tree_module *module = &tree->modules.items[i];
		size_t piece = 2 * (i - first);
		bool is_held;

		if (reading_is_over(reading)) /* each class is read alone */
			return false;
		module->type = was_read(reading, piece) ? word_at(reading->bytes.items + at) : 0;
		at += 8;
		is_held = !module->held_at ||
			  (was_read(reading, piece + 1) && word_at(reading->bytes.items + at) == module->address);
		at += module->held_at ? 8 : 0;
		if (!is_held) { /* it is no more where it was found: something else may be at its address */
			tree->cut = true;
			module->type = 0;
		}
		module->class = class_of(reading, module->type);
		if (module->class != PYTHON_MODULE_NONE && !tree->classes.items[module->class].is_module)
			module->class = PYTHON_MODULE_NONE;
	}
	return true;
}

/* ---- the tree --------------------------------------------------------------------------------------------------- */

/* The entry of `_modules`: the str is nearly always the same object. */
static uint64_t find_children_key(struct reading *reading, const struct view *view)
{
	for (uint64_t i = 0; i < view->entries.count && reading->key; i++)
		if (view_key(reading, view, i) == reading->key)
			return i;
	for (uint64_t i = 0; i < view->entries.count && monotonic_ns() < reading->end_ns; i++)
		if (python_is_str(reading->reader, view_key(reading, view, i), "_modules")) {
			reading->key = view_key(reading, view, i);
			reading->str_type =
				python_read_word(reading->reader, reading->key + reading->reader->layout->object_type);
			return i;
		}
	return view->entries.count;
}

static void find_children(struct reading *reading, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		struct python_tree_module *module = &reading->tree->modules.items[i];
		const struct view *view = &reading->views.items[i - first];
		uint64_t entry = find_children_key(reading, view);

		if (entry >= view->entries.count) {
			reading->tree->cut |= view->cut;
			continue;
		}
		module->children = view_value(reading, view, entry);
		module->children_at = view_value_address(view, entry);
	}
}

/* held_at: where the reference to it stands in the target; 0: nowhere. */
static void add_place(struct reading *reading, uint64_t address, struct python_tree_place place, uint64_t held_at)
{
	struct python_tree *tree = reading->tree;
	uint32_t *known = lookup_put(&tree->by_address, 1, address, PYTHON_MODULE_NONE);

	if (*known != PYTHON_MODULE_NONE) {
		tree->modules.items[*known].names++;
		if (tree->others.count < OTHERS_MOST)
			array_push(&tree->others, ((struct python_tree_place){*known, place.parent, place.name}));
		return;
	}
	if (tree->modules.count >= MODULES_MOST) {
		tree->cut = true;
		return;
	}
	*known = (uint32_t)tree->modules.count;
	array_push(&tree->modules, ((struct python_tree_module){.address = address,
								.held_at = held_at,
								.parent = place.parent,
								.name = place.name,
								.class = PYTHON_MODULE_NONE,
								.names = 1}));
}

/* Adds what the `_modules` of a level's modules hold. */
static bool add_children(struct reading *reading, size_t first, size_t end)
{
	ARRAY(struct python_tree_place) found = {0};
	ARRAY(uint64_t) names = {0}, children = {0}, held_at = {0};
	bool done;

	reading->views.count = 0;
	for (size_t i = first; i < end; i++)
		array_push(&reading->views, ((struct view){.dict = reading->tree->modules.items[i].children}));
	done = reading_get_entries(reading, CHILDREN_MOST);
	for (size_t i = first; i < end && done; i++) {
		const struct view *view = &reading->views.items[i - first];

		reading->tree->cut |= view->cut;
		for (uint64_t j = 0; j < view->entries.count; j++) {
			uint64_t child = view_value(reading, view, j), name = view_key(reading, view, j);

			if (!child || !name)
				continue;
			if (children.count >= MODULES_MOST) {
				reading->tree->cut = true;
				break;
			}
			array_push(&found, ((struct python_tree_place){.parent = (uint32_t)i}));
			array_push(&names, name);
			array_push(&children, child);
			array_push(&held_at, view_value_address(view, j));
		}
	}
	done = done && read_names(reading, names.items, names.count);
	for (size_t i = 0; i < found.count && done; i++)
		add_place(reading, children.items[i],
			  (struct python_tree_place){.parent = found.items[i].parent,
						     .name = *lookup_get(&reading->names, 1, names.items[i])},
			  held_at.items[i]);
	array_free(&found);
	array_free(&names);
	array_free(&children);
	array_free(&held_at);
	return done;
}

/* Adds what these modules of a level hold. */
static bool read_modules(struct reading *reading, size_t first, size_t end)
{
	if (!read_classes(reading, first, end) || !reading_find_attributes(reading, first, end) ||
	    !reading_get_entries(reading, PYTHON_MODULE_ATTRIBUTES_MOST))
		return false;
	find_children(reading, first, end);
	return add_children(reading, first, end);
}

/*
 * Reads what the next modules hold.  False: the time ended before.  is_first: nothing else was read in this time, which
 * was a whole one; so fewer modules are read at a time from then on, and one that takes longer alone is left out.
 */
static bool read_part(struct reading *reading, bool is_first)
{
	struct python_tree *tree = reading->tree;
	size_t most = MODULES_AT_A_TIME - tree->fewer, end = tree->modules.count;

	if (end - tree->read > most)
		end = tree->read + most;
	if (!read_modules(reading, tree->read, end)) {
		if (tree->late && is_first && most > 1)
			tree->fewer += most - most / 4;
		if (tree->late && (!is_first || most > 1))
			return false;
		tree->cut = true;
	}
	tree->read = end;
	return true;
}

void python_tree_read(const struct python_reader *reader, const struct python_module_class *class, uint64_t root,
		      uint64_t end_ns, struct python_tree *tree)
{
	struct reading reading = {.reader = reader, .class = class, .tree = tree, .end_ns = end_ns};
	bool is_whole_time = monotonic_ns() + PYTHON_TREE_READ_NS / 10 * 9 <= end_ns;
	size_t first = tree->read;

	tree->late = false;
	if (!tree->modules.count)
		add_place(&reading, root,
			  (struct python_tree_place){.parent = PYTHON_MODULE_NONE, .name = keep_text(tree, "", 0)}, 0);
	while (tree->read < tree->modules.count && !tree->late && !reading.has_failed)
		if (!read_part(&reading, is_whole_time && tree->read == first))
			break;
	tree->late = tree->read < tree->modules.count && !reading.has_failed;
	lookup_free(&reading.names);
	array_free(&reading.pieces);
	array_free(&reading.bytes);
	array_free(&reading.views);
}

void python_tree_free(struct python_tree *tree)
{
	array_free(&tree->modules);
	array_free(&tree->others);
	array_free(&tree->classes);
	array_free(&tree->texts);
	lookup_free(&tree->by_address);
	tree->read = tree->fewer = 0;
	tree->late = tree->cut = false;
}

uint32_t python_tree_find(const struct python_tree *tree, uint64_t address)
{
	const uint32_t *found = lookup_get(&tree->by_address, 1, address);

	return found && tree->modules.items[*found].class != PYTHON_MODULE_NONE ? *found : PYTHON_MODULE_NONE;
}

void python_tree_name(const struct python_tree *tree, uint32_t parent, uint32_t name, char *buffer, size_t size)
{
	char text[PYTHON_MODULE_NAME_MAX];
	size_t at = sizeof(text) - 1;

	text[at] = '\0';
	/* A module's own name may be empty: there may be more levels than bytes. */
	for (unsigned level = 0; parent != PYTHON_MODULE_NONE; level++) {
		const char *own = tree->texts.items + name;
		size_t bytes = strlen(own);

		if (level == PYTHON_MODULE_NAME_MAX || bytes + 1 > at || at - bytes - 1 < 3) {
			memcpy(text + (at -= 3), "...", 3);
			break;
		}
		if (text[at])
			text[--at] = '.';
		memcpy(text + (at -= bytes), own, bytes);
		name = tree->modules.items[parent].name;
		parent = tree->modules.items[parent].parent;
	}
	snprintf(buffer, size, "%s", text + at);
}
