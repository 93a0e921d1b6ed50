/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A segment's header, lists, checksum and frame. */
#include "log/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

#include "base/array.h"
#include "log/packing/pack.h"

/* The lowest: packed records are small already, a higher level takes twice the time for a tenth of the bytes. */
#define ZSTD_LEVEL 1

struct segment_encoder {
	struct packer *packer;
	ZSTD_CCtx *zstd;
	uint8_t *bytes;
	size_t capacity;
};

struct segment_encoder *segment_encoder_new(const struct schema *schema)
{
	struct segment_encoder *encoder = xcalloc(1, sizeof(*encoder));

	encoder->packer = packer_new(schema);
	encoder->zstd = ZSTD_createCCtx();
	if (!encoder->zstd)
		abort(); /* as everywhere without memory */
	ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	return encoder;
}

void segment_encoder_free(struct segment_encoder *encoder)
{
	if (!encoder)
		return;
	packer_free(encoder->packer);
	ZSTD_freeCCtx(encoder->zstd);
	free(encoder->bytes);
	free(encoder);
}

static void *reserve_bytes(struct segment_encoder *encoder, size_t bytes)
{
	encoder->bytes = array_reserve(encoder->bytes, 1, 0, bytes, &encoder->capacity);
	return encoder->bytes;
}

/* Writes the header, which has no checksum yet, and the lists. */
static void put_header(uint8_t *to, struct gpt_log_segment *header, const struct pack_out *packed)
{
	size_t kinds = packed->kind_count * sizeof(struct gpt_log_kind);
	size_t pids = packed->pid_count == GPT_LOG_ANY_PROCESS ? 0 : packed->pid_count * sizeof(uint32_t);

	memset(to, 0, header->header_size);
	memcpy(to, header, sizeof(*header));
	if (kinds)
		memcpy(to + sizeof(*header), packed->kinds, kinds);
	if (pids)
		memcpy(to + sizeof(*header) + kinds, packed->pids, pids);
}

static size_t header_bytes(const struct pack_out *packed)
{
	size_t pids = packed->pid_count == GPT_LOG_ANY_PROCESS ? 0 : packed->pid_count;

	return gpt_padded(sizeof(struct gpt_log_segment) + packed->kind_count * sizeof(struct gpt_log_kind) +
			  pids * sizeof(uint32_t));
}

int segment_encode(struct segment_encoder *encoder, const uint8_t *records, size_t bytes, uint32_t repeated,
		   uint32_t sequence, uint32_t flags, struct segment *out)
{
	struct gpt_log_segment header = {0};
	size_t header_size, frame, room;
	struct pack_out packed;
	uint8_t *to;
	int err = pack(encoder->packer, records, bytes, repeated, &packed);

	if (err)
		return err;
	header_size = header_bytes(&packed);
	room = ZSTD_compressBound(packed.packed_bytes);
	to = reserve_bytes(encoder, header_size + gpt_padded(room));
	frame = ZSTD_compress2(encoder->zstd, to + header_size, room, packed.packed, packed.packed_bytes);
	if (ZSTD_isError(frame))
		return -EIO;
	memset(to + header_size + frame, 0, gpt_padded(frame) - frame);
	header = (struct gpt_log_segment){
		.magic = GPT_LOG_SEGMENT_MAGIC,
		.header_size = (uint32_t)header_size,
		.body_bytes = (uint32_t)frame,
		.packed_bytes = (uint32_t)packed.packed_bytes,
		.record_bytes = (uint32_t)bytes,
		.records = packed.records,
		.repeated = repeated,
		.sequence = sequence,
		.first_ns = packed.first_ns,
		.last_ns = packed.last_ns,
		.first_wall_ns = packed.first_wall_ns,
		.last_wall_ns = packed.last_wall_ns,
		.flags = flags,
		.kinds = packed.kind_count,
		.processes = packed.pid_count,
	};
	put_header(to, &header, &packed);
	header.checksum = (uint32_t)crc32(0, to, (uInt)(header_size + frame));
	memcpy(to, &header, sizeof(header));
	*out = (struct segment){.bytes = to, .size = header_size + gpt_padded(frame), .header_size = header_size};
	return 0;
}
