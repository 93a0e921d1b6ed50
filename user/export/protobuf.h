/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of Protocol Buffers, written field by field into a sink.  A message inside of another stands behind its
 * length, so it is made in a sink that collects in memory (sink_open_memory):
 *
 *	size_t begin = proto_begin(memory, FIELD);
 *	proto_number(memory, ANOTHER, 7);
 *	proto_end(memory, begin);
 */
#ifndef GPUTRACE_PROTOBUF_H
#define GPUTRACE_PROTOBUF_H

#include "export/sink.h"

#define PROTO_VARINT_MAX 10 /* bytes */

static inline void proto_varint(struct sink *out, uint64_t value)
{
	char *at = sink_room(out, PROTO_VARINT_MAX), *begin = at;

	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	out->used += (size_t)(at - begin);
}

enum proto_wire {
	PROTO_WIRE_VARINT = 0,
	PROTO_WIRE_64 = 1,
	PROTO_WIRE_BYTES = 2,
};

static inline void proto_tag(struct sink *out, uint32_t field, enum proto_wire wire)
{
	proto_varint(out, (uint64_t)field << 3 | wire);
}

/* Of uint64, bool, enumerations; and of int64, whose numbers below 0 have ten bytes. */
static inline void proto_number(struct sink *out, uint32_t field, uint64_t value)
{
	proto_tag(out, field, PROTO_WIRE_VARINT);
	proto_varint(out, value);
}

static inline void proto_fixed64(struct sink *out, uint32_t field, uint64_t value)
{
	char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(value >> 8 * i);
	proto_tag(out, field, PROTO_WIRE_64);
	sink_short(out, bytes, sizeof(bytes));
}

static inline void proto_double(struct sink *out, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(out, field, bits);
}

static inline void proto_bytes(struct sink *out, uint32_t field, const char *bytes, size_t length)
{
	proto_tag(out, field, PROTO_WIRE_BYTES);
	proto_varint(out, length);
	sink_put(out, bytes, length);
}

/* A message inside of what is being written to memory; nests. */
static inline size_t proto_begin(struct sink *memory, uint32_t field)
{
	proto_tag(memory, field, PROTO_WIRE_BYTES);
	sink_char(memory, 0); /* its length, where it is short */
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

/* A string, which has to be UTF-8; what is not is replaced. */
static inline void proto_text(struct sink *memory, uint32_t field, const char *text)
{
	size_t begin = proto_begin(memory, field);

	sink_utf8(memory, text);
	proto_end(memory, begin);
}

/* What was collected goes to a file, and the memory is empty again. */
static inline void proto_move(struct sink *out, struct sink *memory)
{
	sink_put(out, memory->buffer, memory->used);
	memory->used = 0;
}

#endif
