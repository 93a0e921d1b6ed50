/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The session of PyTorch's ops: a thread of its own that waits for a PyTorch, observes its ops as long as a listener
 * wants them, and sends them. It uses neither CUDA nor CUPTI.
 */
#pragma once

/* Starts the session if it is wanted and not running; returns at once; on any thread. */
void ops_start(void);
