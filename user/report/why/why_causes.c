/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rows of all cause_rows. */
#include "report/why/why_causes.h"

static const struct {
	const char *name;
	const struct cause *cause;
} cause_rows[WHY_CAUSES] = {
#define CAUSE(id, name, ...) [WHY_##id] = {#name, &cause_##name},
	WHY_LOSS_ROWS(CAUSE) WHY_OTHER_ROWS(CAUSE)
#undef CAUSE
};

const struct cause *cause_of(enum why_cause cause)
{
	static const struct cause edge;

	return cause < WHY_CAUSES ? cause_rows[cause].cause : &edge;
}

const char *why_cause_name(enum why_cause cause)
{
	return cause_rows[cause].name;
}

/* Without any Python code in the file it is not known whether it was Python. */
const char *why_title(const struct analyses *all, enum why_cause cause)
{
	return cause_of(cause == WHY_PYTHON && !all->model->code_count ? WHY_PROGRAM : cause)->title;
}

const char *why_short(enum why_cause cause)
{
	return cause_of(cause)->brief;
}
