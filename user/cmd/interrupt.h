/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ctrl-C while outputs are being made. */
#ifndef GPUTRACE_INTERRUPT_H
#define GPUTRACE_INTERRUPT_H

#include <stdbool.h>

#include "base/cancel.h"

/*
 * From here on SIGINT, SIGTERM and SIGHUP cancel once; the next one ends the program.  SIGPIPE and SIGXFSZ
 * become errors of write(2).
 */
void interrupt_watch(void);

/* The cancel that a signal sets. */
const struct cancel *interrupt(void);
bool is_interrupted(void);

#endif
