/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The buffer of a thread that runs ops: slots for open ops, and a ring of ended ops and names that the agent's thread
 * reads.  The ring has one writer, its thread, and one reader.  It consists of chunks; the chunk that was read last is
 * written next, so while the reader keeps up the chunks stay in the cache.
 * Only the first op of a thread and a growing ring allocate.  What has no room is counted as lost.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/op_inputs.h"

#define CACHE_LINE 64u
#define OP_BUFFERS_MAX 1024u		  /* threads with ops at a time */
#define OP_BUFFER_SLOTS 1024u		  /* ops open at a time in one of them */
#define OP_BUFFER_RING_BYTES (8u << 20)	  /* touched as it is used: 65,000 to 130,000 ops. Power of two */
#define OP_BUFFER_CHUNK_BYTES (64u << 10) /* power of two */
#define OP_BUFFER_CHUNKS (OP_BUFFER_RING_BYTES / OP_BUFFER_CHUNK_BYTES)
#define OP_BUFFER_BLOCK_CHUNKS 4u /* mapped at a time: most threads need only one block */
#define OP_BUFFER_BLOCKS (OP_BUFFER_CHUNKS / OP_BUFFER_BLOCK_CHUNKS)
#define OP_BUFFER_BLOCK_BYTES (OP_BUFFER_BLOCK_CHUNKS * (size_t)OP_BUFFER_CHUNK_BYTES)
#define OP_BUFFER_WAKE_BYTES (128u << 10) /* the reader is woken each time that many bytes were added */
#define OP_BUFFER_NAMES 512u		  /* power of two */
#define OP_BUFFER_INPUTS 4096u		  /* power of two */
#define OP_BUFFER_STACK_BITS 48u
#define OP_NAME_MAX ((16u << 10) - 32) /* bytes of a name; a longer one is cut */

/* An op as it is recorded, without its end. */
struct op_facts {
	uint64_t start; /* op_clock_stamp */
	int64_t sequence;
	uint64_t name; /* hash of it */
	uint64_t thread;
	uint64_t inputs; /* hash of its inputs, 0: none, or not requested */
	/* Most ops have 0 in the members from here on: a short entry leaves them out, and has tid and scope elsewhere.
	 */
	uint64_t stack; /* number of its Python stack, 0: none */
	uint64_t handle, forward_thread;
	uint32_t tid;
	uint8_t scope;
};

/* The collective of an op; 0: none. */
struct op_collective {
	uint64_t text; /* its hash; the text is written like a name */
	int64_t sequence;
};

/*
 * An open op. PyTorch takes it for an object of its own with a virtual destructor.  An op uses the first two lines of
 * the cache.
 */
struct op_slot {
	const void *vtable;
	struct op_buffer *buffer;
	_Atomic uint64_t turn; /* odd: open */
	uint32_t session;
	uint32_t next; /* next free slot: number + 1 */
	struct op_facts facts;
	struct op_collective collective;
	_Atomic uint64_t reported_turn; /* the turn that the reader has sent as an open op */
	uint64_t reported_start_ns;	/* the start that it sent */
} __attribute__((aligned(CACHE_LINE)));

_Static_assert(offsetof(struct op_slot, reported_start_ns) <= 2 * CACHE_LINE,
	       "two lines are what an op uses of its slot");

enum op_entry_kind {
	OP_ENTRY_PAD = 1,
	OP_ENTRY_NAME = 2,
	OP_ENTRY_OP = 3,
	OP_ENTRY_COLLECTIVE = 4, /* an op with a collective */
	OP_ENTRY_INPUTS = 5,
	OP_ENTRY_MEMORY = 6,
	OP_ENTRY_OP_SHORT = 7, /* the first OP_ENTRY_SHORT_BYTES of an op */
	OP_ENTRY_MEMORY_SHORT = 8,
};

/* Header of an entry in the ring; sizes are multiples of 8 bytes. */
struct op_entry {
	uint32_t bytes;
	uint32_t kind;
};

struct op_entry_name {
	struct op_entry entry;
	uint64_t hash;
	uint32_t bytes;	    /* of text */
	uint32_t is_longer; /* text is cut */
	char text[];
};

struct op_entry_inputs {
	struct op_entry entry;
	uint64_t hash;
	uint64_t count; /* of words */
	uint64_t words[];
};

