/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spans of time, each of one owner, such as a process: whether a time lies in one of an owner's spans. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* It has its start, but not its end. */
struct owned_span {
	uint64_t start_ns, end_ns;
	uint32_t owner;
};

/* An array (base/array.h). */
struct owned_spans {
	struct owned_span *items;
	size_t count, capacity;
};

/* After the last span, before the first owned_spans_have: sorts them, and merges overlapping ones of an owner. */
void owned_spans_merge(struct owned_spans *spans);

bool owned_spans_have(const struct owned_spans *spans, uint32_t owner, uint64_t time_ns);
