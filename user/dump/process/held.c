/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/held.h"

#include <string.h>

#include "dump/process/memory.h"

#define VALUES_MAX 64 /* per frame */
#define BLOCKS_MAX 20 /* CO_MAXBLOCKS (cpython/code.h) */
#define BLOCK_INTS 3  /* PyTryBlock: b_type, b_handler, b_level (cpython/frameobject.h) */
#define TABLE_MAX (64u << 10)
#define STACK_MAX (1u << 20) /* reach in a waiting thread's C stack, which has its wait_entry */
#define PARKING_SINCE (3u << 8 | 13)
/* threading.Lock contains a PyMutex, not a pointer to a lock (Modules/_threadmodule.c): in some builds of 3.13, and
 * always since 3.14 */
#define MUTEX_SINCE (3u << 8 | 13)
#define MUTEX_ALWAYS_SINCE (3u << 8 | 14)

/* Modules/_threadmodule.c, 3.6 to 3.15: in both kinds the lock, or the pointer to it, follows the PyObject. */
#define LOCK_AT 16
#define RLOCK_OWNER_AT 24
/* PyCFunctionObject.m_self, PyMethodObject.im_self (methodobject.h, classobject.h) */
#define METHOD_SELF_AT 24
#define CELL_VALUE_AT 16 /* PyCellObject.ob_ref (cellobject.h) */
#define TYPE_NAME_AT 24	 /* PyTypeObject.tp_name (cpython/object.h) */

static uint64_t untag_reference(uint64_t value)
{
	return value & ~7ULL; /* _PyStackRef, 3.14 and later */
}

/* ---- what a frame certainly keeps ---------------------------------------------------------------------------- */

/* A number in co_exceptiontable (Objects/exception_handling_notes.txt): six bits per byte, 0x40: more follow. */
static bool take_number(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 6 && *at < end; i++) {
		uint8_t byte = *(*at)++;

		*out = *out << 6 | (byte & 63);
		if (!(byte & 64))
			return true;
	}
	return false;
}

/* The stack depth of the handler that covers an instruction: that many values are on the stack now. */
static unsigned handled_depth(const uint8_t *at, size_t bytes, uint32_t instruction)
{
	const uint8_t *end = at + bytes;
	uint32_t start, size, target, depth;

	while (take_number(&at, end, &start) && take_number(&at, end, &size) && take_number(&at, end, &target) &&
	       take_number(&at, end, &depth))
		if (instruction - start < size)
			return depth >> 1;
	return 0;
}

/* Thousands of frames have the same code: what the search needs of it is read once. */
static const struct python_code *shape_of(struct python_look *look, uint64_t address)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	struct python_code *code = &look->codes.items[python_code(look, address) - look->codes.items];
	uint64_t table, bytes;

	if (code->has_shape)
		return code;
	code->has_shape = true;
	code->local_count = memory_int(look->pid, address + layout->code_local_count);
	code->stack_size = memory_int(look->pid, address + layout->code_stack_size);
	table = layout->walk == GPT_PY_WALK_OBJECTS ? 0 : memory_word(look->pid, address + layout->code_exceptions);
	bytes = table ? memory_word(look->pid, table + layout->var_size) : 0;
	if (!bytes || bytes > TABLE_MAX)
		return code;
	code->exceptions = xmalloc(bytes);
	if (memory_read(look->pid, table + layout->bytes_data, code->exceptions, bytes))
		code->exception_bytes = bytes;
	return code;
}

static unsigned depth_by_table(struct python_look *look, const struct raw_frame *raw)
{
	const struct python_code *code = shape_of(look, raw->code);

	return raw->lasti < 0 ? 0 : handled_depth(code->exceptions, code->exception_bytes, (uint32_t)raw->lasti / 2);
}

static unsigned depth_by_blocks(const struct python_look *look, const struct raw_frame *raw)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint32_t count = memory_int(look->pid, raw->frame + layout->frame_block_count), depth = 0;
	int32_t blocks[BLOCKS_MAX * BLOCK_INTS];

	if (!count || count > BLOCKS_MAX ||
	    !memory_read(look->pid, raw->frame + layout->frame_blocks, blocks, count * BLOCK_INTS * 4))
		return 0;
	for (uint32_t i = 0; i < count; i++)
		if (blocks[BLOCK_INTS * i + 2] > (int32_t)depth)
			depth = (uint32_t)blocks[BLOCK_INTS * i + 2];
	return depth;
}

static uint64_t values_address(struct python_look *look, const struct raw_frame *raw)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;

	if (layout->walk == GPT_PY_WALK_OBJECTS)
		return memory_word(look->pid, raw->frame + layout->frame_values);
	return raw->frame + layout->frame_localsplus + 8ULL * shape_of(look, raw->code)->local_count;
}

