/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is said of a part of a gap and of a loss, by the row of its cause (why_causes.h). */
#include "report/why/why_words.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/why/why_findings.h"
#include "base/array.h"
#include "report/table/text.h"
#include "report/why/why_causes.h"
#include "report/why/why_shares.h"

/* ---- a part of a gap --------------------------------------------------------------------------------------------- */

/* What a thread waits for. */
static const char *wait_words(enum why_cause cause, uint32_t reason)
{
	const struct cause *words = cause_of(cause);

	if (words->wait_of)
		return words->wait_of(reason);
	return words->wait ? words->wait : "waited";
}

/* What one thread waited for, and what the one that kept it waiting did. */
static char *chain_words(const struct model *model, const struct idle_row *row)
{
	const struct cause *inner = cause_of(row->inner);
	const char *first = wait_words(row->cause, row->detail);
	AUTO_FREE char *did = NULL;

	if (!inner->inner_of)
		return xasprintf("%s: %s", first, inner->inner ? inner->inner : wait_words(row->inner, row->detail));
	did = inner->inner_of(model, row);
	return xasprintf("%s: %s", first, did);
}

/* "waited for a child process (git)" */
static char *own_wait_words(const struct idle *idle, const struct idle_row *row)
{
	const struct ran_other *other =
		row->extra < idle->ran.others.count ? &idle->ran.others.items[row->extra] : NULL;
	const char *words = wait_words(row->cause, row->detail);
	const char *await = row->detail & WHY_AWAIT_ALONE  ? ", in an await"
			    : row->detail & WHY_AWAIT_MOST ? ", where most of its tasks awaited"
							   : "";

	return other && *other->name ? xasprintf("%s%s (%s)", words, await, other->name)
				     : xasprintf("%s%s", words, await);
}

char *idle_words(const struct idle *idle, const struct idle_row *row)
{
	const struct cause *cause = cause_of(row->cause);

	if (row->inner != row->cause && !idle_is_edge(row->cause))
		return chain_words(idle->model, row);
	if (cause->words_of)
		return cause->words_of(idle->model, row);
	if (cause->words)
		return xstrdup(cause->words);
	return cause->wait || cause->wait_of ? own_wait_words(idle, row) : xstrdup("");
}

char *idle_charge_words(const struct idle *idle, const struct idle_charge *charge)
{
	const struct idle_row row = {.cause = charge->what.part[1],
				     .inner = charge->inner,
				     .after = charge->after,
				     .detail = charge->what.part[2],
				     .extra = charge->what.part[3]};

	return idle_words(idle, &row);
}

/* ---- a loss ------------------------------------------------------------------------------------------------------ */

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

static const char *inner_brief(enum why_cause inner)
{
	const struct cause *cause = cause_of(inner);

	return cause->inner_brief ? cause->inner_brief : cause->brief;
}

/* "61.2 ms running Python, 30.0 ms a sleep" */
static char *inner_shares(const struct why_shares *shares)
{
	AUTO_FREE struct tally_entry *sorted = tally_sorted(&shares->inner, false);
	char *text = xstrdup("");

	for (size_t i = 0; i < shares->inner.count && i < 3; i++)
		text = xjoin(text, ", ",
			     xasprintf("%s %s", number_time(sorted[i].ns).text,
				       inner_brief((enum why_cause)sorted[i].key.part[0])));
	return text;
}

static char *culprits_text(const struct model *model, uint32_t culprit, const struct why_shares *shares)
{
	size_t more = shares->culprits.count - 1;
	AUTO_FREE char *what = inner_shares(shares);
	char *who = thread_text(model, culprit), *text;

	if (more)
		who = xjoin(who, " ", xasprintf("and %zu more %s", more, more == 1 ? "thread" : "threads"));
	text = xasprintf(" It waited for %s: %s.", who, what);
	free(who);
	return text;
}

static char *untraced_text(const struct ran_other *other)
{
	const char *name = *other->name ? other->name : "?";

	if (other->several)
		return xasprintf(" It was woken by processes of %s, which are not traced.", name);
	return xasprintf(" It was woken by %s (pid %" PRIu32 "), which is not traced.", name, other->pid);
}

/* What other threads did while the launching thread waited for them; "" if no sample and no wait shows that. */
static char *others_text(const struct analyses *all, enum why_cause cause)
{
	struct why_shares shares = why_shares_of(all, cause);
	uint32_t culprit = why_most_of(&shares.culprits, NULL), other = why_most_of(&shares.others, NULL);
	char *text;

	if (culprit != NONE)
		text = culprits_text(all->model, culprit, &shares);
	else
		text = other == NONE ? xstrdup("") : untraced_text(&all->idle.ran.others.items[other]);
	why_shares_free(&shares);
	return text;
}

/* "encoder.py:258 iterencode (and 2 more)" */
static char *several_text(const struct lines *lines, uint32_t line, uint32_t count, enum line_brevity brevity)
{
	char *text = line_name(lines, line, brevity);

	return count > 1 ? xjoin(text, "", xasprintf(" (and %s more)", number_count(count - 1).text)) : text;
}

