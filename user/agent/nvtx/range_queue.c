/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Dmitry Vyukov's bounded queue, as in returns.c; here a slot stores its turn minus its number, so that untouched
 * memory is an empty queue.
 */
#include "agent/nvtx/range_queue.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/process/clock.h"

#define MASK (RANGES_MAX - 1)
#define QUEUE_BYTES (RANGES_MAX * sizeof(struct slot))

struct slot {
	struct range_event event;
	_Atomic uint32_t turn; /* + number of the slot: position: free for that writer; position + 1: filled */
};

static struct {
	struct slot *_Atomic slots;
	_Atomic uint32_t tail __attribute__((aligned(64))); /* writers */
	_Atomic uint64_t dropped;
	_Atomic uint64_t dropped_ns;		    /* time of the first dropped one, 0: none */
	uint32_t head __attribute__((aligned(64))); /* the reader */
	uint64_t sent_ns;
} queue;

bool ranges_open(void)
{
	struct slot *none = NULL;
	void *memory;

	if (atomic_load(&queue.slots))
		return true;
	memory = mmap(NULL, QUEUE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	if (!atomic_compare_exchange_strong(&queue.slots, &none, memory))
		munmap(memory, QUEUE_BYTES);
	return true;
}

static struct slot *claim_slot(struct slot *slots, uint32_t *position)
{
	struct slot *slot;
	int32_t ahead;

	*position = atomic_load_explicit(&queue.tail, memory_order_relaxed);
	for (;;) {
		slot = &slots[*position & MASK];
		ahead = (int32_t)(atomic_load_explicit(&slot->turn, memory_order_acquire) + (*position & MASK) -
				  *position);
		if (ahead < 0)
			return NULL;
		if (ahead > 0)
			*position = atomic_load_explicit(&queue.tail, memory_order_relaxed);
		else if (atomic_compare_exchange_weak_explicit(&queue.tail, position, *position + 1,
							       memory_order_relaxed, memory_order_relaxed))
			return slot;
	}
}

static void drop_event(uint64_t time_ns)
{
	uint64_t first_ns = atomic_load(&queue.dropped_ns);

	while ((!first_ns || time_ns < first_ns) &&
	       !atomic_compare_exchange_weak(&queue.dropped_ns, &first_ns, time_ns))
		;
	atomic_fetch_add(&queue.dropped, 1);
}

void ranges_push(const struct range_event *event, const char *text)
{
	struct slot *slots = atomic_load_explicit(&queue.slots, memory_order_acquire);
	uint32_t position;
	struct slot *slot = slots ? claim_slot(slots, &position) : NULL;

	if (!slot) {
		drop_event(event->time_ns);
		return;
	}
	memcpy(&slot->event, event, offsetof(struct range_event, text));
	memcpy(slot->event.text, text, event->bytes);
	atomic_store_explicit(&slot->turn, position + 1 - (position & MASK), memory_order_release);
}

static bool pop_event(struct range_event *event)
{
	struct slot *slots = atomic_load_explicit(&queue.slots, memory_order_acquire), *slot;
	uint32_t index = queue.head & MASK;

	if (!slots)
		return false;
	slot = &slots[index];
	if (atomic_load_explicit(&slot->turn, memory_order_acquire) + index != queue.head + 1)
		return false;
	memcpy(event, &slot->event, offsetof(struct range_event, text) + slot->event.bytes);
	atomic_store_explicit(&slot->turn, queue.head + RANGES_MAX - index, memory_order_release);
	queue.head++;
	return true;
}

static void send_event(struct batch *batch, const struct range_event *event,
		       const char *(*domain_name)(uint32_t number))
{
	bool is_end = event->what == GPT_AGENT_RANGE_POPPED || event->what == GPT_AGENT_RANGE_ENDED;
	const char *domain = is_end ? "" : domain_name(event->domain);
	size_t domain_bytes = strlen(domain);
	struct gpt_agent_range *record =
		batch_add(batch, GPT_AGENT_RANGE, sizeof(*record) + event->bytes + domain_bytes);

	record->time_ns = event->time_ns;
	record->id = event->id;
	record->tid = event->tid;
	record->what = event->what;
	record->domain = event->domain;
	record->bytes = (uint16_t)event->bytes;
	record->domain_bytes = (uint16_t)domain_bytes;
	memcpy(record->text, event->text, event->bytes);
	memcpy(record->text + event->bytes, domain, domain_bytes);
}

void ranges_send(struct batch *batch, const char *(*domain_name)(uint32_t number))
{
	uint64_t now_ns = clock_now_ns();
	struct range_event event, lost;
	unsigned left = RANGES_MAX; /* a bound: other work must get its turn, however fast they come */

	while (left-- && pop_event(&event))
		send_event(batch, &event, domain_name);
	lost = (struct range_event){.what = GPT_AGENT_RANGE_LOST, .id = atomic_exchange(&queue.dropped, 0)};
	if (lost.id) {
		lost.time_ns = atomic_exchange(&queue.dropped_ns, 0);
		if (!lost.time_ns) /* its writer counted it after that time was sent */
			lost.time_ns = queue.sent_ns;
		send_event(batch, &lost, domain_name);
	}
	queue.sent_ns = now_ns;
}

void ranges_forked(void)
{
	struct slot *slots = atomic_load(&queue.slots);

	if (!slots)
		return;
	madvise(slots, QUEUE_BYTES, MADV_DONTNEED); /* zero means empty; drops half-written entries, too */
	queue.head = 0;
	atomic_store(&queue.tail, 0);
	atomic_store(&queue.dropped, 0);
	atomic_store(&queue.dropped_ns, 0);
}
