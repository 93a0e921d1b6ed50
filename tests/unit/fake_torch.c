/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libtorch_cpu.so for test_agent_ops: the functions that an observer looks for, under their C++ names. Built once for
 * each FAKE_VERSION; FAKE_SHIFT moves a field from its place in that version, FAKE_SET_ASYNC renames a function.
 */
#include "fake_torch.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef FAKE_SHIFT
#define FAKE_SHIFT 0
#endif
#ifndef FAKE_SET_ASYNC
#define FAKE_SET_ASYNC "_ZN2at14RecordFunction9_setAsyncEv"
#endif
#define THREAD 88
#define SCOPE 96
#define SEQUENCE (200 + FAKE_SHIFT)
#define INPUTS 208
#define FORWARD_THREAD 304
#define HANDLE 312
#define ASYNC 320
#define DEBUG_HANDLE 328

struct callback {
	void **(*start)(void **result, const void *op);
	void (*end)(const void *op, void *context);
	double probability;
	bool scopes[10];
	bool needs_inputs, needs_outputs, needs_ids;
};

static struct callback callback;
static unsigned callbacks;
static bool held;
static _Atomic bool slow, taken; /* slow: the list is blocked until release; taken: remove_callback has it */
static _Atomic uint64_t last_thread;

#define EXPORT(name) __asm__(name) __attribute__((visibility("default")))

uint64_t version(void) EXPORT("aoti_torch_abi_version");
uint64_t add(struct callback new) EXPORT("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
void remove_callback(uint64_t handle) EXPORT("_ZN2at14removeCallbackEm");
const char *name_of(const struct fake_op *op) EXPORT("_ZNK2at14RecordFunction4nameEv");
uint64_t thread(void) EXPORT("_ZN2at14RecordFunction15currentThreadIdEv");
void construct(uint8_t *op, uint8_t scope) EXPORT("_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
void destroy(uint8_t *op) EXPORT("_ZN2at14RecordFunctionD1Ev");
void set_async(uint8_t *op) EXPORT(FAKE_SET_ASYNC);

uint64_t version(void)
{
	return FAKE_VERSION;
}

uint64_t add(struct callback new)
{
	callback = new;
	callbacks++;
	return 7;
}

static void stop_list(void)
{
	held = true;
}

static void slow_list(void)
{
	slow = true;
}

static bool list_is_held(void)
{
	return taken;
}

static void release_slow(void)
{
	slow = false;
}

void remove_callback(uint64_t handle)
{
	bool was_slow = slow;

	taken = true;
	while (held)
		pause();
	while (slow)
		sched_yield();
	if (was_slow)
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	callbacks -= handle == 7;
	taken = false;
}

const char *name_of(const struct fake_op *op)
{
	return op->bytes[0] ? op->name : "";
}

uint64_t thread(void)
{
	static __thread uint64_t number;

	if (!number)
		number = atomic_fetch_add(&last_thread, 1) + 1;
	return number;
}

static void put_member(uint8_t *op, unsigned offset, uint64_t value)
{
	memcpy(op + offset, &value, sizeof(value));
}

void construct(uint8_t *op, uint8_t scope)
{
	memset(op, 0, FAKE_OP_BYTES);
	put_member(op, THREAD, thread());
	op[SCOPE] = scope;
	put_member(op, SEQUENCE, UINT64_MAX);
	put_member(op, DEBUG_HANDLE, UINT64_MAX);
}

void destroy(uint8_t *op)
{
	(void)op;
}

void set_async(uint8_t *op)
{
	op[ASYNC] = 1;
}

/* ---- interface for the test -------------------------------------------------------------------- */

static void begin_op(struct fake_op *op, const char *name, uint8_t scope, int64_t sequence, uint64_t forward_thread)
{
	const struct callback at_begin = callback; /* an op keeps the callbacks registered at its start */
	bool seen = callbacks && callback.scopes[scope];

	construct(op->bytes, scope);
	op->bytes[0] = 1;
	op->name = name;
	op->context = NULL;
	op->end = seen ? at_begin.end : NULL;
	put_member(op->bytes, SEQUENCE, (uint64_t)sequence);
	put_member(op->bytes, FORWARD_THREAD, forward_thread);
	if (seen && at_begin.start(&op->context, op) != &op->context)
		__builtin_trap();
}

static void finish_op(struct fake_op *op)
{
	if (op->end)
		op->end(op, op->context);
	if (op->context) /* delete context: the second of its virtual functions */
		(*(void (***)(void *))op->context)[1](op->context);
}

static void make_async(struct fake_op *op)
{
	set_async(op->bytes);
}

static unsigned count_callbacks(void)
{
	return callbacks;
}

extern const struct fake_torch fake_torch;
const struct fake_torch fake_torch = {begin_op,	 finish_op, make_async,	  count_callbacks,
				      stop_list, slow_list, list_is_held, release_slow};