/* A compiler's own lines are many, and no help to who called it. */
static bool is_of_frames(const struct why_loss *loss, const struct why_line *line)
{
	return loss->cause == WHY_COMPILE && line->detail == WHY_COMPILE_FRAMES;
}

/* "encoder.py:258 iterencode <- server.py:52 detokenize <- server.py:80 serve" */
static char *line_text(const struct analyses *all, const struct why_loss *loss, const struct why_line *line,
		       enum line_brevity brevity)
{
	enum line_brevity own = brevity > LINE_WITH_METHOD ? LINE_WITH_METHOD : brevity;
	bool by_library =
		why_is_culprit(loss->cause, line) && line->inner_line != line->line && !is_of_frames(loss, line);
	char *text = line_name(&all->lines, line->line, own);

	if (by_library && brevity < LINE_ALONE)
		text = xjoin(several_text(&all->lines, line->inner_line, line->inner_lines, brevity), " <- ", text);
	if (line->caller != NONE && (line->is_divided || line->callers > 1))
		text = xjoin(text, " <- ", several_text(&all->lines, line->caller, line->callers, brevity));
	return text;
}

char *why_place(const struct analyses *all, const struct why_loss *loss, const struct why_line *line,
		enum line_brevity brevity)
{
	const struct cause *cause = cause_of(loss->cause);
	char *label = line_text(all, loss, line, brevity);

	return cause->place ? cause->place(all, line, label, brevity) : label;
}

char *why_brief_place(const struct analyses *all, const struct why_loss *loss, const struct why_line *line,
		      enum line_brevity brevity)
{
	AUTO_FREE char *label = line_text(all, loss, line, brevity);

	return xasprintf("%s%s", why_is_culprit(loss->cause, line) ? "" : "before ", label);
}

bool why_names_process(const struct analyses *all, uint32_t process)
{
	const struct model_process *whose = &all->model->processes[process];

	return all->active > 1 || (!whose->calls && !whose->gpu_ops);
}

char *why_where(const struct analyses *all, const struct why_loss *loss, const struct why_line *line)
{
	char *text = why_place(all, loss, line, LINE_WITH_FUNCTION), *label, *shown;

	if (loss->cause == WHY_RANK || !why_names_process(all, line->process))
		return text;
	label = process_label(&all->model->processes[line->process]);
	shown = xasprintf("(%s)", label);
	free(label);
	return xjoin(text, " ", shown);
}

char *why_layer(const struct analyses *all, const struct why_line *line)
{
	const struct model_module *module = line->layer == NONE ? NULL : &all->model->modules[line->layer];

	if (!module)
		return NULL;
	return xasprintf("%s%s%s", model_module_label(module), *module->label || !*module->class ? "" : " ",
			 *module->label ? "" : module->class);
}

char *why_evidence(const struct analyses *all, const struct why_loss *loss)
{
	AUTO_FREE char *others = others_text(all, loss->cause);

	return cause_of(loss->cause)->evidence(all, loss, others);
}

char *why_advice(const struct analyses *all, const struct why_loss *loss)
{
	const struct cause *cause = cause_of(loss->cause);

	return xstrdup(cause->advice_of ? cause->advice_of(all, loss) : cause->advice);
}

/* ---- a finding --------------------------------------------------------------------------------------------------- */

/* A second cause is named from one part in this many of a finding, and so is that there are others. */
#define OTHER_SHARE 10u

/* The second cause of a culprit, WHY_LOSSES: it has too little time. */
static enum why_cause second_cause(const struct why_finding *finding)
{
	enum why_cause second = WHY_LOSSES;

	for (unsigned i = 0; i < WHY_LOSSES; i++)
		if (i != finding->loss->cause && finding->of_cause[i] >= finding->ns / OTHER_SHARE &&
		    (second == WHY_LOSSES || finding->of_cause[i] > finding->of_cause[second]))
			second = (enum why_cause)i;
	return second;
}

char *why_causes_text(const struct why_finding *finding)
{
	const char *first = why_short(finding->loss->cause);
	enum why_cause second = second_cause(finding);
	uint64_t second_ns = second == WHY_LOSSES ? 0 : finding->of_cause[second];
	uint64_t others_ns = finding->ns - finding->of_cause[finding->loss->cause] - second_ns;
	bool has_others = others_ns >= finding->ns / OTHER_SHARE && others_ns;

	if (!second_ns)
		return has_others ? xasprintf("%s (%s of it other causes)", first, number_time(others_ns).text)
				  : xstrdup(first);
	if (!has_others)
		return xasprintf("%s (%s of it %s)", first, number_time(second_ns).text, why_short(second));
	return xasprintf("%s (%s of it %s, %s other causes)", first, number_time(second_ns).text, why_short(second),
			 number_time(others_ns).text);
}
