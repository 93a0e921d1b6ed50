/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ctrl-C while outputs are being made. */
#ifndef GPUTRACE_INTERRUPT_H
#define GPUTRACE_INTERRUPT_H

/*
 * From here on SIGINT, SIGTERM and SIGHUP raise the flag once; the next one ends the program.  SIGPIPE and SIGXFSZ
 * become errors of write(2).
 */
void interrupt_watch(void);

/* Not 0 after a signal. */
const volatile int *interrupt_flag(void);

#endif
