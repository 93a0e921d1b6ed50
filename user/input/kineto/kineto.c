/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The document around the events; see kineto.h. */
#include "input/kineto/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/kineto/kineto_event.h"

#define DEVICES_MAX 1024u

struct reader {
	struct json json;
	struct foreign_file *file;
	struct kineto_reading reading;
	bool has_events; /* it has an array of events */
	bool is_list;	 /* the document is only the array */
	bool is_dump;	 /* written by gputrace dump */
	uint64_t events;
};

static uint32_t keep_text(struct reader *reader, const struct json_text *text)
{
	reader->reading.scratch.count = 0;
	json_unescape(&reader->reading.scratch, text);
	return rows_text(&reader->file->rows, reader->reading.scratch.items, reader->reading.scratch.count);
}

/* ---- members beside the events ----------------------------------------------------------------------------------- */

static bool read_small(struct json *json, uint32_t *number)
{
	int64_t value;

	if (!json_number(json, 0, 0, &value))
		return false;
	*number = value > 0 && value < UINT32_MAX ? (uint32_t)value : 0;
	return true;
}

static bool read_device(struct reader *reader, struct foreign_device *found)
{
	struct json *json = &reader->json;
	struct model_device *device = &found->device;
	struct json_text key, name;
	bool first = true, read;
	int64_t bytes;

	while (json_member(json, &first, &key)) {
		if (JSON_IS(&key, "name") && json_peek(json) == '"') {
			read = json_string(json, &name);
			if (read)
				found->name = keep_text(reader, &name);
		} else if (JSON_IS(&key, "totalGlobalMem")) {
			read = json_number(json, 0, 0, &bytes);
			device->memory_bytes = read && bytes > 0 ? (uint64_t)bytes : 0;
		} else if (JSON_IS(&key, "id")) {
			read = read_small(json, &device->id);
		} else if (JSON_IS(&key, "numSms") || JSON_IS(&key, "multiProcessorCount")) {
			read = read_small(json, &device->multiprocessors);
		} else if (JSON_IS(&key, "computeMajor") || JSON_IS(&key, "major")) {
			read = read_small(json, &device->compute_major);
		} else if (JSON_IS(&key, "computeMinor") || JSON_IS(&key, "minor")) {
			read = read_small(json, &device->compute_minor);
		} else if (JSON_IS(&key, "warpSize")) {
			read = read_small(json, &device->warp_size);
		} else if (JSON_IS(&key, "maxThreadsPerMultiprocessor") ||
			   JSON_IS(&key, "maxThreadsPerMultiProcessor")) {
			read = read_small(json, &device->max_threads_per_multiprocessor);
		} else if (JSON_IS(&key, "maxThreadsPerBlock")) {
			read = read_small(json, &device->max_threads_per_block);
		} else if (JSON_IS(&key, "regsPerMultiprocessor")) {
			read = read_small(json, &device->max_registers_per_multiprocessor);
		} else if (JSON_IS(&key, "regsPerBlock")) {
			read = read_small(json, &device->max_registers_per_block);
		} else if (JSON_IS(&key, "sharedMemPerMultiprocessor")) {
			read = read_small(json, &device->max_shared_per_multiprocessor);
		} else if (JSON_IS(&key, "sharedMemPerBlock")) {
			read = read_small(json, &device->max_shared_per_block);
		} else {
			read = json_skip(json);
		}
		if (!read)
			return false;
	}
	return !json->stopped;
}

static bool read_devices(struct reader *reader)
{
	bool first = true;

	reader->file->devices.count = 0;
	if (json_peek(&reader->json) != '[')
		return json_skip(&reader->json);
	while (json_element(&reader->json, &first)) {
		struct foreign_device found = {.name = ROW_NO_TEXT};

		if (json_peek(&reader->json) != '{' ? !json_skip(&reader->json) : !read_device(reader, &found))
			return false;
		if (reader->file->devices.count < DEVICES_MAX)
			array_push(&reader->file->devices, found);
	}
	return !reader->json.stopped;
}

static bool read_rank(struct reader *reader)
{
	struct json *json = &reader->json;
	struct foreign_file *file = reader->file;
	struct json_text key;
	bool first = true;
	int64_t rank = -1;

	if (json_peek(json) != '{')
		return json_skip(json);
	while (json_member(json, &first, &key)) {
		bool read = JSON_IS(&key, "rank")	  ? json_number(json, 0, -1, &rank)
			    : JSON_IS(&key, "world_size") ? read_small(json, &file->world)
							  : json_skip(json);

		if (!read)
			return false;
	}
	if (rank >= 0 && rank <= INT32_MAX) {
		file->rank = (uint32_t)rank;
		file->is_rank = true;
	}
	return !json->stopped;
}

