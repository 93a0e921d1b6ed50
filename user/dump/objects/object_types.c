/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/objects/object_types.h"

#include <string.h>

#define BASES_MAX 32
#define TYPES_MAX (1u << 17)
#define BYTES_MAX (1u << 16)

/* PyTypeObject (cpython/object.h), the same from 3.6 to 3.15 */
#define TYPE_NAME 24
#define TYPE_BYTES 176 /* up to tp_flags */
#define TYPE_BASICSIZE 32
#define TYPE_FLAGS 168
#define TYPE_MEMBERS 240
#define TYPE_BASE 256
/* object.h */
#define FLAG_CLASS (1ull << 9)
#define FLAG_COLLECTED (1ull << 14) /* Py_TPFLAGS_HAVE_GC: objects without it have no references that are followed */
#define FLAG_LIST (1ull << 25)
#define FLAG_TUPLE (1ull << 26)
#define FLAG_DICT (1ull << 29)
#define FLAG_TYPE (1ull << 31)
/* PyMemberDef (structmember.h, descrobject.h): name, type, offset, flags, doc */
#define MEMBER_BYTES 40
#define MEMBER_OBJECT 6
#define MEMBER_OBJECT_EX 16

/* Names of types in C: a class's own name has no dot, and one that is made to look like these shares only its fate. */
static const struct {
	const char *name;
	enum object_kind kind;
} known[] = {
	{"torch._C.TensorBase", OBJECT_TENSOR},
	{"torch._C._TensorBase", OBJECT_TENSOR},
	{"module", OBJECT_MODULE},
	{"function", OBJECT_FUNCTION},
	{"cell", OBJECT_CELL},
	{"generator", OBJECT_GENERATOR},
	{"coroutine", OBJECT_GENERATOR},
	{"async_generator", OBJECT_GENERATOR},
	{"frame", OBJECT_FRAME},
	{"set", OBJECT_SET},
	{"frozenset", OBJECT_SET},
	{"collections.deque", OBJECT_DEQUE},
	{"method_descriptor", OBJECT_LEAF},
	{"wrapper_descriptor", OBJECT_LEAF},
	{"getset_descriptor", OBJECT_LEAF},
	{"member_descriptor", OBJECT_LEAF},
	{"weakref", OBJECT_LEAF},
	{"weakproxy", OBJECT_LEAF},
	{"weakcallableproxy", OBJECT_LEAF},
	{"weakref.ReferenceType", OBJECT_LEAF},
	{"weakref.ProxyType", OBJECT_LEAF},
	{"weakref.CallableProxyType", OBJECT_LEAF},
};

void object_types_begin(struct object_types *types, const struct python_reader *reader)
{
	*types = (struct object_types){.reader = reader};
	array_push(&types->all, (struct object_type){0}); /* what is no type */
}

static uint64_t read_word(const struct object_types *types, uint64_t address)
{
	return python_read_word(types->reader, address);
}

static bool read_name(const struct object_types *types, uint64_t type, char name[OBJECT_TYPE_NAME])
{
	uint64_t at = read_word(types, type + TYPE_NAME);

	memset(name, 0, OBJECT_TYPE_NAME);
	for (size_t bytes = OBJECT_TYPE_NAME - 1; bytes; bytes /= 2)
		if (python_read(types->reader, at, name, bytes)) /* the name may end close to the end of its page */
			return *name != '\0';
	return false;
}

static enum object_kind kind_by_flags(uint64_t flags)
{
	return flags & FLAG_LIST    ? OBJECT_LIST
	       : flags & FLAG_TUPLE ? OBJECT_TUPLE
	       : flags & FLAG_DICT  ? OBJECT_DICT
	       : flags & FLAG_TYPE  ? OBJECT_TYPE
				    : OBJECT_OTHER;
}

static enum object_kind find_kind(const struct object_types *types, uint64_t type, uint64_t flags)
{
	enum object_kind kind = kind_by_flags(flags);
	char name[OBJECT_TYPE_NAME];

