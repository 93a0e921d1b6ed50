/* SPDX-License-Identifier: GPL-2.0-only */
/* The configuration, which attach/ writes before loading, and the switches that programs set. */
#include "common.bpf.h"

const volatile struct gpt_config config = {};
__u32 any_agent = 0;
__u32 code_age = 1, code_descriptions = 0;

char LICENSE[] SEC("license") = "GPL";
