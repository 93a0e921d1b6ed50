/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of a program's probes has fired: the cookie that attach/ gave to its site. Linux 5.15 and later keep a cookie
 * with the probe (bpf_get_attach_cookie); older kernels use a map with the file offset of the probe as key.
 */
#pragma once

#include "common.bpf.h"

#ifndef GPT_OLD_KERNEL

static __always_inline bool site_cookie(void *ctx, __u64 *cookie)
{
	*cookie = bpf_get_attach_cookie(ctx);
	return true;
}

#else

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPT_MAX_SITES);
	__type(key, struct gpt_site_key);
	__type(value, __u64); /* cookie */
} sites SEC(".maps") __attribute__((weak));

/*
 * While a uprobe's handlers run, the thread's utask->vaddr points to a struct that names their trace_uprobe
 * (uprobe_dispatcher, kernel/trace/trace_uprobe.c of Linux 5.10 to 5.16), and that knows its file and offset.
 */
static __always_inline bool site_cookie(void *ctx, __u64 *cookie)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct uprobe_dispatch_data *dispatch = (void *)BPF_CORE_READ(task, utask, vaddr);
	struct trace_uprobe *probe = BPF_CORE_READ(dispatch, tu);
	struct inode *inode = BPF_CORE_READ(probe, inode);
	struct gpt_site_key key = {};
	__u64 *found;

	key.offset = BPF_CORE_READ(probe, offset);
	key.inode = BPF_CORE_READ(inode, i_ino);
	key.device = BPF_CORE_READ(inode, i_sb, s_dev);
	found = bpf_map_lookup_elem(&sites, &key);
	if (!found)
		return false;
	*cookie = *found;
	return true;
}

#endif

/* The text segment of the library that contains the probe; the probe's cookie is a GPT_TEXT_COOKIE. */
static __always_inline bool site_text(struct pt_regs *ctx, struct gpt_text_segment *text)
{
	__u64 cookie;

	if (!site_cookie(ctx, &cookie))
		return false;
	text->start = PT_REGS_IP(ctx) - GPT_TEXT_COOKIE_DISTANCE(cookie);
	text->bytes = GPT_TEXT_COOKIE_BYTES(cookie);
	return true;
}
