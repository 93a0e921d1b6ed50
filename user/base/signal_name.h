/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* "SIGKILL", of a signal that ends a process; NULL: it has no name, as a real-time signal. */
const char *signal_name_of(unsigned number);

/* The same; "a signal" where that is NULL. */
const char *signal_name(unsigned number);
