/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One flag and its handler. */
#include "cmd/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile int interrupted;

/* A signal that comes just before a write begins does not end that: another follows each second. */
static void on_alarm(int signal_number)
{
	alarm(1);
}

static void on_signal(int signal_number)
{
	interrupted = 1;
	alarm(1);
}

void interrupt_watch(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	/* Without SA_RESTART: a write to a pipe that nobody reads has to end. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	struct sigaction again = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &again, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;

		/* What nohup(1) or a shell's background job ignores stays ignored. */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

const volatile int *interrupt_flag(void)
{
	return &interrupted;
}
