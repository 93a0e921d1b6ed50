/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sigabbrev_np(3) needs glibc 2.32. */
#include "base/signal_name.h"

#include <signal.h>
#include <stddef.h>

const char *signal_name_of(unsigned number)
{
#define NAME(signal) [signal] = #signal
	static const char *const names[] = {
		NAME(SIGHUP),  NAME(SIGINT),  NAME(SIGQUIT), NAME(SIGILL),  NAME(SIGTRAP),   NAME(SIGABRT),
		NAME(SIGBUS),  NAME(SIGFPE),  NAME(SIGKILL), NAME(SIGUSR1), NAME(SIGSEGV),   NAME(SIGUSR2),
		NAME(SIGPIPE), NAME(SIGALRM), NAME(SIGTERM), NAME(SIGXCPU), NAME(SIGXFSZ),   NAME(SIGVTALRM),
		NAME(SIGPROF), NAME(SIGIO),   NAME(SIGPWR),  NAME(SIGSYS),  NAME(SIGSTKFLT),
	};
#undef NAME

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

const char *signal_name(unsigned number)
{
	const char *name = signal_name_of(number);

	return name ? name : "a signal";
}
