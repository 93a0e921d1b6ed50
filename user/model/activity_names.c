/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of the reasons why a thread was off the CPU. */
#include "model/activity.h"

const char *wait_reason_name(enum gpt_wait_reason reason)
{
	static const char *const names[GPT_WAIT_REASONS] = {
		[GPT_WAIT_OTHER] = "other",
		[GPT_WAIT_FUTEX] = "lock (futex)",
		[GPT_WAIT_GIL] = "GIL",
		[GPT_WAIT_FILE] = "file",
		[GPT_WAIT_PIPE] = "pipe",
		[GPT_WAIT_SOCKET] = "socket",
		[GPT_WAIT_POLL] = "poll",
		[GPT_WAIT_SLEEP] = "sleep",
		[GPT_WAIT_PAGE_FAULT] = "page fault",
		[GPT_WAIT_CHILD] = "child process",
		[GPT_WAIT_IOCTL] = "driver (ioctl)",
		[GPT_WAIT_PREEMPTED] = "preempted",
		[GPT_WAIT_THROTTLED] = "throttled by its cgroup",
		[GPT_WAIT_STOPPED] = "stopped",
		[GPT_WAIT_EVENT] = "event",
		[GPT_WAIT_YIELDED] = "yielded",
	};

	return reason < GPT_WAIT_REASONS ? names[reason] : names[GPT_WAIT_OTHER];
}
