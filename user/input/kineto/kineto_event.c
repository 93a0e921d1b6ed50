/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The members of an event, in place; see kineto_event.h. */
#include "input/kineto/kineto_event.h"

#include <string.h>

static const struct {
	const char *name;
	enum kineto_number number;
} number_names[] = {
	{"correlation", KINETO_CORRELATION},
	{"cbid", KINETO_CBID},
	{"device", KINETO_DEVICE},
	{"context", KINETO_CONTEXT},
	{"stream", KINETO_STREAM},
	{"bytes", KINETO_BYTES},
	{"Bytes", KINETO_BYTES},
	{"registers per thread", KINETO_REGISTERS},
	{"shared memory", KINETO_SHARED},
	{"graph id", KINETO_GRAPH},
	{"graph node id", KINETO_GRAPH_NODE},
	{"priority", KINETO_PRIORITY},
	{"channel", KINETO_CHANNEL},
	{"channel_type", KINETO_CHANNEL_TYPE},
	{"Sequence number", KINETO_SEQUENCE},
	{"Fwd thread id", KINETO_FORWARD_THREAD},
	{"of forward thread", KINETO_FORWARD_THREAD},
	{"Addr", KINETO_ADDRESS},
	{"Total Allocated", KINETO_ALLOCATED},
	{"Total Reserved", KINETO_RESERVED},
	{"Device Type", KINETO_DEVICE_TYPE},
	{"Device Id", KINETO_DEVICE_ID},
	{"Python module id", KINETO_MODULE},
	{"wait_on_stream", KINETO_WAIT_STREAM},
	{"wait_on_cuda_event_id", KINETO_EVENT},
	{"sort_index", KINETO_SORT_INDEX},
	{"In msg nelems", KINETO_IN_ELEMENTS},
	{"Out msg nelems", KINETO_OUT_ELEMENTS},
	{"Rank", KINETO_RANK},
	{"Group size", KINETO_GROUP_SIZE},
	{"Global rank start", KINETO_RANK_START},
	{"Global rank stride", KINETO_RANK_STRIDE},
	{"Src Rank", KINETO_SOURCE_RANK},
	{"Dst Rank", KINETO_TARGET_RANK},
	{"Seq", KINETO_GROUP_SEQUENCE},
	{"result", KINETO_RESULT},
	{"captured by", KINETO_CAPTURED_BY},
	{"static shared memory", KINETO_STATIC_SHARED},
	{"local memory per thread", KINETO_LOCAL},
	{"cupti stream", KINETO_CUPTI_STREAM},
	{"of call", KINETO_OF_CALL},
	{"generation", KINETO_GENERATION},
	{"thread", KINETO_THREAD},
};

static enum kineto_number number_of(const struct json_text *key)
{
	for (size_t i = 0; i < sizeof(number_names) / sizeof(number_names[0]); i++) {
		const char *name = number_names[i].name;

		if (name[0] == key->bytes[0] && strlen(name) == key->size && !memcmp(name, key->bytes, key->size))
			return number_names[i].number;
	}
	return KINETO_NUMBERS;
}

static const char *const collective_names[KINETO_COLLECTIVE_TEXTS] = {
	[GPT_COLLECTIVE_NAME] = "Collective name",
	[GPT_COLLECTIVE_GROUP] = "Process Group Name",
	[GPT_COLLECTIVE_DESCRIPTION] = "Process Group Description",
	[GPT_COLLECTIVE_RANKS] = "Process Group Ranks",
	[GPT_COLLECTIVE_IN_SPLIT] = "In split size",
	[GPT_COLLECTIVE_OUT_SPLIT] = "Out split size",
	[KINETO_COLLECTIVE_DTYPE] = "dtype",
};

/* NULL: the key is not a text of a collective. */
static struct json_text *collective_text(struct kineto_event *event, const struct json_text *key)
{
	for (size_t i = 0; i < KINETO_COLLECTIVE_TEXTS; i++) {
		const char *name = collective_names[i];

		if (key->size && name[0] == key->bytes[0] && strlen(name) == key->size &&
		    !memcmp(name, key->bytes, key->size))
			return &event->collective[i];
	}
	return NULL;
}

/* NULL: the key is not a text that only gputrace writes. */
static struct json_text *own_text(struct kineto_event *event, const struct json_text *key)
{
	return JSON_IS(key, "NVTX")	? &event->range_kind
	       : JSON_IS(key, "domain") ? &event->domain
	       : JSON_IS(key, "module") ? &event->module
	       : JSON_IS(key, "kind")	? &event->memory_kind
	       : JSON_IS(key, "from")	? &event->from
					: NULL;
}

static bool read_three(struct json *json, int64_t three[3])
{
	bool first = true;
	unsigned count = 0;

	if (json_peek(json) != '[')
		return json_skip(json);
	while (json_element(json, &first)) {
		int64_t value;

		if (!json_number(json, 0, 0, &value))
			return false;
		if (count < 3)
			three[count++] = value;
	}
	return !json->stopped;
}

/* Reads a string; skips anything else. */
static bool read_text(struct json *json, struct json_text *text)
{
	return json_peek(json) == '"' ? json_string(json, text) : json_skip(json);
}

