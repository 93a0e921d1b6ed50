/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals while outputs are being made, and until the command ends. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/threads/cancel.h"

/*
 * From here on SIGINT, SIGTERM and SIGHUP cancel once; the next one ends the program.  SIGPIPE and SIGXFSZ
 * become errors of write(2).
 */
void interrupt_watch(void);

/*
 * From here on signals (capture/signals.h) are passed on to the command, a child that only the caller waits for. While
 * it lives the first signal to end is only for the command, the second one also cancels, and none ends the program.
 * signalled: the first one has come already.
 */
void interrupt_pass_on(pid_t command, bool signalled);

/* Passes on no more. To be called when the command has ended, before it is waited for: then its pid is free. */
void interrupt_pass_on_end(void);

/* The cancel that a signal sets. */
const struct cancel *interrupt(void);
bool is_interrupted(void);
