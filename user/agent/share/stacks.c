/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The walker of bpf/, inside the process that it walks. Maps are lock-free tables here: each word is independent, and
 * what two threads write at once is at worst forgotten and sent again.
 */
#include "agent/share/stacks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <gputrace/record.h>

#include "agent/process/clock.h"
#include "agent/share/control.h"
#include "agent/share/own_memory.h"
#include "agent/share/ring.h"
#include "agent/process/thread_id.h"

#define GPT_USER_SPACE
#include "common.bpf.h"

#define WAYS 4u			  /* slots that a key may be in */
#define STACKS (1u << 16)	  /* stacks remembered; all of these are powers of two */
#define CODES (1u << 14)	  /* the same */
#define MARKS (1u << 17)	  /* as GPT_CODE_MARKS */
#define CODE_MARKS_AGE (1u << 14) /* as GPT_CODE_MARKS_AGE */
#define SLOTS 32u		  /* threads that walk concurrently */
#define TP_DEALLOC 48u		  /* in a PyTypeObject: Include/cpython/object.h, the same from 3.6 to 3.15 */

struct tables {
	uint64_t stacks[STACKS], codes[CODES];
	uint32_t marks[MARKS];
};

static struct tables *tables;
static uint32_t code_age = 1, code_descriptions;

/* The calling thread. */
static __thread struct {
	uint64_t program;	   /* the process's when the thread was announced, 0: not announced */
	uint64_t tstate, searched; /* gpt_thread_state */
	struct own_pages *pages;   /* of the walk in progress, NULL: none */
} self __attribute__((tls_model("initial-exec")));

static struct gpt_process_state own_process;

#define RUNTIME_BYTES 4096u /* of _PyRuntime, which lies in a library that is never unloaded */

/*
 * When the interpreter ends it frees the states of all threads but the first, perhaps while such a thread is in a CUDA
 * call. The first thread's state stays valid to the end.
 */
static long memory_read(void *to, uint64_t bytes, uint64_t from)
{
	bool kept = (thread_id() == own_memory_pid() && !own_process.several) ||
		    from - own_process.python.runtime < RUNTIME_BYTES;

	if (kept)
		return own_memory_read_kept(to, bytes, from);
	return self.pages ? own_memory_read_paged(self.pages, to, bytes, from) : own_memory_read(to, bytes, from);
}

static void *record_reserve(uint64_t bytes)
{
	return ring_reserve(bytes);
}

static void record_submit(void *record)
{
	ring_submit(record);
}

static void record_discard(void *record)
{
	ring_discard(record);
}

static long record_send(const void *record, uint64_t bytes)
{
	void *room = ring_reserve(bytes);

	if (!room)
		return -1;
	memcpy(room, record, bytes);
	ring_submit(room);
	return 0;
}

static int ring_is_short(void)
{
	return ring_is_nearly_full();
}

static void count_one(uint32_t which)
{
	ring_count(which);
}

static uint64_t own_thread_pointer(void)
{
	return (uint64_t)pthread_self();
}

/* The kernel places these bytes just above the first thread's stack. */
static uint64_t first_stack_end(void)
{
	return getauxval(AT_RANDOM);
}

/* ---- what was sent ------------------------------------------------------------------------------------------ */

static uint64_t *set_of(uint64_t *table, uint32_t size, uint64_t key)
{
	return table + (key * 0x9e3779b97f4a7c15ull >> 32 & (size - 1) & ~(WAYS - 1));
}

static bool is_in(const uint64_t *set, uint64_t key)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (__atomic_load_n(&set[i], __ATOMIC_RELAXED) == key)
			return true;
	return false;
}

static void put_in(uint64_t *set, uint64_t key)
{
	unsigned way = (unsigned)(key >> 7) & (WAYS - 1);

	if (is_in(set, key))
		return;
	for (unsigned i = 0; i < WAYS; i++)
		if (!__atomic_load_n(&set[i], __ATOMIC_RELAXED)) {
			way = i;
			break;
		}
	__atomic_store_n(&set[way], key, __ATOMIC_RELAXED);
}

static bool stack_is_known(uint64_t id)
{
	return is_in(set_of(tables->stacks, STACKS, id), id);
}

static void stack_remember(const struct gpt_pystack *stack)
{
	put_in(set_of(tables->stacks, STACKS, stack->id), stack->id);
}

/* Never 0. */
static uint64_t code_word(const struct code_key *key)
{
	uint64_t word = (key->code ^ key->program * 0xc2b2ae3d27d4eb4full) * 0xff51afd7ed558ccdull;

	return ((word ^ word >> 32) + key->age * 0x9e3779b97f4a7c15ull) | 1;
}

static bool code_is_known(const struct code_key *key)
{
	uint64_t word = code_word(key);

	return is_in(set_of(tables->codes, CODES, word), word);
}