static void add_value(struct held_values *values, uint64_t address, struct held_value value)
{
	uint32_t *place = lookup_put(&values->places, 1, address, UINT32_MAX);

	value.next = *place;
	*place = (uint32_t)values->list.count;
	array_push(&values->list, value);
}

/* By the addresses that is_lock_at() accepts: thousands of threads may wait, and as many frames keep values. */
static void add_candidate(const struct python_look *look, struct held_values *values, struct held_value value)
{
	uint64_t lock;

	if (!value.object || value.object & 7)
		return;
	if (look->info.walk.layout.version >= MUTEX_SINCE)
		add_value(values, value.object + LOCK_AT, value);
	lock = look->info.walk.layout.version < MUTEX_ALWAYS_SINCE ? memory_word(look->pid, value.object + LOCK_AT) : 0;
	if (lock)
		add_value(values, lock, value);
}

static void read_values(struct python_look *look, struct held_values *values, unsigned thread, unsigned frame)
{
	const struct raw_frame *raw = &look->stacks[thread].frames[frame];
	bool blocks = look->info.walk.layout.walk == GPT_PY_WALK_OBJECTS;
	unsigned depth = blocks ? depth_by_blocks(look, raw) : depth_by_table(look, raw);
	uint64_t words[VALUES_MAX], at = depth ? values_address(look, raw) : 0;

	depth = depth < VALUES_MAX ? depth : VALUES_MAX;
	if (!at || !memory_read(look->pid, at, words, depth * 8ULL))
		return;
	for (unsigned i = depth; i-- > 0;) {
		struct held_value held = {.thread = thread, .frame = frame};
		uint64_t object = untag_reference(words[i]);

		if (!object)
			continue;
		held.object = memory_word(look->pid, object + METHOD_SELF_AT);
		add_candidate(look, values, held);
		held.object = object;
		add_candidate(look, values, held);
	}
}

static void read_all_values(struct python_look *look, const struct dump_process *process, struct held_values *values)
{
	if (values->read)
		return;
	values->read = true;
	for (unsigned i = process->thread_count; i-- > 0;) /* backwards: `next` leads from first to last */
		for (unsigned k = look->stacks[i].count; k-- > 0;)
			read_values(look, values, i, k);
}

/* ---- locks --------------------------------------------------------------------------------------------------- */

uint64_t held_parked_at(const struct python_look *look, const struct dump_thread *thread, uint64_t futex)
{
	/* struct wait_entry: park_arg, addr, then the semaphore, on the C stack of the thread */
	if (look->info.walk.layout.version < PARKING_SINCE || futex - thread->sp > STACK_MAX)
		return 0;
	return memory_word(look->pid, futex - 8);
}

static bool is_lock_at(const struct python_look *look, uint64_t object, uint64_t address)
{
	if (!object || object & 7)
		return false;
	if (look->info.walk.layout.version >= MUTEX_SINCE && object + LOCK_AT == address)
		return true;
	if (look->info.walk.layout.version >= MUTEX_ALWAYS_SINCE)
		return false;
	return memory_word(look->pid, object + LOCK_AT) == address;
}

/* By the name of its type: the memory of a freed lock may belong to another object by now. */
static bool is_lock(const struct python_look *look, uint64_t object, bool *reentrant)
{
	uint64_t type = memory_word(look->pid, object + look->info.walk.layout.object_type);
	uint64_t name = type ? memory_word(look->pid, type + TYPE_NAME_AT) : 0;
	char text[16] = "";

	if (!name || !memory_read(look->pid, name, text, sizeof("_thread.lock")))
		return false;
	*reentrant = !memcmp(text, "_thread.RLock", sizeof("_thread.lock"));
	return *reentrant || !memcmp(text, "_thread.lock", sizeof("_thread.lock"));
}

static bool is_lock_of(const struct python_look *look, uint64_t object, uint64_t address, bool *reentrant)
{
	return is_lock_at(look, object, address) && is_lock(look, object, reentrant);
}

/* SemLockObject (Modules/_multiprocessing/semaphore.c, 3.6 to 3.15): handle, last_tid, count, maxvalue, kind. */
#define SEMAPHORE_HANDLE_AT 16
#define SEMAPHORE_MOST_AT 36
#define SEMAPHORE_KIND_AT 40 /* 0: RECURSIVE_MUTEX, 1: SEMAPHORE */