	if (kind != OBJECT_OTHER)
		return kind;
	if (!(flags & FLAG_COLLECTED))
		return OBJECT_LEAF;
	for (int i = 0; i < BASES_MAX && type; i++) {
		bool is_named = read_name(types, type, name);

		for (size_t k = 0; is_named && k < sizeof(known) / sizeof(*known); k++)
			if (!strcmp(name, known[k].name) &&
			    (strchr(name, '.') || !(read_word(types, type + TYPE_FLAGS) & FLAG_CLASS)))
				return known[k].kind;
		type = read_word(types, type + TYPE_BASE);
	}
	return OBJECT_OTHER;
}

static void read_members(struct object_types *types, uint64_t type, struct object_type *out)
{
	uint8_t member[MEMBER_BYTES];

	out->first_member = (uint32_t)types->members.count;
	for (int i = 0; i < BASES_MAX && type; i++) {
		uint64_t at = read_word(types, type + TYPE_MEMBERS), name, offset;
		uint32_t what;

		for (; at && out->member_count < OBJECT_MEMBERS_MAX; at += MEMBER_BYTES) {
			if (!python_read(types->reader, at, member, sizeof(member)))
				break;
			memcpy(&name, member, sizeof(name));
			memcpy(&what, member + 8, sizeof(what));
			memcpy(&offset, member + 16, sizeof(offset));
			if (!name)
				break;
			if ((what != MEMBER_OBJECT && what != MEMBER_OBJECT_EX) || offset % 8 || offset < 16 ||
			    offset >= out->bytes)
				continue;
			array_push(&types->members, ((struct object_member){name, (uint32_t)offset}));
			out->member_count++;
		}
		type = read_word(types, type + TYPE_BASE);
	}
}

static bool is_type(const struct object_types *types, uint64_t address, uint64_t *flags, uint64_t *bytes)
{
	unsigned at = types->reader->layout->object_type;
	uint8_t copy[TYPE_BYTES];
	uint64_t meta;

	if (!address || address % 8 || !python_read(types->reader, address, copy, sizeof(copy)))
		return false;
	memcpy(&meta, copy + at, sizeof(meta));
	memcpy(flags, copy + TYPE_FLAGS, sizeof(*flags));
	memcpy(bytes, copy + TYPE_BASICSIZE, sizeof(*bytes));
	/* A type of types is a type of types itself; that of `type` is `type`. */
	if (!meta || meta % 8 || *bytes < 16 || *bytes > BYTES_MAX ||
	    !(read_word(types, meta + TYPE_FLAGS) & FLAG_TYPE))
		return false;
	meta = read_word(types, meta + at);
	return meta && meta % 8 == 0 && read_word(types, meta + TYPE_FLAGS) & FLAG_TYPE;
}

const struct object_type *object_type(struct object_types *types, uint64_t address)
{
	const uint32_t *known_place = lookup_get(&types->places, 1, address);
	struct object_type type = {.address = address};
	uint64_t flags, bytes;

	if (known_place)
		return *known_place ? &types->all.items[*known_place] : NULL;
	if (types->places.count >= TYPES_MAX)
		return NULL;
	if (!is_type(types, address, &flags, &bytes) || !read_name(types, address, type.name)) {
		lookup_put(&types->places, 1, address, 0);
		return NULL;
	}
	type.bytes = (uint32_t)bytes;
	type.is_class = flags & FLAG_CLASS;
	type.kind = find_kind(types, address, flags);
	if (type.kind == OBJECT_OTHER)
		read_members(types, address, &type);
	lookup_put(&types->places, 1, address, (uint32_t)types->all.count);
	return array_push(&types->all, type);
}

const struct object_type *object_type_of(struct object_types *types, uint64_t object)
{
	uint64_t type = object && object % 8 == 0 ? read_word(types, object + types->reader->layout->object_type) : 0;

	return type ? object_type(types, type) : NULL;
}
