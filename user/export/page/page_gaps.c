/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gaps of GPUs in a page's timeline: each part of one says what the account of idle time charges it to
 * (analyze/why/idle.h), and by what evidence; and the verdict, whose losses lead to their largest gaps.
 */
#include "export/page/page_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/library_file.h"
#include "base/order.h"
#include "analyze/why/why_findings.h"
#include "export/file/stack_frames.h"
#include "report/why/verdict.h"
#include "report/why/why_causes.h"
#include "report/why/why_words.h"

#define VERDICT_WIDTH 160u
#define SHARES_NAMED 3u

static const char *evidence_of(const struct idle_charge *charge)
{
	const struct cause *cause = cause_of(charge->inner);

	if (cause->known_by_of)
		return cause->known_by_of(charge);
	return cause->known_by ? cause->known_by : "by the thread's waits off the CPU";
}

void page_gaps_take(void *context, uint32_t device, const struct idle_part *parts, size_t count)
{
	struct page_gaps *gaps = context;

	gaps->parts.count = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t ns = parts[i].to_ns - parts[i].from_ns;
		uint32_t reason = tally_number(&gaps->reasons, (struct tally_key){{parts[i].charge, parts[i].thread}});

		if (reason == gaps->longest.count)
			array_push(&gaps->longest, (struct page_gap){0});
		if (ns > gaps->longest.items[reason].ns)
			gaps->longest.items[reason] =
				(struct page_gap){.device = device, .from_ns = parts[i].from_ns, .ns = ns};
		array_push(&gaps->parts, ((struct zoom_gap_part){parts[i].from_ns, parts[i].to_ns, reason}));
	}
	zoom_add_gap(gaps->zoom, device, gaps->parts.items, gaps->parts.count);
}

