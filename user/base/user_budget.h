/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For each user of the machine: a budget of a resource, in nanoseconds used, which is refilled as time passes; and a
 * counter.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

struct user_budget_row {
	uid_t uid;
	uint64_t used_ns, at_ns;
};

struct user_budget {
	unsigned share; /* one ns is refilled every `share` ns, not 0 */
	ARRAY(struct user_budget_row) rows;
};

uint64_t user_budget_used(struct user_budget *budget, uid_t uid, uint64_t now_ns);
void user_budget_charge(struct user_budget *budget, uid_t uid, uint64_t now_ns, uint64_t used_ns);
void user_budget_free(struct user_budget *budget);

struct user_count {
	uid_t uid;
	unsigned count;
};

struct user_counts {
	ARRAY(struct user_count) rows;
};

/* How often it was called for the user, this call included. */
unsigned user_counts_add(struct user_counts *counts, uid_t uid);
void user_counts_free(struct user_counts *counts);