static bool read_beside(struct reader *reader, const struct json_text *key)
{
	struct json *json = &reader->json;
	struct json_text text;

	if (JSON_IS(key, "baseTimeNanoseconds"))
		return json_number(json, 0, 0, &reader->file->wall_offset_ns);
	if (JSON_IS(key, "deviceProperties") || JSON_IS(key, "computeProperties"))
		return read_devices(reader);
	if (JSON_IS(key, "distributedInfo"))
		return read_rank(reader);
	if (JSON_IS(key, "host_name") && json_peek(json) == '"') {
		if (!json_string(json, &text))
			return false;
		reader->file->host = keep_text(reader, &text);
		return true;
	}
	if (JSON_IS(key, "schema") && json_peek(json) == '"') {
		if (!json_string(json, &text))
			return false;
		reader->is_dump = JSON_BEGINS(&text, "gputrace dump");
		return true;
	}
	reader->reading.has_schema |= JSON_IS(key, "schemaVersion");
	if (JSON_IS(key, "gputrace") && json_peek(json) == '{')
		return kineto_own_head(json, reader->file, &reader->reading.scratch);
	return json_skip(json);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* False: the document ends or is malformed before the array ends. */
static bool read_events(struct reader *reader)
{
	struct json *json = &reader->json;
	struct kineto_event event;
	bool first = true;

	reader->has_events = true;
	for (;;) {
		const char *begin = json->at;
		bool was_first = first;

		if (json_element(json, &first) && kineto_event_read(json, &event)) {
			event.pid = kineto_own_pid(event.pid);
			kineto_event_add(reader->file, &event, &reader->reading);
			reader->events++;
		} else if (!json->stopped) {
			return true;
		} else {
			json->at = json->wrong ? json->at : begin;
			first = was_first;
			if (!json_refill(json, begin))
				return false;
		}
		if (reader->file->rows.error)
			return false;
	}
}

/* Reads a member of the document; false: no more members, or it ends or is malformed. */
static bool read_next(struct reader *reader, bool *first)
{
	struct json *json = &reader->json;

	for (;;) {
		const char *begin = json->at;
		bool was_first = *first;
		struct json_text key;

		if (json_member(json, first, &key)) {
			/* the array may be larger than memory */
			if (JSON_IS(&key, "traceEvents") && json_peek(json) == '[')
				return read_events(reader);
			if (read_beside(reader, &key))
				return true;
		}
		if (!json->stopped)
			return false;
		json->at = json->wrong ? json->at : begin;
		*first = was_first;
		if (!json_refill(json, begin))
			return false;
	}
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void read_document(struct reader *reader)
{
	static const char mark[] = "\xef\xbb\xbf";
	struct json *json = &reader->json;
	bool first = true;

	json_refill(json, json->at);
	if (json->end - json->at >= 3 && !memcmp(json->at, mark, 3))
		json->at += 3;
	if (json_peek(json) == '[') {
		reader->is_list = true;
		read_events(reader);
		return;
	}
	while (read_next(reader, &first))
		;
}

static uint64_t offset_of(const struct json *json)
{
	return json->before + (uint64_t)(json->at - json->buffer);
}

/* Where something follows the whole document; UINT64_MAX: only blanks, or zeros, do. */
static uint64_t find_rest(struct json *json)
{
	char next;

	if (json->stopped || json->error)
		return UINT64_MAX;
	do
		next = json_peek(json);
	while (json->at == json->end && json_refill(json, json->at));
	return next ? offset_of(json) : UINT64_MAX;
}

/* Notes what of the document was not read, or not usable; at: where reading ended; damage: -errno of unpacking. */
static void note_what_lacks(const struct reader *reader, uint64_t at, uint64_t rest, int damage)
{
	const struct kineto_reading *reading = &reader->reading;
	struct foreign_file *file = reader->file;

	if (damage == -ENODATA)
		foreign_note(file, xasprintf("the packed file is cut: %" PRIu64 " events were read up to there; copy "
					     "it again, or write it again",
					     reader->events));
	else if (damage)
		foreign_note(file,
			     xasprintf("the packed file is damaged: %" PRIu64 " events were read, and any of them "
				       "may be wrong; copy it again (`gzip -t` checks it)",
				       reader->events));
	else if (reader->json.wrong)
		foreign_note(
			file,
			xasprintf("the file is no JSON from byte %" PRIu64 " on: what is after it was not read", at));
	else if (reader->json.error == -EFBIG)
		foreign_note(file,
			     xasprintf("a value of more than %u MB at byte %" PRIu64 ": what is after it was not read",
				       JSON_VALUE_MAX >> 20, at));
	else if (rest != UINT64_MAX)
		foreign_note(file,
			     xasprintf("the trace ends before byte %" PRIu64 ", and the file goes on: what follows was "
				       "not read; where it is another trace, put each into a file of its own",
				       rest));
	if (reading->lost_functions)
		foreign_note(file, xasprintf("Python functions on threads that torch.profiler gave no number, as they "
					     "ran no op: left out (%" PRIu64 ")",
					     reading->lost_functions));
	if (reading->lost_memories)
		foreign_note(file, xasprintf("[memory] without an address, as older PyTorch writes it: left out "
					     "(%" PRIu64 ")",
					     reading->lost_memories));
}

/* Describes a document that has events, but none of a supported kind. */
static char *what_it_is(const struct kineto_reading *reading, uint64_t events)
{
	char *kinds, *text;

	if (reading->is_xla)
		return xstrdup("is a trace of JAX or TensorFlow: gputrace reads none of these. To see the GPU work of "
			       "such a program trace it with gputrace or with nsys");
	if (reading->has_schema && !reading->unread[0].count)
		return xstrdup("is a trace of torch.profiler in which nothing was recorded: it has no op, no call and "
			       "no GPU work. Export it after active steps (on_trace_ready), or profile without a "
			       "schedule");
	if (!events)
		return xstrdup("is JSON without any event: there is nothing to read in it");
	kinds = xstrdup("");
	for (size_t i = 0; i < KINETO_UNREAD && reading->unread[i].count; i++) {
		const struct kineto_unread *unread = &reading->unread[i];

		text = xasprintf("%s%s%" PRIu64 " of %s%s", kinds, *kinds ? ", " : ": ", unread->count,
				 *unread->name ? unread->name : "no category",
				 i == KINETO_UNREAD - 1 ? " and others" : "");
		free(kinds);
		kinds = text;
	}
	text = xasprintf("is JSON with %" PRIu64 " event%s, but none of a kind that gputrace reads (docs/formats.md, "
			 "\"Files that are read\")%s",
			 events, events == 1 ? "" : "s", kinds);
	free(kinds);
	return text;
}

static char *why_no_events(const struct json *json, int damage)
{
	if (damage)
		return xasprintf("is packed with gzip and %s: no event of it can be read; copy it again (`gzip -t` "
				 "checks it)",
				 damage == -ENODATA ? "cut" : "damaged");
	return json->stopped || json->error ? xstrdup("is neither a log of gputrace nor a trace in a form that it "
						      "reads (docs/formats.md, \"Files that are read\")")
					    : xstrdup("is JSON, but no trace of torch.profiler: it has no "
						      "\"traceEvents\"");
}

static int feed_end(struct reader *reader, char **why)
{
	struct foreign_file *file = reader->file;
	struct json *json = &reader->json;
	uint64_t at = offset_of(json), rest = find_rest(json);
	/* damage may come out as wrong JSON before the checksum shows it */
	int damage = byte_source_check(&json->source);

	if (file->rows.error)
		return file->rows.error;
	if (json->error && json->error != -EBADMSG && json->error != -ENODATA && json->error != -EFBIG)
		return json->error;
	if (!reader->has_events && reader->is_dump) {
		*why = xstrdup("is what gputrace dump has written: gputrace merge takes it, with those of other hosts");
		return -EPROTO;
	}
	if (!reader->has_events) {
		*why = why_no_events(json, damage);
		return -EPROTO;
	}
	file->truncated = json->stopped || json->error || damage;
	if ((reader->events || reader->is_list || reader->reading.has_schema) && !file->truncated &&
	    !reader->reading.read && !file->prefers_stacks) {
		*why = what_it_is(&reader->reading, reader->events);
		return -EPROTO;
	}
	note_what_lacks(reader, at, rest, damage);
	return 0;
}

bool kineto_is(int fd)
{
	unsigned char begin[256];
	ssize_t got = pread(fd, begin, sizeof(begin), 0);
	ssize_t at = got >= 3 && !memcmp(begin, "\xef\xbb\xbf", 3) ? 3 : 0;

	if (got >= 2 && begin[0] == 0x1f && begin[1] == 0x8b)
		return true;
	while (at < got && strchr(" \t\r\n", begin[at]) && begin[at])
		at++;
	return at < got && (begin[at] == '{' || begin[at] == '[');
}

int kineto_read(int fd, struct foreign_file *file, char **why)
{
	struct reader reader = {.file = file};
	int err;

	*why = NULL;
	json_open(&reader.json, fd);
	read_document(&reader);
	kineto_threads_finish(&reader.reading.threads, file);
	kineto_stacks_finish(&reader.reading.stacks, file);
	kineto_own_finish(&reader.reading.own, file);
	err = feed_end(&reader, why);
	json_close(&reader.json);
	kineto_stacks_close(&reader.reading.stacks);
	kineto_threads_close(&reader.reading.threads);
	lookup_free(&reader.reading.apis);
	lookup_free(&reader.reading.callers);
	array_free(&reader.reading.scratch);
	return err;
}
