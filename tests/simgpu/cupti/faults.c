/*
 * faults.c: optional faults that users of the real CUPTI have seen: kernel records without times, GPU times by the
 * wrong clock, enabling that takes long, a count that is not available. README.md says where each was seen.
 */
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "stand-in.h"

#define GATE_LOOK_NS 1000000

static _Atomic uint64_t timed;	 /* kernel records since a client limited the pool */
static _Atomic unsigned falling; /* next GPU records that will have CUPTI's own clock */

unsigned sim_clocks_registered; /* read by test programs */

enum fault_times faults_of_kernel(void)
{
	uint64_t limit = sim_options()->pool_records, number;

	if (!limit || !pool_is_limited())
		return TIMES_RIGHT;
	number = atomic_fetch_add(&timed, 1);
	if (number < limit)
		return TIMES_RIGHT;
	return number % 2 ? TIMES_NONE : TIMES_BACKWARDS;
}

void faults_clock_registered(void)
{
	unsigned before = __atomic_fetch_add(&sim_clocks_registered, 1, __ATOMIC_SEQ_CST);

	if (sim_options()->clock_falls)
		atomic_store(&falling, before);
}

bool faults_clock_falls(void)
{
	unsigned left = atomic_load(&falling);

	while (left && !atomic_compare_exchange_weak(&falling, &left, left - 1))
		;
	return left != 0;
}

static __thread bool any_context;

static void note_context(CUcontext context)
{
	any_context |= context != NULL;
}

static void wait_for(const char *gate)
{
	while (access(gate, F_OK) != 0)
		nanosleep(&(struct timespec){.tv_nsec = GATE_LOOK_NS}, NULL);
}

void faults_enable(uint32_t kind)
{
	const char *gate = sim_options()->enable_gate;

	if (!gate || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		return;
	any_context = false;
	sim_for_each_context(note_context);
	if (any_context)
		wait_for(gate);
}

void faults_enable_callback(uint32_t domain, uint32_t cbid)
{
	const char *gate = sim_options()->callback_gate;

	if (gate && domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
		wait_for(gate);
}

bool faults_dropped(void)
{
	return sim_options()->dropped_fails;
}
