/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of Protocol Buffers, written field by field into a sink.  A message inside of another stands after its
 * length, so it is made in a sink that collects in memory (sink_open_memory):
 *
 *	size_t begin = proto_begin(memory, FIELD);
 *	proto_number(memory, ANOTHER, 7);
 *	proto_end(memory, begin);
 */
#pragma once

#include "export/file/sink.h"

#define PROTO_VARINT_MAX 10			/* bytes */
#define PROTO_NUMBER_MAX (5 + PROTO_VARINT_MAX) /* bytes of a 32-bit field number and its value */

enum proto_wire {
	PROTO_WIRE_VARINT = 0,
	PROTO_WIRE_64 = 1,
	PROTO_WIRE_BYTES = 2,
};

/* ---- where there is room: each returns the position after its output --------------------------------------------- */

static inline char *proto_varint_at(char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	return at;
}

static inline char *proto_tag_at(char *at, uint32_t field, enum proto_wire wire)
{
	return proto_varint_at(at, (uint64_t)field << 3 | wire);
}

/* For uint64, bool, enumerations; and for int64, whose negative numbers take ten bytes. */
static inline char *proto_number_at(char *at, uint32_t field, uint64_t value)
{
	return proto_varint_at(proto_tag_at(at, field, PROTO_WIRE_VARINT), value);
}

static inline char *proto_fixed64_at(char *at, uint32_t field, uint64_t value)
{
	at = proto_tag_at(at, field, PROTO_WIRE_64);
	for (int i = 0; i < 8; i++)
		*at++ = (char)(value >> 8 * i);
	return at;
}

static inline char *proto_double_at(char *at, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return proto_fixed64_at(at, field, bits);
}

/* A message shorter than 128 bytes; pass *begin to proto_end_at. */
static inline char *proto_begin_at(char *at, uint32_t field, char **begin)
{
	at = proto_tag_at(at, field, PROTO_WIRE_BYTES);
	return *begin = at + 1;
}

static inline void proto_end_at(char *at, char *begin)
{
	begin[-1] = (char)(at - begin);
}

/* ---- into a sink --------------------------------------------------------------------------------------------------
 */

/* Accounts for what was written into sink_room. */
static inline void proto_wrote(struct sink *out, const char *end)
{
	out->used = (size_t)(end - out->buffer);
}

static inline void proto_varint(struct sink *out, uint64_t value)
{
	proto_wrote(out, proto_varint_at(sink_room(out, PROTO_VARINT_MAX), value));
}

static inline void proto_tag(struct sink *out, uint32_t field, enum proto_wire wire)
{
	proto_varint(out, (uint64_t)field << 3 | wire);
}

static inline void proto_number(struct sink *out, uint32_t field, uint64_t value)
{
	proto_wrote(out, proto_number_at(sink_room(out, PROTO_NUMBER_MAX), field, value));
}

static inline void proto_fixed64(struct sink *out, uint32_t field, uint64_t value)
{
	proto_wrote(out, proto_fixed64_at(sink_room(out, PROTO_NUMBER_MAX), field, value));
}

static inline void proto_double(struct sink *out, uint32_t field, double value)
{
	proto_wrote(out, proto_double_at(sink_room(out, PROTO_NUMBER_MAX), field, value));
}

static inline void proto_bytes(struct sink *out, uint32_t field, const char *bytes, size_t length)
{
	proto_tag(out, field, PROTO_WIRE_BYTES);
	proto_varint(out, length);
	sink_put(out, bytes, length);
}

/* Starts a message inside what is being written to memory; nests. */
static inline size_t proto_begin(struct sink *memory, uint32_t field)
{
	proto_tag(memory, field, PROTO_WIRE_BYTES);
	sink_char(memory, 0); /* room for its length, if it is short */
	return memory->used;
}

void proto_end_long(struct sink *memory, size_t begin);

static inline void proto_end(struct sink *memory, size_t begin)
{
	size_t length = memory->used - begin;

	if (length < 0x80)
		memory->buffer[begin - 1] = (char)length;
	else
		proto_end_long(memory, begin);
}

/* A string, which must be UTF-8; invalid bytes are replaced. */
static inline void proto_text(struct sink *memory, uint32_t field, const char *text)
{
	size_t begin = proto_begin(memory, field);

	sink_utf8(memory, text);
	proto_end(memory, begin);
}

/* Moves what was collected to a file; the memory is empty afterwards. */
static inline void proto_move(struct sink *out, struct sink *memory)
{
	sink_put(out, memory->buffer, memory->used);
	memory->used = 0;
}
