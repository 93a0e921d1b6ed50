/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `gputrace doctor`: one line per thing that a trace needs or can use, with the remedy where it is not there. */
#ifndef GPUTRACE_DOCTOR_H
#define GPUTRACE_DOCTOR_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

enum exit_code doctor_command(const struct options *options);

#endif
