/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library that forks in a loop.  Before each fork its handler takes a lock, which another thread holds most of the
 * time while it waits in poll.  glibc before 2.36 holds a lock of its own meanwhile.  For any glibc from 2.17 on.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned forks;

static void take(void)
{
	pthread_mutex_lock(&lock);
}

static void give(void)
{
	pthread_mutex_unlock(&lock);
}

static void *wait_with_lock(void *unused)
{
	for (;;) {
		take();
		poll(NULL, 0, 200);
		give();
		usleep(100); /* lets the other thread take it */
	}
	return unused;
}

static void *fork_on(void *unused)
{
	for (;;) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		forks++;
	}
	return unused;
}

/* Waits for five more forks after each line of standard input. */
int fork_locks(void)
{
	pthread_t threads[2];
	unsigned before;
	char byte;

	pthread_atfork(take, give, give);
	pthread_create(&threads[0], NULL, wait_with_lock, NULL);
	pthread_create(&threads[1], NULL, fork_on, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		alarm(20); /* kills a process that hangs */
		for (before = forks; forks < before + 5;)
			usleep(1000);
		alarm(0);
		puts("goes on");
		fflush(stdout);
	}
	return 0;
}