static bool read_unfinished(struct json *json, bool *unfinished)
{
	struct json_text raw;

	if (!json_raw(json, &raw))
		return false;
	*unfinished = JSON_IS(&raw, "false") || JSON_IS(&raw, "\"false\"");
	return true;
}

/* gputrace's own member; Kineto uses "finished". */
static bool read_end(struct json *json, bool *unfinished)
{
	struct json_text raw;

	if (!json_raw(json, &raw))
		return false;
	*unfinished = *unfinished || JSON_IS(&raw, "\"not seen\"");
	return true;
}

static bool read_async(struct json *json, int8_t *async)
{
	struct json_text raw;

	if (!json_raw(json, &raw))
		return false;
	*async = JSON_IS(&raw, "true") ? 1 : JSON_IS(&raw, "false") ? 0 : -1;
	return true;
}

static bool read_args(struct json *json, struct kineto_event *event)
{
	struct json_text key;
	bool first = true;

	if (json_peek(json) != '{')
		return json_skip(json);
	while (json_member(json, &first, &key)) {
		enum kineto_number number = key.size ? number_of(&key) : KINETO_NUMBERS;
		struct json_text *text;
		bool read;

		if (number != KINETO_NUMBERS)
			read = json_number(json, 0, KINETO_NO_NUMBER, &event->numbers[number]);
		else if (JSON_IS(&key, "grid"))
			read = read_three(json, event->grid);
		else if (JSON_IS(&key, "block"))
			read = read_three(json, event->block);
		else if (JSON_IS(&key, "Input Dims"))
			read = json_raw(json, &event->dims);
		else if (JSON_IS(&key, "Input type"))
			read = json_raw(json, &event->types);
		else if (JSON_IS(&key, "Input Strides"))
			read = json_raw(json, &event->strides);
		else if (JSON_IS(&key, "Concrete Inputs"))
			read = json_raw(json, &event->concrete);
		else if (JSON_IS(&key, "Call stack"))
			read = read_text(json, &event->call_stack);
		else if (JSON_IS(&key, "CallFrom"))
			read = read_text(json, &event->called_from);
		else if (JSON_IS(&key, "name") || JSON_IS(&key, "labels"))
			read = read_text(json, &event->text);
		else if (JSON_IS(&key, "finished"))
			read = read_unfinished(json, &event->unfinished);
		else if (JSON_IS(&key, "Is asynchronized op"))
			read = read_async(json, &event->async);
		else if (JSON_IS(&key, "end"))
			read = read_end(json, &event->unfinished);
		else if (JSON_IS(&key, "Call stack of"))
			read = event->inherited = json_skip(json);
		else if (JSON_IS(&key, "captured"))
			read = event->captured = json_skip(json);
		else if ((text = own_text(event, &key)) || (text = collective_text(event, &key)))
			read = read_text(json, text);
		else
			read = json_skip(json);
		if (!read)
			return false;
	}
	return !json->stopped;
}

static bool read_member(struct json *json, const struct json_text *key, struct kineto_event *event)
{
	struct json_text phase;

	if (JSON_IS(key, "ph")) {
		phase = (struct json_text){.bytes = ""};
		if (!read_text(json, &phase))
			return false;
		event->phase = phase.bytes[0];
		return true;
	}
	if (JSON_IS(key, "cat"))
		return read_text(json, &event->category);
	if (JSON_IS(key, "name"))
		return read_text(json, &event->name);
	if (JSON_IS(key, "ts"))
		return json_number(json, 3, KINETO_NO_NUMBER, &event->start_ns);
	if (JSON_IS(key, "dur"))
		return json_number(json, 3, KINETO_NO_NUMBER, &event->duration_ns);
	if (JSON_IS(key, "pid"))
		return json_number(json, 0, KINETO_NO_NUMBER, &event->pid);
	if (JSON_IS(key, "tid"))
		return json_number(json, 0, KINETO_NO_NUMBER, &event->tid);
	if (JSON_IS(key, "id"))
		return json_number(json, 0, KINETO_NO_NUMBER, &event->id);
	return JSON_IS(key, "args") ? read_args(json, event) : json_skip(json);
}

bool kineto_event_read(struct json *json, struct kineto_event *event)
{
	const struct json_text none = {.bytes = ""};
	struct json_text key;
	bool first = true;

	*event = (struct kineto_event){.category = none,
				       .name = none,
				       .call_stack = none,
				       .called_from = none,
				       .text = none,
				       .range_kind = none,
				       .domain = none,
				       .module = none,
				       .memory_kind = none,
				       .from = none,
				       .start_ns = KINETO_NO_NUMBER,
				       .duration_ns = 0,
				       .pid = KINETO_NO_NUMBER,
				       .tid = KINETO_NO_NUMBER,
				       .id = KINETO_NO_NUMBER,
				       .async = -1};
	for (int i = 0; i < KINETO_NUMBERS; i++)
		event->numbers[i] = KINETO_NO_NUMBER;
	for (int i = 0; i < 3; i++)
		event->grid[i] = event->block[i] = KINETO_NO_NUMBER;
	if (json_peek(json) != '{')
		return json_skip(json); /* not an event */
	while (json_member(json, &first, &key))
		if (!read_member(json, &key, event))
			return false;
	return !json->stopped;
}
