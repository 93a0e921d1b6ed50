/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records of a log, by kind: most are passed on to the builder as they are; functions take those with text apart.
 * The caller has checked that the record has its fixed part; false: the record is malformed.
 */
#pragma once

#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

#include "model/builder.h"

/*
 * gpt_add_NAME takes a record apart that logs call NAME (GPT_RECORDS, GPT_AGENT_RECORDS: _PARTS) and passes its
 * contents on.  gpt_session.c: the recording; gpt_processes.c: processes and threads; gpt_calls.c, gpt_nccl.c:
 * stacks, and calls of NCCL; gpt_python.c: code objects, and what goes on inside the interpreter; gpt_batch.c: a batch
 * of an agent's records; gpt_agent.c: what an agent says of itself, names, devices.
 */
#define GPT_ADD_NOTHING(...)
#define GPT_ADD_EVENT(...)
#define GPT_ADD_TABLE(...)
#define GPT_ADD_TABLE_PARTS(name)                                                                                      \
	bool gpt_add_##name(struct builder *builder, const struct sender *sender, const struct gpt_record *record);
#define GPT_ADD_EVENT_PARTS(name) GPT_ADD_TABLE_PARTS(name)
#define GPT_ADD(type, number, name, record, bytes, least, tail, takes) GPT_ADD_##takes(name)
GPT_RECORDS(GPT_ADD)
GPT_AGENT_RECORDS(GPT_ADD)

/*
 * A table of what takes a record, by type: GPT_KIND is a row for GPT_RECORDS and GPT_AGENT_RECORDS.  The others are
 * passed on as they are, by builder_add_NAME.
 */
struct gpt_kind {
	size_t size; /* minimum size */
	bool is_event;
	bool (*add)(struct builder *builder, const struct sender *sender, const struct gpt_record *record);
};
#define GPT_KIND_NOTHING(...)
#define GPT_KIND_EVENT(type, name, least) [type] = {least, true, pass_##name},
#define GPT_KIND_TABLE(type, name, least) [type] = {least, false, pass_##name},
#define GPT_KIND_EVENT_PARTS(type, name, least) [type] = {least, true, gpt_add_##name},
#define GPT_KIND_TABLE_PARTS(type, name, least) [type] = {least, false, gpt_add_##name},
#define GPT_KIND(type, number, name, record, bytes, least, tail, takes) GPT_KIND_##takes(type, name, least)

/* pass_agent_sync and so on: the functions for GPT_KIND. */
#define GPT_PASS_NOTHING(...)
#define GPT_PASS_EVENT_PARTS(...)
#define GPT_PASS_TABLE_PARTS(...)
#define GPT_PASS_EVENT(name, type)                                                                                     \
	static bool pass_##name(struct builder *builder, const struct sender *sender, const struct gpt_record *record) \
	{                                                                                                              \
		return builder_add_##name(builder, sender, (const struct gpt_##type *)record);                         \
	}
#define GPT_PASS_TABLE(name, type) GPT_PASS_EVENT(name, type)
#define GPT_PASS(type, number, name, record, bytes, least, tail, takes) GPT_PASS_##takes(name, record)

/* Adds a record of a type that has a row, unless it is too short or makes no sense. */
static inline void gpt_add_known(struct builder *builder, const struct gpt_kind *kind, const struct sender *sender,
				 const struct gpt_record *record)
{
	/* an event changes no table that the parts of a long log share (builder_look) */
	if (!kind->is_event)
		builder_wait(builder);
	if (record->size < kind->size || !kind->add(builder, sender, record))
		builder_count_bad(builder, BAD_VALUE, 1);
}

/* ---- text and numbers ------------------------------------------------------------------------------------------- */

/* Text up to its NUL, or to its end. */
static inline struct text gpt_text(const char *bytes, size_t size)
{
	return (struct text){.bytes = bytes, .size = strnlen(bytes, size)};
}

/* Fields of "a\0b\0c\0": the next one, "" when there are no more.  *at starts at 0. */
static inline struct text gpt_field(const char *bytes, size_t size, size_t *at)
{
	struct text field = gpt_text(bytes + *at, size - *at);

	*at += field.size;
	if (*at < size)
		(*at)++;
	return field;
}

/* Reads the first fields of the text at the end of a record; `fields` ends with NULL.  False: it is longer than that.
 */
static inline bool gpt_read_fields(const struct gpt_record *record, const char *text, size_t bytes,
				   struct text *const *fields)
{
	size_t at = 0;

	if (bytes > record->size - (size_t)(text - (const char *)record))
		return false;
	for (; *fields; fields++)
		**fields = gpt_field(text, bytes, &at);
	return true;
}
#define GPT_READ_FIELDS(event, ...)                                                                                    \
	gpt_read_fields(&(event)->hdr, (event)->text, (event)->bytes, (struct text *const[]){__VA_ARGS__, NULL})
