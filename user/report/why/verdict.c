/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/why/verdict.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/why/why_findings.h"
#include "report/page/parts.h"
#include "report/table/text.h"
#include "report/why/exposed.h"
#include "report/why/next_command.h"
#include "report/why/why_words.h"

#define LOSSES_SHOWN 3u /* one less where memory grows: that takes its lines */
#define MEMORY_LINES 2u
#define CAUTION_LINES 2u
#define LAST_LINES 3u /* the owners, how complete that is, the next command */
#define OWNERS_SHOWN 3u
#define INDENT 8u	  /* of the advice */
#define INDENT_HELD 3u	  /* of who holds memory */
#define EXPOSED_SHARE 20u /* exposed communication is named from one part in this many of the time */

static void add_line(struct verdict *verdict, char *line)
{
	if (verdict->count < VERDICT_LINES)
		verdict->lines[verdict->count++] = line;
	else
		free(line);
}

/*
 * Length of the longest part that ends between two clauses, of which `marks` are the ends, and has at most `most`
 * columns, else of the shortest.  After the first sentence only whole ones are added.
 */
static size_t length_of_clauses(const char *text, const char *marks, size_t most)
{
	size_t length = strlen(text), fits = 0;
	bool in_first = true;
	int depth = 0;

	length -= length && text[length - 1] == '.';
	for (size_t i = 1; i <= length; i++) {
		bool ends_sentence = i == length || (text[i] == '.' && text[i + 1] == ' ');
		bool ends_clause = ends_sentence || (text[i] == ' ' && text[i + 1] == '(' && strchr(marks, '(')) ||
				   (strchr(marks, text[i]) && text[i + 1] == ' ');

		if (!depth && (in_first ? ends_clause : ends_sentence) && (!fits || i <= most))
			fits = i;
		if (!depth && ends_sentence)
			in_first = false;
		depth += text[i] == '(';
		depth -= text[i] == ')';
	}
	return fits ? fits : length; /* a bracket is open */
}

/* Text as lines of the width; the caller frees it. */
static char *wrapped_text(const char *text, unsigned width)
{
	char *wrapped = NULL;
	size_t size = 0;
	FILE *out = xmemstream(&wrapped, &size);

	text_wrap(out, text, 0, 2, width, TEXT_WHOLE);
	fclose(out);
	return wrapped;
}

/* Adds text as lines of the width, at most that many, and of more only whole clauses; frees it. */
static void add_wrapped(struct verdict *verdict, char *text, unsigned width, size_t most)
{
	char *wrapped = wrapped_text(text, width), *rest, *line;

	for (size_t columns = most * width; text_lines(wrapped) > most && columns;
	     columns -= columns > width ? width / 4 : columns) {
		text[length_of_clauses(text, ":;", columns)] = '\0';
		free(wrapped);
		wrapped = wrapped_text(text, width);
	}
	rest = wrapped;
	while (most-- && (line = strsep(&rest, "\n")) && *line)
		add_line(verdict, xstrdup(line));
	free(wrapped);
	free(text);
}

/* ---- a loss ------------------------------------------------------------------------------------------------------ */

/* How much a loss says besides its line, most first. */
enum detail {
	WITH_ALL,
	WITH_FIRST_CAUSE, /* its other causes are left out */
	WITH_ONE_LINE,	  /* so are the call at the line, and how many other lines and which processes there are */
	WITHOUT_STEP,	  /* so is its time a step */
};

/* " (worker 4711 and 3 more)", in short " (4 processes)"; "" where one process is all there is. */
static char *processes_text(const struct analyses *all, const struct why_finding *finding, enum detail detail)
{
	AUTO_FREE char *label = NULL;

	if (finding->loss->cause == WHY_RANK ||
	    (finding->processes < 2 && !why_names_process(all, finding->line->process)))
		return xstrdup("");
	if (finding->processes > 1 && detail >= WITH_ONE_LINE)
		return xasprintf(" (%zu processes)", finding->processes);
	label = process_label(&all->model->processes[finding->line->process]);
	if (finding->processes < 2)
		return xasprintf(" (%s)", label);
	return xasprintf(" (%s and %zu more)", label, finding->processes - 1);
}

