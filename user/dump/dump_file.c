/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unknown members are skipped, so newer dumps can be read.  The document is not trusted. */
#include "dump/dump_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"

#define ARENA_BYTES (256u << 20) /* address space for one process; memory is allocated at first use */
#define BEGIN "{\"schema\": \"gputrace dump\","

struct reader {
	struct json json;
	struct arena *arena; /* of the current process */
	text_buffer scratch;
	const char *host;
	look_list *looks;
	bool no_room;
};

/* ---- what is read ------------------------------------------------------------------------------------------------ */

enum member_kind {
	TEXT,	 /* const char *, NULL: null, or not a string */
	BOOL,	 /* bool */
	NUMBER,	 /* not negative, of any size; 0: no such number, or it does not fit */
	TIME,	 /* int64_t */
	WORD,	 /* an enum, by its words */
	OBJECT,	 /* a struct in the struct */
	LIST,	 /* a pointer to an array of structs */
	NUMBERS, /* a pointer to an array of numbers */
};

struct member {
	const char *name;
	enum member_kind kind;
	size_t at, bytes;	 /* in the struct; bytes of NUMBERS: of each */
	size_t count_at;	 /* of the unsigned number of items */
	const struct object *of; /* OBJECT, LIST */
	const char *missing;	 /* TEXT where there is none */
	const char *(*word)(unsigned value);
	unsigned words, unknown; /* the number of words; the value of another word */
};

struct object {
	size_t bytes; /* of the struct */
	const struct member *members;
	unsigned count;
};

static const char *word_of_wait(unsigned kind)
{
	return wait_kind_name((enum wait_kind)kind);
}

static const char *word_of_state(unsigned state)
{
	return work_state_name((enum work_state)state);
}

