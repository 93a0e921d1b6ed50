/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The requests of a collector without BPF: its control, read where the agent checks what is wanted (points.h). */
#pragma once

#include <linux/futex.h>
#include <stddef.h>

#include <gputrace/share.h>

/* NULL: no collector has come. Once set it stays mapped, even after the collector's end; a forked child has none. */
extern const volatile struct gpt_share_control *volatile share_control;

/* The control of a live collector, else NULL. */
static inline const volatile struct gpt_share_control *share_listener(void)
{
	const volatile struct gpt_share_control *control = share_control;

	return control && !(control->owner & FUTEX_OWNER_DIED) ? control : NULL;
}

#define SHARE_WANTS(member)                                                                                            \
	({                                                                                                             \
		const volatile struct gpt_share_control *share_wants = share_listener();                               \
                                                                                                                       \
		share_wants ? share_wants->member : 0;                                                                 \
	})
