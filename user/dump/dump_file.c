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

typedef bool (*read_value)(struct reader *reader, void *into, const struct json_text *key);

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool read_members(struct reader *reader, read_value read, void *into)
{
	struct json_text key;
	bool first = true;

	if (json_peek(&reader->json) != '{')
		return json_skip(&reader->json);
	while (json_member(&reader->json, &first, &key))
		if (!read(reader, into, &key))
			return false;
	return !reader->json.stopped;
}

/* Reads an array of objects into `list`; `read` reads one member of an object. */
#define READ_LIST(reader, list, read)                                                                                  \
	({                                                                                                             \
		bool first_ = true;                                                                                    \
		bool is_list_ = json_peek(&(reader)->json) == '[';                                                     \
                                                                                                                       \
		while (is_list_ && json_element(&(reader)->json, &first_)) {                                           \
			typeof(*(list)->items) item_ = {0};                                                            \
                                                                                                                       \
			if (!read_members(reader, read, &item_))                                                       \
				break;                                                                                 \
			array_push(list, item_);                                                                       \
		}                                                                                                      \
		is_list_ ? !(reader)->json.stopped : json_skip(&(reader)->json);                                       \
	})

static void *take_room(struct reader *reader, size_t bytes)
{
	void *taken = arena_take(reader->arena, bytes ? bytes : 1);

	reader->no_room |= !taken;
	return taken;
}

/* Moves a list's items into the process's arena; returns their number. */
#define KEEP_LIST(reader, list, into)                                                                                  \
	({                                                                                                             \
		size_t kept_ = (list)->count;                                                                          \
		typeof((list)->items) items_ = take_room(reader, kept_ * sizeof(*(list)->items));                      \
                                                                                                                       \
		if (items_ && kept_)                                                                                   \
			memcpy(items_, (list)->items, kept_ * sizeof(*(list)->items));                                 \
		*(into) = items_;                                                                                      \
		array_free(list);                                                                                      \
		items_ ? (unsigned)kept_ : 0;                                                                          \
	})

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

static bool read_bool(struct reader *reader, bool *into)
{
	struct json_text raw;

	if (!json_raw(&reader->json, &raw))
		return false;
	*into = JSON_IS(&raw, "true");
	return true;
}

/* *into 0: no number, a negative one, or one that does not fit. */
static bool read_number(struct reader *reader, uint64_t *into)
{
	int64_t value;

	if (!json_number(&reader->json, 0, 0, &value))
		return false;
	*into = value > 0 ? (uint64_t)value : 0;
	return true;
}

static bool read_count(struct reader *reader, uint32_t *into)
{
	uint64_t value;

	if (!read_number(reader, &value))
		return false;
	*into = value <= UINT32_MAX ? (uint32_t)value : 0;
	return true;
}

static bool read_pid(struct reader *reader, pid_t *into)
{
	uint32_t value;

	if (!read_count(reader, &value))
		return false;
	*into = value <= INT32_MAX ? (pid_t)value : 0;
	return true;
}