struct op_entry_op {
	struct op_entry entry;
	uint64_t end; /* op_clock_stamp */
	uint32_t end_tid;
	bool is_async;
	bool is_reported; /* sent as an open op before; facts.start is CLOCK_MONOTONIC then */
	uint8_t scope;
	struct op_facts facts;
};

/*
 * The short form, one cache line, which most ops have: the members of op_facts from `stack` on are 0, and the op ends
 * on the thread on which it started, so end_tid is its tid.
 */
#define OP_ENTRY_SHORT_BYTES ((uint32_t)offsetof(struct op_entry_op, facts.stack))

_Static_assert(OP_ENTRY_SHORT_BYTES == 64, "a short op is one cache line");

struct op_entry_collective {
	struct op_entry_op op;
	struct op_collective collective;
};

/* An event of an allocator of PyTorch's, as gpt_agent_torch_memory. */
struct op_entry_memory {
	struct op_entry entry;
	uint64_t time; /* op_clock_stamp */
	uint64_t address;
	int64_t bytes;
	uint64_t allocated, reserved;
	uint64_t stack; /* as op_facts.stack */
	uint32_t tid;
	uint8_t kind; /* enum gpt_agent_torch_memory_kind */
	int8_t device_type, device;
	bool has_totals;
};

#define OP_MEMORY_CPU_INDEX (-1) /* of c10::Device: there is one CPU */

/* Short form for CPU memory without stack and totals, on the buffer's thread: half a cache line. */
struct op_entry_memory_short {
	struct op_entry entry;
	uint64_t time;
	uint64_t address;
	uint64_t bytes; /* 0: freed */
};

enum op_buffer_state {
	OP_BUFFER_FREE,
	OP_BUFFER_TAKEN,
	OP_BUFFER_ENDED, /* its thread has ended; the reader frees it */
};

struct op_buffer {
	/* the thread's; first what every op uses, in one line of the cache */
	_Atomic uint64_t tail;
	uint8_t *chunk;	    /* of tail */
	uint64_t wake_at;   /* the reader is woken when tail gets there */
	uint32_t free_slot; /* number + 1 */
	uint32_t tid;	    /* of the thread */
	uint32_t names_session, names_epoch;
	uint64_t chunks_back;		       /* chunks of `order` that were read and moved to `chunks_free` */
	uint8_t chunks_free[OP_BUFFER_CHUNKS]; /* the latest last */
	uint32_t chunks_free_count, chunks_made;
	_Atomic uint32_t slots_made;
	_Atomic uint64_t lost;
	_Atomic uint64_t inputs_lost;	   /* ops whose inputs had no room */
	_Atomic uint64_t lost_ns;	   /* first loss since the reader looked, 0: none */
	uint64_t names[OP_BUFFER_NAMES];   /* hashes of names that were written */
	uint64_t inputs[OP_BUFFER_INPUTS]; /* and of inputs */
	uint64_t words[OP_INPUTS_WORDS];   /* inputs of the op that starts */
	uint64_t stacks;		   /* number of the latest stack; the buffer's index is in the high bits */
	uint8_t order[OP_BUFFER_CHUNKS];   /* chunk of each position in the ring; the reader reads it up to tail */
	/* the reader's */
	_Atomic uint64_t head __attribute__((aligned(64)));
	/* of other threads */
	_Atomic uint32_t returned __attribute__((aligned(64))); /* slots, as free_slot */
	_Atomic uint32_t state;					/* enum op_buffer_state */
	struct op_slot slots[OP_BUFFER_SLOTS];
	uint8_t *_Atomic blocks[OP_BUFFER_BLOCKS]; /* memory of the chunks; NULL: not needed so far */
};

_Static_assert(offsetof(struct op_buffer, chunks_back) <= CACHE_LINE, "what every op uses of its buffer is one line");

/* Once, not on a thread of the application; false: no pthread key is left to see threads end. */
bool op_buffers_open(void (*wake_reader)(void));

/* ---- the thread; what every op runs is inline -------------------------------------------------- */

/* Eight of the 1,664 bytes of static TLS that glibc reserves for libraries loaded later; also at the definition. */
#define OP_BUFFER_STATIC_TLS __attribute__((tls_model("initial-exec"), visibility("hidden")))
extern __thread struct op_buffer *op_buffer_own OP_BUFFER_STATIC_TLS;

