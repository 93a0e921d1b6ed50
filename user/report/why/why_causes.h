/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is said of a cause: a struct cause for each row of analyze/why/causes.h, cause_name, in the file of its family
 * (why_waits.c, why_calls.c, ...).  Its functions return texts for the caller to free.
 */
#pragma once

#include <stdlib.h>

#include "base/array.h"
#include "report/table/text.h"
#include "report/why/why_words.h"

/* Colors of gaps in a page's timeline, in the order of its legend (export/page/rows.js, GPUTRACE_CAUSES). */
enum cause_color {
	COLOR_RAN,
	COLOR_WAITED,
	COLOR_DATA,
	COLOR_NO_CPU,
	COLOR_NO_REQUEST,
	COLOR_SYNC,
	COLOR_LAUNCHES,
	COLOR_CALLS,
	COLOR_INTERPRETER,
	COLOR_COPIES,
	COLOR_OTHERS,
	COLOR_UNKNOWN,
	COLOR_GPU,
};

struct cause {
	const char *title, *brief; /* a loss as title, NULL: it is none; in a few words */
	enum cause_color color;

	/* How it is known that this is what happened in a gap; NULL: by the thread's waits off the CPU. */
	const char *known_by;
	const char *(*known_by_of)(const struct idle_charge *charge);

	/*
	 * What happened, in the account of idle time; NULL: a wait.  Of a wait, what the thread does, whatever it waits
	 * for; wait_of: where that depends on the reason (enum gpt_wait_reason).
	 */
	const char *words;
	char *(*words_of)(const struct model *model, const struct idle_row *row);
	const char *wait;
	const char *(*wait_of)(uint32_t reason);

	/* What a thread did for which the launching one waited; NULL: its wait.  In a sum; NULL: brief. */
	const char *inner;
	char *(*inner_of)(const struct model *model, const struct idle_row *row);
	const char *inner_brief;

	/* Takes over the line's label; NULL: the label alone. */
	char *(*place)(const struct analyses *all, const struct why_line *line, char *label, enum line_brevity brevity);
	/* others: what other threads did meanwhile, a sentence for the end; "" */
	char *(*evidence)(const struct analyses *all, const struct why_loss *loss, const char *others);
	const char *advice;
	const char *(*advice_of)(const struct analyses *all, const struct why_loss *loss);
};

#define CAUSE(id, name, ...) extern const struct cause cause_##name;
WHY_LOSS_ROWS(CAUSE)
WHY_OTHER_ROWS(CAUSE)
#undef CAUSE

/* Of WHY_BEFORE and WHY_AFTER all members are NULL. */
const struct cause *cause_of(enum why_cause cause);

/* Advice of several causes. */
#define CAUSE_TAKE_OUT                                                                                                 \
	"Take it out of the loop, give it to a thread or process of its own, or launch the GPU's next work before it."

/* Evidence of causes that samples and waits of threads show (why_waits.c). */
char *cause_waited(const struct analyses *all, const struct why_loss *loss, const char *others);

/* "label, detail"; frees the label. */
static inline char *cause_at(char *label, const char *detail)
{
	char *text = xasprintf("%s, %s", label, detail);

	free(label);
	return text;
}

/* "12 times, 3.1 ms at the longest" */
static inline char *cause_how_often(const struct why_loss *loss)
{
	return loss->count == 1 ? xstrdup("once")
				: xasprintf("%s times, %s at the longest", number_count(loss->count).text,
					    number_time(loss->longest_ns).text);
}

static inline const char *cause_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}