/* clang-format off */
#define MEMBER(record, kind, member, name, ...) \
	{name, kind, .at = offsetof(struct dump_##record, member), .bytes = sizeof(((struct dump_##record *)0)->member), ##__VA_ARGS__},
#define ITEMS(record, count) .count_at = offsetof(struct dump_##record, count)
#define OBJECT_OF(record) \
	static const struct object record##_object = { \
		sizeof(struct dump_##record), record##_members, sizeof(record##_members) / sizeof(record##_members[0])};

static const struct member frame_members[] = {
	MEMBER(frame, TEXT, function, "function")
	MEMBER(frame, TEXT, file, "file")
	MEMBER(frame, NUMBER, line, "line")
	MEMBER(frame, NUMBER, line, "left_out")
};
OBJECT_OF(frame)

static const struct member wait_members[] = {
	MEMBER(wait, TEXT, text, "text")
	MEMBER(wait, WORD, kind, "kind", .word = word_of_wait, .words = WAIT_KINDS, .unknown = WAIT_UNKNOWN)
};
OBJECT_OF(wait)

static const struct member thread_members[] = {
	MEMBER(thread, NUMBER, tid, "tid")
	MEMBER(thread, OBJECT, wait, "wait", .of = &wait_object)
	MEMBER(thread, LIST, frames, "frames", .of = &frame_object, ITEMS(thread, frame_count))
};
OBJECT_OF(thread)

static const struct member work_members[] = {
	MEMBER(work, TEXT, name, "operation", .missing = "?")
	MEMBER(work, NUMBER, number, "number")
	MEMBER(work, BOOL, is_p2p, "point_to_point")
	MEMBER(work, WORD, state, "state", .word = word_of_state, .words = WORK_UNKNOWN, .unknown = WORK_UNKNOWN)
	MEMBER(work, TIME, since_ns, "since_ns")
	MEMBER(work, TEXT, sizes, "sizes")
	MEMBER(work, LIST, frames, "frames", .of = &frame_object, ITEMS(work, frame_count))
};
OBJECT_OF(work)

static const struct member group_members[] = {
	MEMBER(group, TEXT, name, "name", .missing = "?")
	MEMBER(group, TEXT, description, "description", .missing = "")
	MEMBER(group, NUMBERS, ranks, "members", ITEMS(group, rank_count))
	MEMBER(group, LIST, works, "works", .of = &work_object, ITEMS(group, work_count))
};
OBJECT_OF(group)

static const struct member process_members[] = {
	MEMBER(process, NUMBER, pid, "pid")
	MEMBER(process, NUMBER, parent, "parent")
	MEMBER(process, TEXT, refused, "refused")
	MEMBER(process, TEXT, rank, "rank")
	MEMBER(process, TEXT, world_size, "world_size")
	MEMBER(process, TEXT, job, "job")
	MEMBER(process, BOOL, forked, "forked")
	MEMBER(process, BOOL, moves, "moves")
	MEMBER(process, BOOL, has_torch, "torch")
	MEMBER(process, TIME, groups_at_ns, "groups_at_ns")
	MEMBER(process, LIST, threads, "threads", .of = &thread_object, ITEMS(process, thread_count))
	MEMBER(process, LIST, groups, "groups", .of = &group_object, ITEMS(process, group_count))
};
OBJECT_OF(process)
/* clang-format on */
/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void *take_room(struct reader *reader, size_t bytes)
{
	void *taken = arena_take(reader->arena, bytes ? bytes : 1);

	reader->no_room |= !taken;
	return taken;
}

/* *into NULL: null, or not a string. */
static bool read_text(struct reader *reader, const char **into)
{
	struct json_text text;

	*into = NULL;
	if (json_peek(&reader->json) != '"')
		return json_skip(&reader->json);
	if (!json_string(&reader->json, &text))
		return false;
	reader->scratch.count = 0;
	json_unescape(&reader->scratch, &text);
	*into = arena_text(reader->arena, "%.*s",
			   (int)(reader->scratch.count < 1u << 16 ? reader->scratch.count : 1u << 16),
			   reader->scratch.items ? reader->scratch.items : "");
	return true;
}

/* 0: no number, a negative one, or one that does not fit: pids are positive. */
static bool read_number(struct reader *reader, void *into, size_t bytes)
{
	int64_t most = bytes < sizeof(int64_t) ? INT32_MAX : INT64_MAX, value;

	if (!json_number(&reader->json, 0, 0, &value))
		return false;
	value = value > 0 && value <= most ? value : 0;
	memcpy(into, &value, bytes);
	return true;
}

static bool read_bool(struct reader *reader, void *into)
{
	struct json_text raw;

	if (!json_raw(&reader->json, &raw))
		return false;
	*(bool *)into = JSON_IS(&raw, "true");
	return true;
}

static bool read_word(struct reader *reader, const struct member *member, void *into)
{
	const char *word;
	unsigned value = 0;

	if (!read_text(reader, &word))
		return false;
	while (value < member->words && (!word || strcmp(word, member->word(value)) != 0))
		value++;
	value = value < member->words ? value : member->unknown;
	memcpy(into, &value, member->bytes);
	return true;
}

static bool read_object(struct reader *reader, const struct object *object, void *into);

/* Reads an array of objects or of numbers into the process's arena. */
static bool read_list(struct reader *reader, const struct member *member, void *items, unsigned *count)
{
	size_t bytes = member->of ? member->of->bytes : sizeof(uint64_t), number = 0, capacity = 0;
	AUTO_FREE char *list = NULL;
	bool first = true;
	void *kept;

	if (json_peek(&reader->json) != '[')
		return json_skip(&reader->json);
	while (json_element(&reader->json, &first)) {
		list = array_reserve(list, bytes, number, 1, &capacity);
		memset(list + number * bytes, 0, bytes);
		if (member->of ? !read_object(reader, member->of, list + number * bytes)
			       : !read_number(reader, list + number * bytes, bytes))
			break;
		number++;
	}
	kept = take_room(reader, number * bytes);
	if (kept && number)
		memcpy(kept, list, number * bytes);
	memcpy(items, &kept, sizeof(kept));
	*count = kept ? (unsigned)number : 0;
	return !reader->json.stopped;
}

static bool read_member(struct reader *reader, const struct member *member, void *of)
{
	void *into = (char *)of + member->at;

	switch (member->kind) {
	case TEXT:
		return read_text(reader, into);
	case BOOL:
		return read_bool(reader, into);
	case NUMBER:
		return read_number(reader, into, member->bytes);
	case TIME:
		return json_number(&reader->json, 0, 0, into);
	case WORD:
		return read_word(reader, member, into);
	case OBJECT:
		return read_object(reader, member->of, into);
	case LIST:
	case NUMBERS:
		return read_list(reader, member, into, (unsigned *)((char *)of + member->count_at));
	}
	return false;
}

static bool read_object(struct reader *reader, const struct object *object, void *of)
{
	const struct member *end = object->members + object->count, *member;
	struct json_text key;
	bool first = true;

	if (json_peek(&reader->json) != '{')
		return json_skip(&reader->json);
	while (json_member(&reader->json, &first, &key)) {
		for (member = object->members; member < end; member++)
			if (json_is(&key, member->name, strlen(member->name)))
				break;
		if (member < end ? !read_member(reader, member, of) : !json_skip(&reader->json))
			return false;
	}
	for (member = object->members; member < end; member++)
		if (member->missing && !*(const char **)((char *)of + member->at))
			*(const char **)((char *)of + member->at) = member->missing;
	return !reader->json.stopped;
}

static bool read_process(struct reader *reader)
{
	struct look look = {0};

	if (arena_make(&look.arena, ARENA_BYTES)) {
		reader->no_room = true;
		return false;
	}
	look.process = arena_take(look.arena, sizeof(*look.process));
	array_push(reader->looks, look);
	reader->arena = look.arena;
	look.process->host = reader->host ? arena_text(look.arena, "%s", reader->host) : NULL;
	return read_object(reader, &process_object, look.process);
}

static bool read_host(struct reader *reader, char **host)
{
	struct json_text text;

	if (*host || json_peek(&reader->json) != '"')
		return json_skip(&reader->json);
	if (!json_string(&reader->json, &text))
		return false;
	reader->scratch.count = 0;
	json_unescape(&reader->scratch, &text);
	*host = xasprintf("%.*s", (int)(reader->scratch.count < HOST_NAME_MAX ? reader->scratch.count : HOST_NAME_MAX),
			  reader->scratch.items ? reader->scratch.items : "");
	reader->host = *host;
	return true;
}

static bool read_document(struct reader *reader, char **host)
{
	struct json_text key;
	bool first = true, first_process = true;

	while (json_member(&reader->json, &first, &key)) {
		if (JSON_IS(&key, "host")) {
			if (!read_host(reader, host))
				return false;
		} else if (JSON_IS(&key, "processes") && json_peek(&reader->json) == '[') {
			while (json_element(&reader->json, &first_process))
				if (!read_process(reader))
					return false;
		} else if (!json_skip(&reader->json)) {
			return false;
		}
	}
	return !reader->json.stopped;
}

bool dump_file_is_one(int fd)
{
	char begin[sizeof(BEGIN)] = "";

	return pread(fd, begin, sizeof(begin) - 1, 0) == (ssize_t)sizeof(begin) - 1 && !strcmp(begin, BEGIN);
}

char *dump_file_read(int fd, look_list *looks)
{
	struct reader reader = {.looks = looks};
	char *host = NULL, *why = NULL;

	json_open(&reader.json, fd);
	while (json_refill(&reader.json, reader.json.buffer))
		; /* all of it */
	reader.json.at = reader.json.buffer;
	reader.json.stopped = false;
	if (reader.json.error)
		why = xasprintf("%s", reader.json.error == -EFBIG ? "is larger than a dump can be (128 MB)"
								  : strerror(-reader.json.error));
	else if (!read_document(&reader, &host))
		why = xstrdup(reader.no_room ? "there is too little memory for it"
					     : "ends in the middle, or is damaged");
	else if (reader.no_room)
		why = xstrdup("there is too little memory for it");
	json_close(&reader.json);
	array_free(&reader.scratch);
	free(host);
	return why;
}
