/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/fork_gate.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/clock.h"

/*
 * A thread of the agent is inside for microseconds. One that waits for the forking thread itself, for example while
 * that is inside dlopen, holds no lock, and would never be released.
 */
#define FORK_WAITS_NS 1000000000u
/* A program that forks all the time lets each thread of the agent have its turn between two forks. */
#define TURN_WAITS_NS 50000000u
#define REGISTERING_PAUSE_NS 1000000u

/* How often this thread has entered: a library that it calls may fork. */
static __thread uint32_t own_inside __attribute__((tls_model("initial-exec")));

enum { CLOSED, REGISTERING, OPEN };

static struct {
	_Atomic uint32_t inside;  /* futex: threads */
	_Atomic uint32_t forking; /* futex: forks that are under way */
	_Atomic uint32_t waiting; /* futex: threads that a fork keeps outside */
	_Atomic uint32_t unsure;  /* futex: threads inside that may wait for ever */
	_Atomic bool given_up;	  /* a fork has waited for the unsure threads in vain */
	_Atomic uint32_t state;
	void (*_Atomic children[FORK_GATE_CHILDREN])(void);
	_Atomic uint32_t child_count;
} gate;

void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void futex_set(_Atomic uint32_t *word)
{
	atomic_store(word, 1);
	futex_wake(word);
}

static void wait_until(_Atomic uint32_t *word, uint32_t wanted, uint64_t ns)
{
	uint64_t end_ns = clock_now_ns() + ns;
	uint32_t value;

	while ((value = atomic_load(word)) != wanted && clock_now_ns() < end_ns)
		futex_wait(word, value, ns / 10);
}

static void before_fork(void)
{
	if (!own_inside)
		wait_until(&gate.waiting, 0, TURN_WAITS_NS);
	atomic_fetch_add(&gate.forking, 1);
	wait_until(&gate.inside, own_inside, FORK_WAITS_NS);
	if (atomic_load(&gate.given_up))
		return;
	wait_until(&gate.unsure, 0, FORK_WAITS_NS);
	atomic_store(&gate.given_up, atomic_load(&gate.unsure) != 0);
}

static void after_fork(void)
{
	if (atomic_fetch_sub(&gate.forking, 1) == 1)
		futex_wake(&gate.forking);
}

static void in_child(void)
{
	uint32_t count = atomic_load(&gate.child_count), i;
	void (*forked)(void);

	atomic_store(&gate.inside, own_inside);
	atomic_store(&gate.forking, 0);
	atomic_store(&gate.waiting, 0);
	atomic_store(&gate.unsure, 0);
	atomic_store(&gate.given_up, false);
	for (i = 0; i < count && i < FORK_GATE_CHILDREN; i++) {
		forked = atomic_load(&gate.children[i]);
		if (forked)
			forked();
	}
}

void fork_gate_open(void)
{
	uint32_t closed = CLOSED;

	if (atomic_compare_exchange_strong(&gate.state, &closed, REGISTERING)) {
		pthread_atfork(before_fork, after_fork, in_child);
		atomic_store(&gate.state, OPEN);
	}
	while (atomic_load(&gate.state) != OPEN) /* another thread's registration may be waiting for a fork */
		nanosleep(&(struct timespec){.tv_nsec = REGISTERING_PAUSE_NS}, NULL);
}

void fork_gate_in_child(void (*forked)(void))
{
	uint32_t index = atomic_fetch_add(&gate.child_count, 1);

	if (index < FORK_GATE_CHILDREN)
		atomic_store(&gate.children[index], forked);
}

static void count_out(void)
{
	atomic_fetch_sub(&gate.inside, 1);
	if (atomic_load(&gate.forking))
		futex_wake(&gate.inside);
}

void fork_gate_enter(void)
{
	bool waits = false;
	uint32_t forking;

	for (;;) {
		atomic_fetch_add(&gate.inside, 1);
		forking = atomic_load(&gate.forking);
		if (!forking)
			break;
		count_out();
		if (!waits)
			atomic_fetch_add(&gate.waiting, 1);
		waits = true;
		futex_wait(&gate.forking, forking, FORK_WAITS_NS / 10);
	}
	own_inside++;
	if (waits && atomic_fetch_sub(&gate.waiting, 1) == 1)
		futex_wake(&gate.waiting);
}

void fork_gate_leave(void)
{
	own_inside--;
	count_out();
}

void fork_gate_begin_unsure(void)
{
	atomic_fetch_add(&gate.unsure, 1);
	fork_gate_leave();
}

void fork_gate_end_unsure(void)
{
	atomic_fetch_sub(&gate.unsure, 1);
	if (atomic_load(&gate.forking))
		futex_wake(&gate.unsure);
	fork_gate_enter();
}

void fork_gate_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	fork_gate_leave();
	futex_wait(word, value, ns);
	fork_gate_enter();
}

void fork_gate_pause(uint64_t ns)
{
	fork_gate_leave();
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
	fork_gate_enter();
}
