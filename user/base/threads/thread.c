/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets attributes, and the signal mask, which a thread inherits from the thread that starts it. */
#include "base/threads/thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

/* pthread_create(3) says EAGAIN for both: there may be no more threads, and no memory for a stack. */
static int without_room(const pthread_attr_t *attributes)
{
	size_t bytes = 0;
	void *stack;

	(void)pthread_attr_getstacksize(attributes, &bytes);
	stack = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED)
		return ENOMEM;
	munmap(stack, bytes);
	return EAGAIN;
}

int thread_start(void *(*run)(void *), void *context, size_t stack_bytes, pthread_t *out)
{
	pthread_attr_t attributes;
	sigset_t every, old;
	pthread_t thread;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	if (!out)
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	error = pthread_create(out ? out : &thread, &attributes, run, context);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error == EAGAIN)
		error = without_room(&attributes);
	pthread_attr_destroy(&attributes);
	return -error;
}
