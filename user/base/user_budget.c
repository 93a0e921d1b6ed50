/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/user_budget.h"

static struct user_budget_row *row_of(struct user_budget *budget, uid_t uid, uint64_t now_ns)
{
	struct user_budget_row *row;
	uint64_t back_ns;

	for (size_t i = 0; i < budget->rows.count; i++) {
		row = &budget->rows.items[i];
		if (row->uid != uid)
			continue;
		back_ns = now_ns > row->at_ns ? (now_ns - row->at_ns) / budget->share : 0;
		row->used_ns = row->used_ns > back_ns ? row->used_ns - back_ns : 0;
		row->at_ns = now_ns;
		return row;
	}
	return array_push(&budget->rows, ((struct user_budget_row){.uid = uid, .at_ns = now_ns}));
}

uint64_t user_budget_used(struct user_budget *budget, uid_t uid, uint64_t now_ns)
{
	return budget->rows.count ? row_of(budget, uid, now_ns)->used_ns : 0;
}

void user_budget_charge(struct user_budget *budget, uid_t uid, uint64_t now_ns, uint64_t used_ns)
{
	row_of(budget, uid, now_ns)->used_ns += used_ns;
}

void user_budget_free(struct user_budget *budget)
{
	array_free(&budget->rows);
}

unsigned user_counts_add(struct user_counts *counts, uid_t uid)
{
	for (size_t i = 0; i < counts->rows.count; i++)
		if (counts->rows.items[i].uid == uid)
			return ++counts->rows.items[i].count;
	array_push(&counts->rows, ((struct user_count){uid, 1}));
	return 1;
}

void user_counts_free(struct user_counts *counts)
{
	array_free(&counts->rows);
}