struct op_buffer *op_buffer_of_new_thread(void);
struct op_slot *op_buffer_take_returned_slot(struct op_buffer *buffer);
void op_buffer_return_slot(struct op_slot *slot);
bool op_buffer_enter_chunk(struct op_buffer *buffer, uint64_t tail);
uint64_t op_buffer_pad(struct op_buffer *buffer, uint64_t tail);
void op_buffer_wake(struct op_buffer *buffer, uint64_t tail);

/* The calling thread's; NULL: there is no room, and the loss is counted. */
static inline struct op_buffer *op_buffer_of_thread(void)
{
	struct op_buffer *buffer = op_buffer_own;

	return __builtin_expect(buffer != NULL, 1) ? buffer : op_buffer_of_new_thread();
}

static inline struct op_slot *op_buffer_take_slot(struct op_buffer *buffer)
{
	struct op_slot *slot;

	if (__builtin_expect(!buffer->free_slot, 0))
		return op_buffer_take_returned_slot(buffer);
	slot = &buffer->slots[buffer->free_slot - 1];
	buffer->free_slot = slot->next;
	return slot;
}

static inline void op_buffer_give_back_slot(struct op_slot *slot)
{
	struct op_buffer *buffer = slot->buffer;

	if (__builtin_expect(buffer != op_buffer_own, 0)) {
		op_buffer_return_slot(slot);
		return;
	}
	slot->next = buffer->free_slot;
	buffer->free_slot = (uint32_t)(slot - buffer->slots) + 1;
}

/* Memory that is written soon: another processor may have it, as the reader does. */
static inline void op_buffer_prefetch(const void *memory)
{
#if defined(__x86_64__)
	__asm__("prefetchw %0" : : "m"(*(const char *)memory));
#else
	__builtin_prefetch(memory, 1);
#endif
}

/* Room for an entry; NULL: full.  op_buffer_commit makes it visible to the reader. */
static inline void *op_buffer_reserve(struct op_buffer *buffer, uint32_t bytes, uint32_t kind)
{
	uint64_t tail = atomic_load_explicit(&buffer->tail, memory_order_relaxed);
	uint32_t offset = (uint32_t)(tail % OP_BUFFER_CHUNK_BYTES);
	struct op_entry *entry;

	if (__builtin_expect(offset && OP_BUFFER_CHUNK_BYTES - offset < bytes, 0)) {
		tail = op_buffer_pad(buffer, tail);
		offset = 0;
	}
	if (__builtin_expect(!offset, 0) && !op_buffer_enter_chunk(buffer, tail))
		return NULL;
	entry = (struct op_entry *)(buffer->chunk + offset);
	*entry = (struct op_entry){bytes, kind};
	return entry;
}

static inline void op_buffer_commit(struct op_buffer *buffer, uint32_t bytes)
{
	uint64_t tail = atomic_load_explicit(&buffer->tail, memory_order_relaxed) + bytes;

	atomic_store_explicit(&buffer->tail, tail, memory_order_release);
	op_buffer_prefetch(buffer->chunk + tail % OP_BUFFER_CHUNK_BYTES);
	if (__builtin_expect(tail >= buffer->wake_at, 0))
		op_buffer_wake(buffer, tail);
}

void op_buffer_lose(struct op_buffer *buffer);
void op_buffer_lose_inputs(struct op_buffer *buffer);

/* ---- the reader -------------------------------------------------------------------------------- */

uint32_t op_buffers_count(void);
struct op_buffer *op_buffer_at(uint32_t index);

/* The next entry, valid until the next call; NULL: none. */
const struct op_entry *op_buffer_next(struct op_buffer *buffer, uint64_t *position, uint64_t end);

/* The writer may use all up to there again. */
void op_buffer_read_to(struct op_buffer *buffer, uint64_t position);

/* Gives the buffer to another thread if its own has ended and nothing is left in it. */
void op_buffer_recycle(struct op_buffer *buffer);

/* Ops that had no room so far; *first_ns: the first of them since the last call, 0: none. */
uint64_t op_buffers_lost(uint64_t *first_ns);
uint64_t op_buffers_inputs_lost(void);

/* At the start of a session: discards the contents of the buffers. At its end: returns the memory. */
void op_buffers_empty(void);
void op_buffers_release(void);
