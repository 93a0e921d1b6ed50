/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * handles_signals LIBCUDA: handles every signal that is ignored by default, and waits in epoll_wait.  The kernel ends
 * that call with EINTR even if a tracer only stops the thread.  At the end of standard input: "interrupted N".
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define THREADS 4

static _Atomic unsigned interrupted;

static void handler(int signal)
{
}

static void *wait_for_input(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, 0, &event);
	while (epoll_wait(fd, &event, 1, -1) < 0 && errno == EINTR)
		interrupted++;
	return unused;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	pthread_t threads[THREADS];

	if (argc != 2 || !dlopen(argv[1], RTLD_NOW))
		return 1;
	sigaction(SIGURG, &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
	sigaction(SIGCHLD, &action, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, wait_for_input, NULL);
	puts("ready");
	fflush(stdout);
	wait_for_input(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("interrupted %u\n", interrupted);
	return 0;
}
