/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/share/share_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/share/share_control.h"

/* Accepted types, their minimum size, and the offset of the pid in them. */
static const struct kind {
	uint16_t bytes, pid_at;
} kinds[] = {
#define KIND(type, name) [type] = {sizeof(struct name), offsetof(struct name, pid)}
	KIND(GPT_CALL, gpt_call),	    KIND(GPT_PYSTACK, gpt_pystack),
	KIND(GPT_CODE, gpt_code),	    KIND(GPT_CODE_LINES, gpt_code_lines),
	KIND(GPT_CODE_DEAD, gpt_code_dead), KIND(GPT_THREAD, gpt_thread),
	KIND(GPT_STACK_AT, gpt_stack_at),   KIND(GPT_AGENT_BATCH, gpt_agent_batch),
#undef KIND
};

int share_ring_open(uint64_t bytes, struct share_ring *out)
{
	uint64_t whole = sizeof(struct gpt_share_ring) + bytes;
	uint8_t *memory;
	int error;

	*out = (struct share_ring){.fd = share_memory_make("gputrace-ring", whole), .bytes = bytes};
	if (out->fd < 0)
		return out->fd;
	memory = mmap(NULL, whole + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		goto failed;
	out->shared = (struct gpt_share_ring *)memory;
	if (mmap(memory, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, out->fd, 0) == MAP_FAILED ||
	    mmap(memory + whole, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, out->fd,
		 sizeof(struct gpt_share_ring)) == MAP_FAILED)
		goto failed;
	return 0;
failed:
	error = -errno;
	share_ring_close(out);
	return error;
}

void share_ring_close(struct share_ring *ring)
{
	/* The process keeps it mapped, but has no use for the memory. */
	if (ring->fd >= 0)
		(void)fallocate(ring->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, sizeof(struct gpt_share_ring),
				(off_t)ring->bytes);
	if (ring->shared)
		munmap(ring->shared, sizeof(struct gpt_share_ring) + 2 * ring->bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct share_ring){.fd = -1};
}

/* Checks the record in `room` and sets its pid. */
static bool is_record(struct gpt_record *record, uint64_t bytes, uint32_t pid)
{
	const struct kind *kind = record->type < sizeof(kinds) / sizeof(kinds[0]) ? &kinds[record->type] : NULL;

	if (!kind || !kind->bytes || record->size < kind->bytes || record->size > bytes || record->size % 8)
		return false;
	memcpy((uint8_t *)record + kind->pid_at, &pid, sizeof(pid));
	if (record->type == GPT_AGENT_BATCH) {
		record->flags = 0;
		((struct gpt_agent_batch *)record)->error_ns = 0; /* all rings are one user's */
	}
	return true;
}

static void take_record(struct share_ring *ring, const uint8_t *from, uint64_t bytes, uint32_t pid, void *room,
			share_record record, void *context)
{
	if (bytes < sizeof(struct gpt_record) || bytes > GPT_RECORD_MAX) {
		ring->malformed++;
		return;
	}
	memcpy(room, from, bytes);
	if (is_record(room, bytes, pid))
		record(context, room);
	else
		ring->malformed++;
}

/* Bytes from the record's head to its end; 0: it is not complete (yet). */
static uint64_t length_of_record(struct share_ring *ring, uint64_t head, uint64_t left, bool over)
{
	uint32_t bytes = (uint32_t)head, flags = (uint32_t)(head >> 32);
	uint64_t need = sizeof(struct gpt_share_head) + gpt_padded(bytes);

	if (!head)
		return over ? sizeof(struct gpt_share_head) : 0; /* a thread ended just before it wrote the head */
	if (!(flags & GPT_SHARE_SET) || !bytes || need > left) {
		ring->broken = true;
		ring->malformed++;
		return 0;
	}
	return flags & GPT_SHARE_BUSY && !over ? 0 : need;
}

uint64_t share_ring_consume(struct share_ring *ring, uint32_t pid, bool over, void *room, share_record record,
			    void *context)
{
	uint64_t produced = __atomic_load_n(&ring->shared->writer.produced, __ATOMIC_ACQUIRE), at = ring->consumed;
	uint64_t fill = produced - at, need;

	if (ring->broken || !fill)
		return 0;
	if (fill > ring->bytes || produced % 8) {
		ring->broken = true;
		ring->malformed++;
		return 0;
	}
	if (fill > ring->bytes_max)
		ring->bytes_max = fill;
	for (; at != produced; at += need) {
		uint8_t *place = ring->shared->data + (at & (ring->bytes - 1));
		uint64_t head = __atomic_load_n((uint64_t *)place, __ATOMIC_ACQUIRE);

		need = length_of_record(ring, head, produced - at, over);
		if (!need)
			break;
		if (head >> 32 & GPT_SHARE_BUSY)
			ring->malformed++;
		else if (head && !(head >> 32 & GPT_SHARE_DISCARD))
			take_record(ring, place + sizeof(struct gpt_share_head), (uint32_t)head, pid, room, record,
				    context);
		memset(place, 0, need);
		__atomic_store_n(&ring->shared->reader.consumed, at + need, __ATOMIC_RELEASE);
	}
	need = at - ring->consumed;
	ring->consumed = at;
	return need;
}
