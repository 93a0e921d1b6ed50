/* SPDX-License-Identifier: GPL-2.0-only */
/* The configuration, which attach/ writes before loading, the switches that programs set, and the number of a pass over
 * the ring. */
#include "common.bpf.h"

const volatile struct gpt_config config = {};
__u32 any_agent = 0, ring_pass = 0;
__u32 code_age = 1, code_descriptions = 0;
struct gpt_activity activity = {};
struct gpt_detail_state detail = {};

char LICENSE[] SEC("license") = "GPL";
