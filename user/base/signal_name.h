/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef GPUTRACE_SIGNAL_NAME_H
#define GPUTRACE_SIGNAL_NAME_H

/* "SIGKILL"; "a signal" for a number without a name, such as a real-time signal's. */
const char *signal_name(unsigned number);

#endif
