/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A flag, a descriptor to wait for, and the signal handler that sets both. */
#include "cmd/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int own; /* lock-free, as a handler needs it */
static atomic_int *interrupted = &own;
static struct cancel cancel = {.flag = &own, .fd = -1};

static void on_signal(int signal_number)
{
	int error = errno;
	uint64_t one = 1;

	atomic_store(interrupted, 1);
	(void)!write(cancel.fd, &one, sizeof(one));
	errno = error;
}

/* A signal may reach only one of gputrace's processes: those that it starts later share the flag, and the fd. */
static void share_flag(void)
{
	atomic_int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared != MAP_FAILED)
		cancel.flag = interrupted = shared;
}

void interrupt_watch(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

	if (cancel.fd >= 0)
		return;
	share_flag();
	/* Never read, so it stays readable. */
	cancel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;

		/* What nohup(1) or a shell's background job ignores stays ignored. */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

const struct cancel *interrupt(void)
{
	return &cancel;
}

bool is_interrupted(void)
{
	return is_cancelled(&cancel);
}