static void code_remember(const struct code_key *key)
{
	uint64_t word = code_word(key);

	put_in(set_of(tables->codes, CODES, word), word);
}

/* In one's own memory nothing is absent for a moment. */
static bool code_read_again(const struct code_key *key)
{
	(void)key;
	count_one(GPT_COUNTER_CODE_UNREAD);
	return false;
}

static void code_forget(const struct code_key *key)
{
	uint64_t word = code_word(key), *set = set_of(tables->codes, CODES, word);

	for (unsigned i = 0; i < WAYS; i++)
		if (__atomic_load_n(&set[i], __ATOMIC_RELAXED) == word)
			__atomic_store_n(&set[i], 0, __ATOMIC_RELAXED);
}

static uint32_t *code_mark(uint64_t code, uint64_t program)
{
	return &tables->marks[(code ^ program) * 0x9e3779b97f4a7c15ull >> 32 & (MARKS - 1)];
}

#include "python.bpf.h"

/* ---- the process's Python ------------------------------------------------------------------------------------- */

static struct walk_slot *slots;
static struct own_pages *pages; /* one for each slot */

static struct {
	uint32_t pid;			     /* the process's id as the collector sees it */
	uint32_t updates;		     /* the latest one taken over */
	uint64_t head;			     /* head of the list of interpreters, as last seen; 0: none */
	atomic_flag busy;		     /* a thread takes one over */
	void (*_Atomic dealloc)(void *code); /* the tp_dealloc that code_dealloc replaced; NULL: none */
} python = {.busy = ATOMIC_FLAG_INIT};

/* Makes stacks get new ids and all code objects be described again. */
static void forget_descriptions(void)
{
	own_process.generation = clock_now_ns();
	__atomic_fetch_add(&code_age, 1, __ATOMIC_RELAXED);
}

/* Replaces PyCode_Type.tp_dealloc: afterwards the address may belong to another code object. */
static void code_dealloc(void *object)
{
	struct code_key key = {.code = (uint64_t)object, .pid = python.pid, .age = code_age};
	struct gpt_code_dead *record;

	if (own_process.module_code == key.code)
		own_process.module_code = 0;
	if (share_listener() && ring_reader() && code_was_marked(key.code, own_process.program)) {
		key.program = own_process.program;
		code_forget(&key);
		if (own_process.shim_code == key.code)
			own_process.shim_code = 0;
		__atomic_fetch_add(&own_process.generation, 1, __ATOMIC_RELAXED);
		record = ring_reserve(sizeof(*record));
		if (record) {
			record_begin(&record->hdr, sizeof(*record), GPT_CODE_DEAD);
			record->code = key.code;
			record->time_ns = clock_now_ns();
			record->pid = python.pid;
			record->pad = 0;
			ring_submit(record);
		} else {
			ring_count(GPT_COUNTER_OTHER_LOST);
		}
	}
	atomic_load (&python.dealloc)(object);
}

/* False: the death of code objects cannot be seen. */
static bool watch_deaths(uint64_t code_type)
{
	void *_Atomic *at = (void *_Atomic *)(code_type + TP_DEALLOC);
	void *before = NULL;

	if (!code_type || (uint64_t)at % sizeof(void *) || own_memory_read(&before, sizeof(before), (uint64_t)at) ||
	    !before)
		return false;
	if (before == (void *)code_dealloc)
		return true;
	if (!own_memory_is_writable((uint64_t)at))
		return false;
	atomic_store(&python.dealloc, (void (*)(void *))before);
	atomic_store(at, (void *)code_dealloc);
	return true;
}

/* True if the copy is consistent: the collector may write meanwhile. */
static bool copy_update(const volatile struct gpt_share_reader *reader, uint32_t updates, struct gpt_share_reader *copy)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	copy->python_state = reader->python_state;
	copy->several = reader->several;
	copy->module_code = reader->module_code;
	copy->module_generation = reader->module_generation;
	memcpy(&copy->python, (const void *)&reader->python, sizeof(copy->python));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return reader->updates == updates;
}

static void take_update(const volatile struct gpt_share_reader *reader)
{
	uint32_t updates = __atomic_load_n(&reader->updates, __ATOMIC_ACQUIRE);
	struct gpt_share_reader copy;
	bool unsure;

	if (updates == python.updates || updates & 1 || atomic_flag_test_and_set(&python.busy))
		return;
	if (copy_update(reader, updates, &copy)) {
		unsure = !watch_deaths(copy.python.code_type);
		own_process.python = copy.python;
		own_process.several |= copy.several;
		own_process.module_generation = copy.module_generation;
		own_process.module_code = unsure ? 0 : copy.module_code;
		if (own_process.unsure && !unsure)
			forget_descriptions();
		own_process.unsure = unsure;
		__atomic_store_n(&own_process.python_state, copy.python_state, __ATOMIC_RELEASE);
		python.updates = updates;
	}
	atomic_flag_clear(&python.busy);
}

