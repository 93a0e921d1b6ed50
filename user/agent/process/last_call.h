/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Detects the end of a process that runs no exit handlers: _exit(2), which Python's os._exit calls, and so every child
 * of multiprocessing that was forked. The entries through which libraries call it are redirected (import_table.h).
 */
#pragma once

/*
 * At the start of a session, and at each tick: examines newly loaded libraries. `before` runs on the thread that ends
 * the process, perhaps in a signal handler.
 */
void last_call_follow(void (*before)(void));

/* Restores every entry that still has gputrace's address. */
void last_call_end(void);