static bool read_time(struct reader *reader, int64_t *into)
{
	return json_number(&reader->json, 0, 0, into);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static bool read_frame(struct reader *reader, void *into, const struct json_text *key)
{
	struct dump_frame *frame = into;

	if (JSON_IS(key, "function"))
		return read_text(reader, &frame->function);
	if (JSON_IS(key, "file"))
		return read_text(reader, &frame->file);
	if (JSON_IS(key, "line") || JSON_IS(key, "left_out"))
		return read_count(reader, &frame->line);
	return json_skip(&reader->json);
}

static bool read_frames(struct reader *reader, struct dump_frame **frames, unsigned *count)
{
	ARRAY(struct dump_frame) list = {0};
	bool read = READ_LIST(reader, &list, read_frame);

	*count = KEEP_LIST(reader, &list, frames);
	return read;
}

static bool read_wait(struct reader *reader, void *into, const struct json_text *key)
{
	struct dump_wait *wait = into;
	const char *kind;

	if (JSON_IS(key, "text"))
		return read_text(reader, &wait->text);
	if (!JSON_IS(key, "kind"))
		return json_skip(&reader->json);
	if (!read_text(reader, &kind))
		return false;
	wait->kind = WAIT_UNKNOWN;
	for (int i = 0; kind && i < WAIT_KINDS; i++)
		if (!strcmp(kind, wait_kind_name((enum wait_kind)i)))
			wait->kind = (enum wait_kind)i;
	return true;
}

static bool read_thread(struct reader *reader, void *into, const struct json_text *key)
{
	struct dump_thread *thread = into;

	if (JSON_IS(key, "tid"))
		return read_pid(reader, &thread->tid);
	if (JSON_IS(key, "wait"))
		return read_members(reader, read_wait, &thread->wait);
	if (JSON_IS(key, "frames"))
		return read_frames(reader, &thread->frames, &thread->frame_count);
	return json_skip(&reader->json);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool read_state(struct reader *reader, enum work_state *state)
{
	const char *name;

	if (!read_text(reader, &name))
		return false;
	*state = WORK_UNKNOWN;
	for (int i = 0; name && i <= WORK_UNKNOWN; i++)
		if (!strcmp(name, work_state_name((enum work_state)i)))
			*state = (enum work_state)i;
	return true;
}

static bool read_work(struct reader *reader, void *into, const struct json_text *key)
{
	struct dump_work *work = into;

	if (JSON_IS(key, "operation"))
		return read_text(reader, &work->name);
	if (JSON_IS(key, "number"))
		return read_number(reader, &work->number);
	if (JSON_IS(key, "point_to_point"))
		return read_bool(reader, &work->is_p2p);
	if (JSON_IS(key, "state"))
		return read_state(reader, &work->state);
	if (JSON_IS(key, "since_ns"))
		return read_time(reader, &work->since_ns);
	if (JSON_IS(key, "sizes"))
		return read_text(reader, &work->sizes);
	if (JSON_IS(key, "frames"))
		return read_frames(reader, &work->frames, &work->frame_count);
	return json_skip(&reader->json);
}

static bool read_ranks(struct reader *reader, struct dump_group *group)
{
	ARRAY(uint64_t) list = {0};
	uint64_t *ranks;
	bool first = true;

	if (json_peek(&reader->json) != '[')
		return json_skip(&reader->json);
	while (json_element(&reader->json, &first)) {
		uint64_t rank;

		if (!read_number(reader, &rank))
			break;
		array_push(&list, rank);
	}
	group->rank_count = KEEP_LIST(reader, &list, &ranks);
	group->ranks = ranks;
	return !reader->json.stopped;
}

static bool read_works(struct reader *reader, struct dump_group *group)
{
	ARRAY(struct dump_work) list = {0};
	bool read = READ_LIST(reader, &list, read_work);

	for (size_t i = 0; i < list.count; i++)
		if (!list.items[i].name)
			list.items[i].name = "?";
	group->work_count = KEEP_LIST(reader, &list, &group->works);
	return read;
}

static bool read_group(struct reader *reader, void *into, const struct json_text *key)
{
	struct dump_group *group = into;

	if (JSON_IS(key, "name"))
		return read_text(reader, &group->name);
	if (JSON_IS(key, "description"))
		return read_text(reader, &group->description);
	if (JSON_IS(key, "members"))
		return read_ranks(reader, group);
	if (JSON_IS(key, "works"))
		return read_works(reader, group);
	return json_skip(&reader->json);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static bool read_threads(struct reader *reader, struct dump_process *process)
{
	ARRAY(struct dump_thread) list = {0};
	bool read = READ_LIST(reader, &list, read_thread);

	process->thread_count = KEEP_LIST(reader, &list, &process->threads);
	return read;
}

static bool read_groups(struct reader *reader, struct dump_process *process)
{
	ARRAY(struct dump_group) list = {0};
	bool read = READ_LIST(reader, &list, read_group);

	for (size_t i = 0; i < list.count; i++) {
		list.items[i].name = list.items[i].name ? list.items[i].name : "?";
		list.items[i].description = list.items[i].description ? list.items[i].description : "";
	}
	process->group_count = KEEP_LIST(reader, &list, &process->groups);
	return read;
}

static bool read_process_member(struct reader *reader, void *into, const struct json_text *key)
{
	struct dump_process *process = into;

	if (JSON_IS(key, "pid"))
		return read_pid(reader, &process->pid);
	if (JSON_IS(key, "parent"))
		return read_pid(reader, &process->parent);
	if (JSON_IS(key, "refused"))
		return read_text(reader, &process->refused);
	if (JSON_IS(key, "rank"))
		return read_text(reader, &process->rank);
	if (JSON_IS(key, "world_size"))
		return read_text(reader, &process->world_size);
	if (JSON_IS(key, "job"))
		return read_text(reader, &process->job);
	if (JSON_IS(key, "forked"))
		return read_bool(reader, &process->forked);
	if (JSON_IS(key, "moves"))
		return read_bool(reader, &process->moves);
	if (JSON_IS(key, "torch"))
		return read_bool(reader, &process->has_torch);
	if (JSON_IS(key, "groups_at_ns"))
		return read_time(reader, &process->groups_at_ns);
	if (JSON_IS(key, "threads"))
		return read_threads(reader, process);
	if (JSON_IS(key, "groups"))
		return read_groups(reader, process);
	return json_skip(&reader->json);
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
	return read_members(reader, read_process_member, look.process);
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