/* A new interpreter becomes the head of the list; from then on a thread may have several thread states. */
static void watch_interpreters(void)
{
	const struct gpt_pylayout *layout = &own_process.python.layout;
	uint64_t head = 0;

	if (own_process.several ||
	    own_memory_read_kept(&head, sizeof(head), own_process.python.runtime + layout->runtime_interpreters_head))
		return;
	if (head && head != python.head && python.head)
		own_process.several = 1;
	python.head = head;
}

#define WALKER_BYTES (sizeof(*tables) + SLOTS * (sizeof(*slots) + sizeof(*pages)))

bool stacks_open(uint32_t pid)
{
	uint8_t *memory = (uint8_t *)slots;

	if (!memory)
		memory = mmap(NULL, WALKER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			      -1, 0);
	if (memory == MAP_FAILED)
		return false;
	slots = (struct walk_slot *)memory;
	pages = (struct own_pages *)(memory + SLOTS * sizeof(*slots));
	tables = (struct tables *)(memory + SLOTS * (sizeof(*slots) + sizeof(*pages)));
	stacks_release();
	python.pid = pid;
	python.updates = 0;
	python.head = 0;
	own_process.python_state = GPT_STACK_UNKNOWN_LAYOUT;
	own_process.unsure = 1;
	own_process.program = own_process.generation = clock_now_ns();
	return true;
}

/* The detour in tp_dealloc stays for the child's code objects. */
void stacks_forget(void)
{
	memset(&self, 0, sizeof(self));
	memset(&own_process, 0, sizeof(own_process));
	if (tables)
		munmap((void *)slots, WALKER_BYTES);
	slots = NULL;
	tables = NULL;
	python.updates = 0;
	python.head = 0;
	atomic_flag_clear(&python.busy);
}

void stacks_release(void)
{
	if (tables)
		madvise(slots, WALKER_BYTES, MADV_DONTNEED);
}

uint32_t stacks_pid(void)
{
	return python.pid;
}

/* ---- a thread ------------------------------------------------------------------------------------------------- */

void stacks_announce_thread(void)
{
	struct gpt_thread *record;

	if (self.program == own_process.program)
		return;
	self.program = own_process.program;
	self.tstate = self.searched = 0;
	record = ring_reserve(sizeof(*record));
	if (!record) {
		ring_count(GPT_COUNTER_OTHER_LOST);
		return;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_THREAD);
	record->time_ns = clock_now_ns();
	record->pid = python.pid;
	record->tid = record->own_tid = thread_id();
	record->pointer = (uint32_t)pthread_self();
	memset(record->comm, 0, sizeof(record->comm));
	prctl(PR_GET_NAME, record->comm);
	ring_submit(record);
}

static struct walk_slot *slot_acquire(void)
{
	uint32_t first = thread_number();

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct walk_slot *slot = &slots[(first + i) % SLOTS];
		__u64 free = 0;

		if (__atomic_compare_exchange_n(&slot->owned, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			slot->pid = python.pid;
			return slot;
		}
	}
	return NULL;
}

static void slot_release(struct walk_slot *slot)
{
	__atomic_store_n(&slot->owned, 0, __ATOMIC_RELEASE);
}

void stacks_look(void)
{
	take_update(ring_reader());
}

uint32_t stacks_take(uint64_t *id, uint32_t lost)
{
	struct gpt_thread_state thread = {.tstate = self.tstate,
					  .searched = self.searched,
					  .pthread = (uint64_t)pthread_self(),
					  .pid = python.pid,
					  .program = own_process.program};
	struct walk_slot *slot;
	__u64 stack = 0;
	long state;

	*id = 0;
	take_update(ring_reader());
	if (__atomic_load_n(&own_process.python_state, __ATOMIC_ACQUIRE) != GPT_STACK_OK)
		return own_process.python_state;
	if (SHARE_WANTS(detail_level) > GPT_DETAIL_STACKS)
		return GPT_STACK_LOWERED;
	watch_interpreters();
	slot = slot_acquire();
	if (!slot) {
		ring_count(lost);
		return GPT_STACK_LOST;
	}
	self.pages = &pages[slot - slots];
	own_pages_begin(self.pages, thread_number());
	state = python_stack(&own_process, &thread, slot, (uint64_t)__builtin_frame_address(0), &stack);
	self.pages = NULL;
	slot_release(slot);
	self.tstate = thread.tstate;
	self.searched = thread.searched;
	if (state == GPT_STACK_UNREADABLE && own_memory_is_filtered()) {
		ring_count(GPT_COUNTER_STACKS_FILTERED);
		return GPT_STACK_FILTERED;
	}
	*id = stack;
	return (uint32_t)state;
}
