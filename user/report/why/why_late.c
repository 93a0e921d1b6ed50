/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes of gaps in which no call, no sample and no wait shows what the thread did, and what no line is to blame for.
 */
#include "analyze/sums/detail_spans.h"
#include "report/why/why_causes.h"
#include "report/why/why_words.h"

static char *between_launches(const struct analyses *all, const struct why_line *line, char *label,
			      enum line_brevity brevity)
{
	AUTO_FREE char *from = NULL;
	char *text;

	if (line->from_line == NONE)
		return label;
	if (line->from_line == line->line) {
		text = xasprintf("between two launches of %s", label);
		free(label);
		return text;
	}
	from = line_name(&all->lines, line->from_line, brevity);
	text = xasprintf("from %s to the next launch, %s", from, label);
	free(label);
	return text;
}

static char *python_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	AUTO_FREE char *often = cause_how_often(loss);

	return xasprintf("The GPU ran out of work %s, and the thread that launches was in no CUDA call%s meanwhile%s.",
			 often, model_has_all_calls(all->model) ? "" : " that gputrace follows",
			 all->idle.has_ops ? " and in no DataLoader" : "");
}

static char *unsampled_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	AUTO_FREE char *often = cause_how_often(loss);

	return xasprintf("The GPU had nothing to do %s, and what the thread that launches did is in no sample and no "
			 "wait.",
			 often);
}

const char *why_lowered_advice(const struct analyses *all, const struct why_loss *loss)
{
	static const char *const advice[GPT_DETAIL_WHYS] = {
		[GPT_DETAIL_RING] = "Samples and waits were left out, as more came than could be kept: record less "
				    "(without --shapes, --ops), or with a larger --buffer.",
		[GPT_DETAIL_COST] = "Samples and waits were left out for --cost-limit: raise it.",
		[GPT_DETAIL_MEMORY] = "Samples and waits were left out for --memory-limit: raise it.",
	};
	struct detail_spans spans;

	detail_spans_make(&spans, all->model, &all->window);
	for (size_t i = 0; i < spans.count && spans.rows[i].kind <= GPT_DETAIL_WAITS; i++)
		if (spans.rows[i].ns >= loss->ns / 2)
			return advice[spans.rows[i].why];
	return NULL;
}

/* Whether a thread of which no earlier call is known would have been sampled, or its wait recorded. */
static bool is_longer_than_samples(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *most = loss->line_count ? &loss->lines[0] : NULL;

	return most && most->from_line == NONE && most->count &&
	       most->ns / most->count > 2 * (uint64_t)all->idle.ran.period_ns;
}

static const char *unsampled_advice(const struct analyses *all, const struct why_loss *loss)
{
	const char *lowered = why_lowered_advice(all, loss);

	if (lowered)
		return lowered;
	if (all->idle.ran.samples && all->idle.ran.waits)
		return is_longer_than_samples(all, loss)
			       ? "See what the threads waited for that start this one (--table off_cpu). It had "
				 "probably just begun, as where each request has a thread of its own: one that "
				 "runs would have been sampled."
			       : "Record what runs and waits at any cost (--cpu --off-cpu -F 4999): by default it "
				 "takes 1 % of a thread's time at most.";
	return "Record what ran and what was waited for: both are by default, with root.";
}

const struct cause cause_python = {
	.title = "the GPU waits for Python",
	.brief = "Python",
	.color = COLOR_RAN,
	.known_by = "by the time of the next launch; what ran until then was not recorded",
	.words = "launched late",
	.place = between_launches,
	.evidence = python_evidence,
	.advice = "See what runs there: take it out of the loop, give it to a thread or process of its own, or "
		  "launch the GPU's next work before it.",
};
const struct cause cause_program = {
	.title = "the GPU waits for the program on the CPU",
	.brief = "the program",
	.color = COLOR_RAN,
	.known_by = "by the time of the next launch; what ran until then was not recorded",
	.words = "launched late",
	.place = between_launches,
	.evidence = python_evidence,
	.advice = CAUSE_TAKE_OUT,
};
const struct cause cause_unsampled = {
	.title = "the GPU waits, and no sample says for what",
	.brief = "not sampled",
	.color = COLOR_UNKNOWN,
	.known_by = "no sample and no wait says what the thread did",
	.words = "not sampled",
	.inner = "not sampled",
	.place = between_launches,
	.evidence = unsampled_evidence,
	.advice_of = unsampled_advice,
};
const struct cause cause_gpu = {.brief = "not begun by the GPU",
				.color = COLOR_GPU,
				.words = "GPU side",
				.known_by = "by the launch, which had returned"};
const struct cause cause_unseen = {.brief = "launch not recorded",
				   .color = COLOR_UNKNOWN,
				   .words = "launch not seen",
				   .known_by = "the launch is not in the trace"};
const struct cause cause_short = {
	.brief = "gaps under 5 us", .color = COLOR_GPU, .known_by = "GPUs need this between two operations"};