static char *lines_text(const struct why_finding *finding)
{
	if (finding->lines < 2)
		return xstrdup("");
	return xasprintf(", and %s more line%s", number_count(finding->lines - 1).text, finding->lines > 2 ? "s" : "");
}

/* "1. 312.4 ms, 42.5 %, 3.1 ms a step, data loading: server.py:52 detokenize (worker 4711)" */
static char *loss_text(const struct analyses *all, const struct why_finding *finding, size_t number, enum detail detail,
		       enum line_brevity brevity)
{
	const struct why *why = &all->why;
	bool is_bare = detail >= WITH_ONE_LINE && finding->line->line != NONE;
	AUTO_FREE char *place = is_bare ? why_brief_place(all, finding->loss, finding->line, brevity)
					: why_place(all, finding->loss, finding->line, brevity);
	AUTO_FREE char *more = detail >= WITH_ONE_LINE ? xstrdup("") : lines_text(finding);
	AUTO_FREE char *processes = processes_text(all, finding, detail), *step = NULL;
	AUTO_FREE char *cause =
		detail == WITH_ALL ? why_causes_text(finding) : xstrdup(why_short(finding->loss->cause));

	step = why->step_count && detail < WITHOUT_STEP
		       ? xasprintf("%s a step, ", number_time(finding->ns / why->step_count).text)
		       : xstrdup("");
	return xasprintf("%zu. %s, %s %%, %s%s: %s%s%s", number, number_time(finding->ns).text,
			 number_percent((double)finding->ns, (double)why->looked_ns).text, step, cause, place, more,
			 processes);
}

/* The first that fits, else the last, which sticks out; least: how a line is named at least. */
static char *fitting_loss(const struct analyses *all, const struct why_finding *finding, size_t number, unsigned width,
			  enum line_brevity least)
{
	static const struct {
		enum detail detail;
		enum line_brevity brevity;
	} ways[] = {
		{WITH_ALL, LINE_WITH_FUNCTION},	      {WITH_ALL, LINE_WITH_METHOD},
		{WITH_FIRST_CAUSE, LINE_WITH_METHOD}, {WITH_ONE_LINE, LINE_WITH_METHOD},
		{WITH_ONE_LINE, LINE_WITH_CALLER},    {WITHOUT_STEP, LINE_WITH_CALLER},
		{WITHOUT_STEP, LINE_ALONE},
	};
	char *text = NULL;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && (!text || text_width(text) > width); i++) {
		if (ways[i].brevity > least)
			break;
		free(text);
		text = loss_text(all, finding, number, ways[i].detail, ways[i].brevity);
	}
	return text;
}

/* "   Try: Make that line cheaper", as much of the advice as fits */
static char *try_text(const struct analyses *all, const struct why_finding *finding, unsigned width)
{
	struct why_loss own = *finding->loss; /* the loss as if it had that line alone */
	struct why_line line = *finding->line;
	AUTO_FREE char *advice = NULL;

	own.lines = &line;
	own.line_count = 1;
	advice = why_advice(all, &own);
	return xasprintf("   Try: %.*s", (int)length_of_clauses(advice, "(,:;", width - INDENT), advice);
}

