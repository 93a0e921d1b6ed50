/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sentences about what samples and waits of threads show (--cpu, --off-cpu). */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "report/text.h"
#include "report/why/why_words.h"

/*
 * The time of a cause, by one number each: what was done, by which thread, in which function; which untraced process
 * woke a thread.
 */
struct shares {
	struct tally inner, culprits, functions, others;
	uint64_t waited_ns; /* while the launching thread waited for the one that did it */
};

static void add_share(struct tally *tally, uint32_t number, uint64_t ns)
{
	if (number != NONE)
		tally_at(tally, (struct tally_key){{number}})->ns += ns;
}

static struct shares shares_of(const struct analyses *all, enum why_cause cause)
{
	const struct idle *idle = &all->idle;
	struct shares shares = {0};

	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);
		bool ran = charge.inner == WHY_RAN || charge.inner == WHY_NATIVE;

		if (charge.what.part[1] != cause || !charge.looked_at)
			continue;
		shares.waited_ns += charge.via != NONE ? charge.ns : 0;
		add_share(&shares.inner, charge.inner, charge.ns);
		add_share(&shares.culprits, charge.inner == cause ? NONE : charge.culprit, charge.ns);
		add_share(&shares.functions, ran ? charge.what.part[2] : NONE, charge.ns);
		if (charge.inner >= WHY_LOCK && charge.inner <= WHY_WAIT)
			add_share(&shares.others, charge.what.part[3], charge.ns);
	}
	return shares;
}

static void free_shares(struct shares *shares)
{
	tally_free(&shares->inner);
	tally_free(&shares->culprits);
	tally_free(&shares->functions);
	tally_free(&shares->others);
}

/* The number with most time, NONE: the tally is empty. */
static uint32_t most_of(const struct tally *tally, uint64_t *ns)
{
	struct tally_entry *sorted = tally_sorted(tally, false);
	uint32_t most = tally->count ? sorted[0].key.part[0] : NONE;

	if (ns)
		*ns = tally->count ? sorted[0].ns : 0;
	free(sorted);
	return most;
}

/* "worker (pid 4711)", or "thread QueueFeeder (worker, pid 4711)" */
static char *thread_text(const struct model *model, uint32_t number)
{
	const struct model_thread *thread = &model->threads[number];
	const struct model_process *process = &model->processes[thread->process];

	if (thread->tid == process->pid)
		return xasprintf("%s (pid %" PRIu32 ")", process->name, process->pid);
	return xasprintf("thread %s (%s, pid %" PRIu32 ")", thread->name && *thread->name ? thread->name : "?",
			 process->name, process->pid);
}

static const char *inner_text(enum why_cause inner)
{
	switch (inner) {
	case WHY_RAN:
		return "running Python";
	case WHY_NATIVE:
		return "running native code";
	case WHY_UNSAMPLED:
		return "not sampled";
	case WHY_SYNC:
	case WHY_ALLOC:
	case WHY_CALL:
	case WHY_COPY:
		return "in CUDA calls";
	default:
		return why_short(inner);
	}
}

/* "61.2 ms running Python, 30.0 ms a sleep" */
static char *inner_shares(const struct shares *shares)
{
	struct tally_entry *sorted = tally_sorted(&shares->inner, false);
	char *text = xstrdup("");

	for (size_t i = 0; i < shares->inner.count && i < 3; i++)
		text = xjoin(text, ", ",
			     xasprintf("%s %s", number_time(sorted[i].ns).text,
				       inner_text((enum why_cause)sorted[i].key.part[0])));
	free(sorted);
	return text;
}

char *why_how_often(const struct why_loss *loss)
{
	return loss->count == 1 ? xstrdup("once")
				: xasprintf("%s times, %s at the longest", number_count(loss->count).text,
					    number_time(loss->longest_ns).text);
}

/* What other threads did while the launching thread waited for them. */
static char *others_text(const struct analyses *all, const struct shares *shares)
{
	uint32_t culprit = most_of(&shares->culprits, NULL), other = most_of(&shares->others, NULL);
	const struct ran_other *unknown;
	size_t more = shares->culprits.count - 1;
	char *who, *what, *text;

	if (culprit != NONE) {
		who = thread_text(all->model, culprit);
		if (more)
			who = xjoin(who, " ", xasprintf("and %zu more %s", more, more == 1 ? "thread" : "threads"));
		what = inner_shares(shares);
		text = xasprintf(" It waited for %s: %s.", who, what);
		free(who);
		free(what);
		return text;
	}
	if (other == NONE)
		return xstrdup("");
	unknown = &all->idle.ran.others.items[other];
	if (unknown->several)
		return xasprintf(" It was woken by processes of %s, which are not traced.",
				 *unknown->name ? unknown->name : "?");
	return xasprintf(" It was woken by %s (pid %" PRIu32 "), which is not traced.",
			 *unknown->name ? unknown->name : "?", unknown->pid);
}

/* " at train.py:33 train"; ": for 61.2 ms at ..." where that is not all of it */
static char *waited_at(const struct analyses *all, const struct why_loss *loss)
{
	char *at, *text;

	if (loss->via_line == NONE)
		return xstrdup("");
	at = line_label(&all->lines, loss->via_line);
	text = loss->via_ns == loss->ns ? xasprintf(" at %s", at)
					: xasprintf(": for %s at %s", number_time(loss->via_ns).text, at);
	free(at);
	return text;
}

char *why_waits_evidence(const struct analyses *all, const struct why_loss *loss)
{
	struct shares shares = shares_of(all, loss->cause);
	char *often = why_how_often(loss), *others = others_text(all, &shares);
	char *at = waited_at(all, loss), *text;

	text = xasprintf("The GPU had nothing to do %s, while the thread that launches waited%s.%s", often, at, others);
	free(at);
	free(others);
	free(often);
	free_shares(&shares);
	return text;
}

char *why_ran_evidence(const struct analyses *all, const struct why_loss *loss)
{
	struct shares shares = shares_of(all, loss->cause);
	uint64_t ns;
	uint32_t function = most_of(&shares.functions, &ns);
	char *often = why_how_often(loss), *text;

	text = xasprintf("The GPU had nothing to do %s, while the thread that launches ran, by samples.", often);
	if (shares.waited_ns)
		text = xjoin(text, " ",
			     xasprintf("For %s of that it waited for threads without Python, which ran for its line.",
				       number_time(shares.waited_ns).text));
	if (function != NONE && *why_name(all, function) != '[') /* a file's name, not a symbol */
		text = xjoin(text, " ",
			     xasprintf("The native function seen most is %s: %s.", why_name(all, function),
				       number_time(ns).text));
	free(often);
	free_shares(&shares);
	return text;
}