void page_gaps_free(struct page_gaps *gaps)
{
	tally_free(&gaps->reasons);
	array_free(&gaps->longest);
	array_free(&gaps->parts);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The line as the report's table names it, with the user's own line that called a library's; its process where named.
 */
static char *where_of(struct analyses *all, const struct idle_charge *charge)
{
	struct place_lines at = idle_lines_of_charge(&all->lines, charge);
	uint32_t process = idle_charge_process(&all->idle, charge);
	AUTO_FREE char *of = NULL;
	char *label;

	if (at.line == NONE)
		return xstrdup("");
	label = line_label(&all->lines, at.line);
	if (at.user_line != NONE && line_is_library(&all->lines, at.line))
		label = xjoin(label, " <- ", line_label(&all->lines, at.user_line));
	if (!why_names_process(all, process))
		return label;
	of = process_label(&all->model->processes[process]);
	label = xjoin(label, "", xasprintf(" (%s)", of));
	return label;
}

/* "data loading: in DataLoader.__next__", "no CPU: others had it" */
static char *words_of(const struct analyses *all, const struct idle_charge *charge)
{
	const char *brief = why_short(charge->what.part[1]);
	AUTO_FREE char *words = idle_charge_words(&all->idle, charge);
	char *text;

	if (strstr(words, brief))
		text = xstrdup(words);
	else
		text = *words ? xasprintf("%s: %s", brief, words) : xstrdup(brief);
	return text;
}

/* Where the launching thread waited for the one to blame. */
static char *via_of(struct analyses *all, const struct idle_charge *charge)
{
	AUTO_FREE char *label = NULL;

	if (charge->via == NONE)
		return xstrdup("");
	label = line_label(&all->lines, line_of(&all->lines, idle_caller_of_place(&all->idle, charge->via)));
	return xasprintf("; waited for at %s", label);
}

static char *name_of_one(struct analyses *all, const struct idle_charge *charge)
{
	AUTO_FREE char *words = words_of(all, charge), *via = via_of(all, charge);
	char *text = xasprintf("%s%s; %s", words, via, evidence_of(charge));

	return text;
}

DEFINE_ORDER(by_time, struct idle_charge, most_first(a->ns, b->ns))

/* Time that no sample owns, which samples of gaps like these divide: who has most of it. */
static char *name_of_shares(struct analyses *all, const struct idle_charge *shares, size_t count)
{
	uint64_t sum = 0;
	char *text = xstrdup("no sample in this gap; by the samples of gaps like it: ");

	for (size_t i = 0; i < count; i++)
		sum += shares[i].ns;
	for (size_t i = 0; i < count && i < SHARES_NAMED; i++) {
		AUTO_FREE char *where = where_of(all, &shares[i]), *words = words_of(all, &shares[i]);

		text = xjoin(text, i ? ", " : "",
			     xasprintf("%.1f %% %s%s%s", sum ? 100. * (double)shares[i].ns / (double)sum : 0., words,
				       *where ? " at " : "", where));
	}
	return count > SHARES_NAMED ? xjoin(text, "", xasprintf(", and %zu more", count - SHARES_NAMED)) : text;
}

/* The frames of the line's stack, innermost first. */
struct frames {
	ARRAY(char *) texts;
	ARRAY(bool) libraries;
};

static void take_frame(void *context, const struct stack_frame *frame)
{
	struct frames *frames = context;

	if (frame->kind != STACK_FRAME_PYTHON)
		return;
	array_push(&frames->texts, xasprintf("%s%s (%s:%u)", frame->before, frame->name,
					     *frame->file ? frame->file : "?", frame->line));
	array_push(&frames->libraries, file_is_library(frame->file));
}

static void name_reason(struct page_gaps *gaps, struct analyses *all, uint32_t reason, struct idle_charge *charges,
			size_t count)
{
	uint32_t thread = gaps->reasons.entries[reason].key.part[1], place;
	bool shared = idle_is_shared(&all->idle, gaps->reasons.entries[reason].key.part[0]);
	struct zoom_reason as = {.process = ZOOM_NONE, .own = -1};
	struct frames frames = {0};
	AUTO_FREE char *name = NULL, *where = NULL;

	qsort(charges, count, sizeof(*charges), by_time);
	name = shared ? name_of_shares(all, charges, count) : name_of_one(all, charges);
	where = where_of(all, charges);
	if (shared)
		where = xjoin(xstrdup("\u2248 "), "", where);
	place = charges->what.part[0];
	if (place < CALLER_NO_FRAME && charges->what.part[1] != WHY_SHORT)
		stack_python_frames(all->model, place, take_frame, &frames);
	for (size_t i = 0; i < frames.texts.count / 2; i++) {
		char *outer = frames.texts.items[i];

		frames.texts.items[i] = frames.texts.items[frames.texts.count - 1 - i];
		frames.texts.items[frames.texts.count - 1 - i] = outer;
	}
	for (size_t i = 0; i < frames.libraries.count && as.own < 0; i++)
		if (!frames.libraries.items[frames.libraries.count - 1 - i])
			as.own = (int)i;
	as.name = name;
	as.where = where;
	as.color = cause_of(charges->what.part[1])->color;
	as.frames = (const char *const *)frames.texts.items;
	as.frame_count = frames.texts.count;
	if (thread != NONE) {
		as.process = all->model->threads[thread].process;
		as.tid = all->model->threads[thread].tid;
	}
	zoom_name_reason(gaps->zoom, reason, &as);
	array_free_items(&frames.texts);
	array_free(&frames.libraries);
}

void page_gaps_name(struct page_gaps *gaps, struct analyses *all)
{
	for (uint32_t reason = 0; reason < gaps->reasons.count; reason++) {
		size_t first, count = idle_charges_of(&all->idle, gaps->reasons.entries[reason].key.part[0], &first);
		AUTO_FREE struct idle_charge *charges = xcalloc(count + 1, sizeof(*charges));

		for (size_t i = 0; i < count; i++)
			charges[i] = idle_charge_at(&all->idle, first + i);
		if (count)
			name_reason(gaps, all, reason, charges, count);
	}
	zoom_show_gaps(gaps->zoom);
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

/* Notes the longest part with that reason for all findings that its charges are part of. */
static void note_largest(const struct page_gaps *gaps, struct analyses *all, struct why_findings *findings,
			 uint32_t reason, struct page_gap *largest)
{
	const struct page_gap *gap = &gaps->longest.items[reason];
	uint32_t of = gaps->reasons.entries[reason].key.part[0];
	size_t first, count = idle_charges_of(&all->idle, of, &first);

	for (size_t i = first; i < first + count; i++) {
		struct idle_charge charge = idle_charge_at(&all->idle, i);
		struct why_line line = why_line_of_charge(&all->why, &all->lines, &charge);
		size_t number = charge.looked_at ? why_findings_find(findings, charge.what.part[1], &line) : SIZE_MAX;

		if (number == SIZE_MAX || gap->ns <= largest[number].ns ||
		    (idle_is_shared(&all->idle, of) && largest[number].ns && !largest[number].is_shared))
			continue;
		largest[number] = *gap;
		largest[number].is_shared = idle_is_shared(&all->idle, of);
	}
}

/*
 * The largest gap of each finding, by its index; of time that samples of other gaps divide only where it has no other.
 * The caller frees them.
 */
static struct page_gap *largest_gaps(const struct page_gaps *gaps, struct analyses *all, struct why_findings *findings)
{
	struct page_gap *largest = xcalloc(findings->all.count + 1, sizeof(*largest));

	for (unsigned shared = 0; shared < 2; shared++)
		for (uint32_t reason = 0; reason < gaps->reasons.count; reason++)
			if (idle_is_shared(&all->idle, gaps->reasons.entries[reason].key.part[0]) == (bool)shared)
				note_largest(gaps, all, findings, reason, largest);
	return largest;
}

/* ["text"], or ["text",row,start,length] with the loss's largest gap */
static void put_line(struct sink *out, const struct page_gaps *gaps, const char *text, const struct page_gap *gap)
{
	uint32_t row;

	sink_print(out, "[%s", text);
	if (gap && gap->ns && zoom_gap_row(gaps->zoom, gap->device, &row))
		sink_print(out, ",%u,%" PRId64 ",%" PRIu64, row,
			   (int64_t)(gap->from_ns - zoom_progress(gaps->zoom).start_ns), gap->ns);
	sink_char(out, ']');
}

void page_put_verdict(struct sink *out, const struct page_gaps *gaps, struct analyses *all)
{
	struct why_findings findings;
	AUTO_FREE struct page_gap *largest = NULL;
	struct verdict verdict;

	why_findings_make(&findings, &all->why, all->why.looked_ns / WHY_LEAST_SHARE);
	largest = largest_gaps(gaps, all, &findings);
	text_begin();
	verdict_make(&verdict, all, VERDICT_WIDTH);
	text_end();
	sink_char(out, '[');
	for (size_t i = 0; i < verdict.count; i++) {
		sink_text(out, i ? ",\n" : "\n");
		put_line(out, gaps, verdict.lines[i], verdict.loss[i] ? &largest[verdict.loss[i] - 1] : NULL);
	}
	sink_char(out, ']');
	verdict_free(&verdict);
	why_findings_free(&findings);
}