/* Of the first `most` those that are worth a line. */
static size_t shown_of(const struct analyses *all, const struct why_findings *findings, size_t most)
{
	size_t shown = 0;

	if (all->why.lost_ns < all->why.looked_ns / WHY_MEND_SHARE)
		return 0;
	while (shown < findings->all.count && shown < most &&
	       findings->all.items[shown].ns >= all->why.looked_ns / WHY_LEAST_SHARE)
		shown++;
	return shown;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* What grows, and who holds it; at most MEMORY_LINES. */
static void add_memory(struct verdict *verdict, const struct analyses *all, unsigned width)
{
	char *growing = report_torch_growing(all), *held = report_torch_growing_held(all, width - INDENT_HELD);

	if (growing)
		add_line(verdict, growing);
	if (held)
		add_line(verdict, xasprintf("%*s%s", (int)INDENT_HELD, "", held));
	free(held);
}

/* ---- the lines that own the GPU ---------------------------------------------------------------------------------- */

/* By the user's own lines: two lines of a library that one of them called are one. */
static char *owners_text(const struct analyses *all, const struct line_sums *sums, enum line_brevity brevity)
{
	AUTO_FREE struct tally_entry *sorted = tally_sorted(&sums->user_lines, false);
	char *text = xstrdup("");

	for (size_t i = 0; i < sums->user_lines.count && i < OWNERS_SHOWN; i++) {
		AUTO_FREE char *name = line_name(&all->lines, sorted[i].key.part[0], brevity);

		if (i && sorted[i].ns < sums->sum / WHY_LEAST_SHARE)
			break;
		text = xjoin(text, ", ",
			     xasprintf("%s %% %s", number_percent((double)sorted[i].ns, (double)sums->sum).text, name));
	}
	return text;
}

static void add_owners(struct verdict *verdict, const struct analyses *all, unsigned width)
{
	const struct line_sums *sums = all->gpu_ops ? &all->gpu_lines : &all->call_lines;
	const char *title = all->gpu_ops ? "Most GPU time: " : "Most launches: ";
	char *text;

	if (!sums->count)
		return;
	text = owners_text(all, sums, LINE_WITH_FUNCTION);
	for (unsigned brevity = LINE_WITH_METHOD; brevity <= LINE_ALONE && strlen(title) + text_width(text) > width;
	     brevity++) {
		free(text);
		text = owners_text(all, sums, (enum line_brevity)brevity);
	}
	add_line(verdict, xjoin(xstrdup(title), "", text));
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* How complete the answer is, as many clauses of it as fit. */
static void add_joined(struct verdict *verdict, const struct analyses *all, unsigned width)
{
	char *text = report_joined(all);

	text[length_of_clauses(text, ";", width)] = '\0';
	add_line(verdict, text);
}

/* Whether it is large, and no smaller than the last loss for which there is room. */
static bool names_exposed(const struct exposed *exposed, const struct analyses *all,
			  const struct why_findings *findings, size_t shown, size_t most)
{
	double share = exposed->whole_ns ? (double)exposed->ns / (double)exposed->whole_ns : 0;

	if (share < 1.0 / EXPOSED_SHARE)
		return false;
	return shown < most || share * (double)all->why.looked_ns >= (double)findings->all.items[shown - 1].ns;
}

static char *busy_text(const struct analyses *all, unsigned width, bool has_losses)
{
	static const char losses_follow[] = "Lost most to:";
	char *text = why_busy(all);

	if (!has_losses || text_width(text) + sizeof(losses_follow) > width)
		return text;
	return xjoin(text, " ", xstrdup(losses_follow));
}

/* Adds what can be said; where fewer losses leave room, also what makes it less certain. */
static void add_answer(struct verdict *verdict, const struct analyses *all, unsigned width)
{
	size_t most = LOSSES_SHOWN - (all->torch_memory.growing_count != 0), shown;
	struct exposed exposed = exposed_of(all);
	struct why_findings findings;
	char *slow_gpu = report_slow_gpu(all);
	bool has_exposed;
	size_t others, room;
	AUTO_FREE char *caution = NULL;

	why_findings_make(&findings, &all->why, all->why.looked_ns / WHY_LEAST_SHARE);
	shown = shown_of(all, &findings, most);
	has_exposed = names_exposed(&exposed, all, &findings, shown, most);
	others = (size_t)has_exposed + (slow_gpu != NULL);
	if (shown + others > most) /* they take the place of smaller losses */
		shown = most > others ? most - others : 1;
	add_line(verdict, busy_text(all, width, shown));
	if (!shown && !others)
		add_line(verdict, why_nothing(all));
	for (size_t i = 0; i < shown; i++) {
		verdict->loss[verdict->count] = i + 1;
		add_line(verdict, fitting_loss(all, &findings.all.items[i], i + 1, width, LINE_ALONE));
		add_line(verdict, try_text(all, &findings.all.items[i], width));
	}
	if (has_exposed)
		add_line(verdict, exposed_text(all, &exposed));
	if (slow_gpu)
		add_line(verdict, slow_gpu);
	room = VERDICT_LINES - verdict->count - LAST_LINES - (all->torch_memory.growing_count ? MEMORY_LINES : 0);
	caution = shown < most && room ? why_caution(all, 0) : NULL;
	if (caution)
		add_wrapped(verdict, xstrdup(caution), width, room < CAUTION_LINES ? room : CAUTION_LINES);
	add_memory(verdict, all, width);
	add_owners(verdict, all, width);
	add_joined(verdict, all, width);
	verdict->command = verdict->count;
	add_line(verdict, next_command(all, shown ? &findings.all.items[0] : NULL, caution));
	why_findings_free(&findings);
}

void verdict_make(struct verdict *verdict, const struct analyses *all, unsigned width)
{
	char *unknown = why_unknown(all);

	*verdict = (struct verdict){.command = VERDICT_LINES};
	if (!unknown) {
		add_answer(verdict, all, width);
		return;
	}
	add_wrapped(verdict, unknown, width, VERDICT_LINES - 2 - (all->torch_memory.growing_count ? MEMORY_LINES : 0));
	add_memory(verdict, all, width);
	add_owners(verdict, all, width);
	add_joined(verdict, all, width);
}

/* "1. 65.9 %, Python: util.py:11 busy <- train.py:31", as much of a loss as fits. */
static char *brief_text(const struct analyses *all, const struct why_finding *finding, size_t number, unsigned width)
{
	const struct number percent = number_percent((double)finding->ns, (double)all->why.looked_ns);
	const char *cause = why_short(finding->loss->cause);
	const char *before = why_is_culprit(finding->loss->cause, finding->line) ? "" : "before ";
	AUTO_FREE char *place = line_name(&all->lines, finding->line->line, LINE_WITH_METHOD);
	AUTO_FREE char *whole = why_place(all, finding->loss, finding->line, LINE_WITH_METHOD);
	char *text;

	text = xasprintf("%zu. %s %%, %s: %s", number, percent.text, cause, whole);
	if (text_width(text) > width) {
		free(text);
		text = xasprintf("%zu. %s %%, %s: %s%s", number, percent.text, cause, before, place);
	}
	if (text_width(text) > width) {
		free(text);
		text = xasprintf("%s %% %s%s", percent.text, before, place);
	}
	if (text_width(text) > width) {
		free(text);
		text = xstrdup(place);
	}
	return text;
}

/* Takes over the text. */
static void add_truncated(struct verdict *verdict, char *text, unsigned width, enum text_truncate how)
{
	char *fitting = NULL;
	size_t size = 0;
	FILE *out = xmemstream(&fitting, &size);

	text_put(out, text, width, how);
	fclose(out);
	free(text);
	add_line(verdict, fitting);
}

static void add_brief_loss(struct verdict *verdict, const struct analyses *all, const struct why_finding *finding,
			   size_t number, unsigned width)
{
	char *text = fitting_loss(all, finding, number, width, LINE_WITH_METHOD);

	if (text_width(text) > width && finding->line->line != NONE) {
		free(text);
		text = brief_text(all, finding, number, width);
	}
	add_truncated(verdict, text, width, TEXT_TRUNCATE_PLACE);
}

static void add_brief_answer(struct verdict *verdict, const struct analyses *all, unsigned width)
{
	struct why_findings findings;
	size_t shown;

	why_findings_make(&findings, &all->why, all->why.looked_ns / WHY_LEAST_SHARE);
	shown = shown_of(all, &findings, LOSSES_SHOWN);
	if (!shown)
		add_truncated(verdict, why_nothing(all), width, TEXT_TRUNCATE_END);
	for (size_t i = 0; i < shown; i++)
		add_brief_loss(verdict, all, &findings.all.items[i], i + 1, width);
	why_findings_free(&findings);
}

void verdict_make_brief(struct verdict *verdict, const struct analyses *all, unsigned width)
{
	char *unknown = why_unknown(all);

	*verdict = (struct verdict){0};
	if (unknown)
		add_wrapped(verdict, unknown, width, LOSSES_SHOWN);
	else
		add_brief_answer(verdict, all, width);
}

void verdict_free(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++)
		free(verdict->lines[i]);
	*verdict = (struct verdict){0};
}
