/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ring buffer to callback, by libbpf.  The two position pages are mapped a second time, to know the fill
 * (libbpf 1.1 does not show it).  Layout: kernel/bpf/ringbuf.c, struct bpf_ringbuf; the consumer's page comes
 * first, the producer's second.
 */
#include "capture/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/share/shares.h"
#include "base/array.h"

#define RECORD_HEADER_BYTES 8 /* BPF_RINGBUF_HDR_SZ: the kernel's own, before each record */

struct ring {
	struct shares *shares; /* NULL: the BPF ring buffer */
	int map_fd;
	struct ring_buffer *consumer;
	ring_record record;
	void *context;
	const unsigned long *consumer_position, *producer_position;
	size_t page_bytes;
	uint64_t bytes, bytes_max, fill, malformed;
	uint64_t taken, budget; /* of the running ring_consume */
};

static int on_sample(void *context, void *data, size_t size)
{
	struct ring *ring = context;
	const struct gpt_record *record = data;

	if (size >= sizeof(*record) && record->size >= sizeof(*record) && record->size <= size && record->size % 8 == 0)
		ring->record(ring->context, record);
	else
		ring->malformed++;
	ring->taken += RECORD_HEADER_BYTES + gpt_padded(size);
	/* libbpf stops at a negative value, with this record counted as consumed. */
	return ring->taken >= ring->budget ? -ECANCELED : 0;
}

static int map_position(struct ring *ring, off_t offset, const unsigned long **out)
{
	void *page = mmap(NULL, ring->page_bytes, PROT_READ, MAP_SHARED, ring->map_fd, offset);

	if (page == MAP_FAILED)
		return -errno;
	*out = page;
	return 0;
}

int ring_open(int map_fd, ring_record record, void *context, struct ring **out)
{
	struct ring *ring = xcalloc(1, sizeof(*ring));
	struct bpf_map_info info = {0};
	uint32_t info_bytes = sizeof(info);
	int err;

	ring->map_fd = map_fd;
	ring->record = record;
	ring->context = context;
	ring->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	err = bpf_obj_get_info_by_fd(map_fd, &info, &info_bytes);
	if (err)
		goto fail;
	ring->bytes = info.max_entries;
	err = map_position(ring, 0, &ring->consumer_position);
	if (err)
		goto fail;
	err = map_position(ring, (off_t)ring->page_bytes, &ring->producer_position);
	if (err)
		goto fail;
	ring->consumer = ring_buffer__new(map_fd, on_sample, ring, NULL);
	if (!ring->consumer) {
		err = -errno;
		goto fail;
	}
	*out = ring;
	return 0;
fail:
	ring_close(ring);
	return err;
}

int ring_open_shares(struct shares *shares, ring_record record, void *context, struct ring **out)
{
	struct ring *ring = xcalloc(1, sizeof(*ring));

	ring->map_fd = -1;
	ring->shares = shares;
	ring->record = record;
	ring->context = context;
	ring->bytes = shares_bytes(shares);
	*out = ring;
	return 0;
}

static int64_t consume_bpf(struct ring *ring)
{
	unsigned long consumed = __atomic_load_n(ring->consumer_position, __ATOMIC_ACQUIRE);
	unsigned long produced = __atomic_load_n(ring->producer_position, __ATOMIC_ACQUIRE);
	uint64_t fill = produced - consumed;
	int err;

	ring->fill = fill;
	if (fill == 0)
		return 0;
	if (fill > ring->bytes_max)
		ring->bytes_max = fill;
	ring->taken = 0;
	ring->budget = fill;
	err = ring_buffer__consume(ring->consumer);
	if (err < 0 && err != -ECANCELED)
		return err;
	return (int64_t)ring->taken;
}

int64_t ring_consume(struct ring *ring)
{
	if (!ring->shares)
		return consume_bpf(ring);
	return shares_consume(ring->shares, ring->record, ring->context, &ring->fill);
}

int ring_wait_fd(const struct ring *ring)
{
	return ring->map_fd;
}

uint64_t ring_bytes(const struct ring *ring)
{
	return ring->bytes;
}

uint64_t ring_bytes_max(const struct ring *ring)
{
	return ring->shares ? shares_bytes_max(ring->shares) : ring->bytes_max;
}

uint64_t ring_fill(const struct ring *ring)
{
	return ring->fill;
}

uint64_t ring_malformed(const struct ring *ring)
{
	return ring->shares ? shares_malformed(ring->shares) : ring->malformed;
}

void ring_close(struct ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->consumer);
	if (ring->producer_position)
		munmap((void *)(uintptr_t)ring->producer_position, ring->page_bytes);
	if (ring->consumer_position)
		munmap((void *)(uintptr_t)ring->consumer_position, ring->page_bytes);
	free(ring);
}