/* The handle points to a sem_t, at whose start glibc waits (struct new_sem, 64 bits). */
static bool is_semaphore_of(const struct python_look *look, uint64_t object, uint64_t address, bool *reentrant)
{
	static const char wanted[] = "_multiprocessing.SemLock";
	uint64_t type, name;
	char text[sizeof(wanted)];

	if (!object || object & 7 || memory_word(look->pid, object + SEMAPHORE_HANDLE_AT) != address)
		return false;
	type = memory_word(look->pid, object + look->info.walk.layout.object_type);
	name = type ? memory_word(look->pid, type + TYPE_NAME_AT) : 0;
	*reentrant = !memory_int(look->pid, object + SEMAPHORE_KIND_AT);
	return name && memory_read(look->pid, name, text, sizeof(text)) && !memcmp(text, wanted, sizeof(wanted));
}

/*
 * Searches the waiting frame's variables and its whole stack, also above the current top, for the object that `is` for
 * the address at which the thread waits.
 */
static uint64_t find_object(struct python_look *look, const struct raw_frame *raw, uint64_t address,
			    bool (*is)(const struct python_look *, uint64_t object, uint64_t address, bool *reentrant),
			    bool *reentrant)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t words[2 * VALUES_MAX], first = raw->frame + layout->frame_localsplus;
	uint64_t values = values_address(look, raw);
	uint64_t count = (values - first) / 8 + shape_of(look, raw->code)->stack_size;

	if (!values || values < first)
		return 0;
	count = count < 2 * VALUES_MAX ? count : 2 * VALUES_MAX;
	if (!memory_read(look->pid, first, words, count * 8))
		return 0;
	for (size_t i = count; i-- > 0;) {
		uint64_t object = untag_reference(words[i]);
		uint64_t candidates[] = {object, object ? memory_word(look->pid, object + METHOD_SELF_AT) : 0,
					 object ? memory_word(look->pid, object + CELL_VALUE_AT) : 0};

		for (size_t k = 0; k < sizeof(candidates) / sizeof(candidates[0]); k++)
			if (is(look, candidates[k], address, reentrant))
				return candidates[k];
	}
	return 0;
}

static void find_owner(const struct python_look *look, const struct dump_process *process, struct python_lock *lock)
{
	uint64_t owner = memory_word(look->pid, lock->object + RLOCK_OWNER_AT);

	for (unsigned i = 0; i < process->thread_count && owner && lock->owner == NO_THREAD; i++)
		if (process->threads[i].tstate && process->threads[i].pthread == owner)
			lock->owner = i;
	lock->owner_gone = owner && lock->owner == NO_THREAD;
}

static uint32_t first_held(const struct python_look *look, const struct held_values *values, uint64_t address)
{
	const uint32_t *place = lookup_get(&values->places, 1, address);
	uint32_t at = place ? *place : UINT32_MAX;

	while (at != UINT32_MAX && !is_lock_at(look, values->list.items[at].object, address))
		at = values->list.items[at].next;
	return at;
}

void held_find(struct python_look *look, const struct dump_process *process, struct held_values *values, unsigned index,
	       uint64_t address, struct python_lock *out)
{
	const struct raw_stack *stack = &look->stacks[index];
	uint32_t first;

	*out = (struct python_lock){.owner = NO_THREAD, .owner_frame = NO_THREAD};
	read_all_values(look, process, values);
	first = first_held(look, values, address);
	if (first != UINT32_MAX) {
		out->object = values->list.items[first].object;
		(void)is_lock(look, out->object, &out->reentrant);
	} else if (stack->count) {
		out->object = find_object(look, &stack->frames[0], address, is_lock_of, &out->reentrant);
	}
	if (out->object && out->reentrant)
		find_owner(look, process, out);
	for (uint32_t i = first; i != UINT32_MAX; i = values->list.items[i].next) {
		const struct held_value *held = &values->list.items[i];

		if (!is_lock_at(look, held->object, address))
			continue;
		out->object = held->object;
		if (out->owner != NO_THREAD && out->owner != held->thread)
			continue; /* an RLock names its owner itself */
		out->owner = held->thread;
		out->owner_frame = held->frame;
		if (held->thread != index)
			return;
	}
}

const char *held_semaphore(struct python_look *look, unsigned index, uint64_t futex)
{
	const struct raw_stack *stack = &look->stacks[index];
	bool reentrant = false;
	uint64_t object = stack->count ? find_object(look, &stack->frames[0], futex, is_semaphore_of, &reentrant) : 0;

	if (!object)
		return NULL;
	if (reentrant)
		return "RLock";
	return memory_int(look->pid, object + SEMAPHORE_MOST_AT) == 1 ? "Lock" : "Semaphore";
}

uint64_t held_first_local(const struct python_look *look, const struct raw_frame *frame)
{
	return untag_reference(memory_word(look->pid, frame->frame + look->info.walk.layout.frame_localsplus));
}
