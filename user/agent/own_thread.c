/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/own_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/fork_gate.h"
#include "agent/old_glibc.h"

static void *thread(void *run)
{
	fork_gate_open();
	fork_gate_enter();
	((void (*)(void))run)();
	fork_gate_leave();
	return NULL;
}

bool own_thread_start(void (*run)(void))
{
	sigset_t all, before;
	pthread_t id;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&id, NULL, thread, (void *)run);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return false;
	pthread_detach(id);
	return true;
}

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
