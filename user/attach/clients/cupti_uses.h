/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Uses of CUPTI whose caller the BPF side does not know, in the order in which they were made.  To find a caller takes
 * a look at its process, and looks of a user have their share of gputrace's time.  Until there is time the use waits:
 * it is not taken for another client's, which would make an agent leave CUPTI that perhaps works for another gputrace.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <gputrace/record.h>

#include "base/array.h"

struct cupti_uses {
	ARRAY(struct gpt_cupti_use) list;
};

/* Whether a use of the process waits: later ones must wait behind it. */
bool cupti_uses_wait(const struct cupti_uses *uses, pid_t pid);

/* False: too many of the process wait already. */
bool cupti_uses_defer(struct cupti_uses *uses, const struct gpt_cupti_use *use);

/* The process has ended, or runs another program. */
void cupti_uses_forget(struct cupti_uses *uses, pid_t pid);
