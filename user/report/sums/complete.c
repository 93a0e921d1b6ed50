/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receipt: what was seen, joined and lost, and what gputrace itself cost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/signal_name.h"
#include "report/page/parts.h"

#define PROBED_MOST 8u /* most files with probes that are named */

static void put_color(struct report *report, const char *escape)
{
	fputs(report->color ? escape : "", report->out);
}

static void put_warning(struct report *report, const char *text)
{
	put_color(report, "\033[31m");
	report_text(report, 2, "%s", text);
	put_color(report, "\033[0m");
}

static void put_truncated(struct report *report)
{
	enum complete_end end = report->all->complete.end;
	static const char *const warnings[] = {
		[COMPLETE_TRUNCATED] =
			"Cut short: the log ends before the trace did; what follows covers what was written.",
		[COMPLETE_DISK_FULL] = "Cut short: the disk was full; what follows covers what was written.",
		[COMPLETE_FAILED] = "Cut short: recording ended with an error; what follows covers what was written.",
	};

	if (end == COMPLETE_TRUNCATED && report->all->complete.tool)
		put_warning(report, "Cut short or damaged: what follows covers what could be read of the file.");
	else if (end != COMPLETE_ENDED)
		put_warning(report, warnings[end]);
}

/* Puts clauses on one line as long as they fit; frees them. */
static void put_clauses(struct report *report, char *clauses[], unsigned count)
{
	unsigned column = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned width = text_width(clauses[i]) + (i + 1 < count);

		if (column && column + 1 + width > report->width) {
			fputs("\n ", report->out);
			column = 1;
		}
		if (column) {
			fputc(' ', report->out);
			column++;
		}
		column += report_put(report, clauses[i], report->width - column, TEXT_TRUNCATE_END);
		if (i + 1 < count)
			fputc(';', report->out);
		column++;
		free(clauses[i]);
	}
	fputc('\n', report->out);
}

/* Only functions are known, as in torch.profiler's files. */
static bool has_functions_only(const struct complete *complete)
{
	return complete->tool && complete->gpu_ns_with_function && !complete->gpu_ns_with_line;
}

static char *under_python(const struct complete *complete)
{
	bool lines = !has_functions_only(complete);
	uint64_t ns = lines ? complete->gpu_ns_with_line : complete->gpu_ns_with_function;

	return xasprintf("%s %% of GPU time under a Python %s",
			 number_percent((double)ns, (double)complete->gpu_ns).text, lines ? "line" : "function");
}

/* Nothing is called complete of which something is lost or missing. */
static const char *receipt_name(const struct complete *complete)
{
	if (complete->tool)
		return "Read: ";
	return complete->complete == MODEL_COMPLETE && !complete->lost && complete->end == COMPLETE_ENDED
		       ? "Complete: "
		       : "Incomplete: ";
}

#define CLAUSES_MOST 3u

/* Returns their number; the caller frees them. */
static unsigned make_clauses(const struct complete *complete, char *clauses[CLAUSES_MOST])
{
	const char *name = receipt_name(complete);
	AUTO_FREE char *lost = complete->tool ? xstrdup("") : xasprintf(", %s lost", number_count(complete->lost).text);
	unsigned count = 0;

	if (!complete->tool && !complete->launches && !complete->lost && !complete->has_gpu_times &&
	    complete->end == COMPLETE_ENDED) {
		clauses[count++] = xstrdup("0 launches recorded, 0 lost");
	} else if (complete->has_gpu_times) {
		clauses[count++] =
			xasprintf("%s%s of %s launches joined%s", name, number_count(complete->launches_joined).text,
				  number_count(complete->launches_meant).text, lost);
		clauses[count++] = under_python(complete);
		if (!complete->tool)
			clauses[count++] = xasprintf("times good to %s", number_time(complete->clock_error_ns).text);
	} else {
		AUTO_FREE char *failed =
			complete->launches_failed
				? xasprintf(", %s failed", number_count(complete->launches_failed).text)
				: xstrdup("");
		uint64_t done = complete->launches - complete->launches_failed;

		clauses[count++] = xasprintf("%s%s launches recorded%s%s", name, number_count(complete->launches).text,
					     lost, failed);
		if (done)
			clauses[count++] =
				xasprintf("%s %% of %s under a Python line",
					  number_percent((double)complete->launches_with_line, (double)done).text,
					  complete->launches_failed ? "the other launches" : "launches");
	}
	return count;
}

static void put_joined(struct report *report)
{
	const struct complete *complete = &report->all->complete;
	char *clauses[CLAUSES_MOST];
	unsigned count = make_clauses(complete, clauses);

	fputs(!report->color ? "" : complete->complete == MODEL_COMPLETE ? "\033[32m" : "\033[33m", report->out);
	put_clauses(report, clauses, count);
	fputs(report->color ? "\033[0m" : "", report->out);
}

char *report_joined(const struct analyses *all)
{
	char *clauses[CLAUSES_MOST], *text = xstrdup("");
	unsigned count = make_clauses(&all->complete, clauses);

	for (unsigned i = 0; i < count; i++)
		if (i < 2)
			text = xjoin(text, "; ", clauses[i]);
		else
			free(clauses[i]);
	return text;
}

static bool lacks_stacks(const struct complete *complete)
{
	static const char torch[] = "torch.profiler";

	return complete->launches && !complete->launches_with_stack && !complete->gpu_ns_with_function &&
	       !strncmp(complete->tool, torch, sizeof(torch) - 1);
}

/* Says what cannot be known of the trace. */
static void put_tool(struct report *report)
{
	const struct complete *complete = &report->all->complete;

	if (!complete->tool)
		return;
	report_text(report, 2, "Recorded by %s. Not recorded: what it lost, how good its times are, what it cost.%s",
		    complete->tool,
		    lacks_stacks(complete)	   ? " Python lines are in such a file with with_stack=True."
		    : has_functions_only(complete) ? " A line's number is its function's first: which line ran is "
						     "not in the file."
						   : "");
}

static void put_borrowed(struct report *report)
{
	const struct complete *complete = &report->all->complete;

	if (!complete->borrowed)
		return;
	report_text(report, 2,
		    "Another profiler had CUPTI's callbacks (torch.profiler keeps them before PyTorch 2.15): in pid "
		    "%" PRIu32 "%s calls met their GPU work by thread and time.",
		    complete->borrowed_pid, complete->borrowed > 1 ? " and others" : "");
}

/* The words of a row are plural; with a count of 1 they become singular. */
static void put_cause(struct report *report, const struct complete_row *row)
{
	static const struct {
		const char *several, *one;
	} words[] = {
		{"records that make ", "record that makes "},
		{"GPU operations that seem ", "GPU operation that seems "},
		{"GPU operations ", "GPU operation "},
		{"GPU records ", "GPU record "},
		{"launches ", "launch "},
		{"graph launches ", "graph launch "},
		{"calls whose Python stack was ", "call whose Python stack was "},
		{"calls ", "call "},
		{"files ", "file "},
		{"stacks ", "stack "},
		{"records ", "record "},
		{"steps ", "step "},
		{"buffers ", "buffer "},
		{"batches ", "batch "},
		{"code objects ", "code object "},
		{"functions ", "function "},
		{"other records ", "other record "},
		{"malformed GPU records", "malformed GPU record"},
		{"kernel names ", "kernel name "},
		{"kernels ", "kernel "},
		{"returns ", "return "},
		{"hits ", "hit "},
		{"places ", "place "},
		{"ops ", "op "},
		{"events ", "event "},
		{"processes whose ", "process whose "},
		{"processes that the agent could not enter: no one saw their ",
		 "process that the agent could not enter: no one saw its "},
		{"processes left alone: they, or others of their user, keep ",
		 "process left alone: it, or another of its user, keeps "},
		{"samples ", "sample "},
		{"waits ", "wait "},
	};

	for (size_t i = 0; row->count == 1 && i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i].several);

		if (strncmp(row->words, words[i].several, length) != 0)
			continue;
		report_line(report, "  1 %s%s", words[i].one, row->words + length);
		return;
	}
	report_line(report, "  %s %s", number_count(row->count).text, row->words);
}

/* The last calls of processes whose agent could not report the work of these. */
static void put_cut(struct report *report)
{
	const struct complete *complete = &report->all->complete;
	char others[60] = "", ended[80] = "which was killed, crashed or ended by a system call of its own";

	if (!complete->cut_launches)
		return;
	if (complete->cut_processes > 1)
		snprintf(others, sizeof(others), ", and of %s other process%s",
			 number_count(complete->cut_processes - 1).text, complete->cut_processes > 2 ? "es" : "");
	if (complete->cut_alive)
		snprintf(ended, sizeof(ended), "whose agent did not answer when the trace ended");
	else if (complete->cut_signal)
		snprintf(ended, sizeof(ended), "which ended by %s", signal_name(complete->cut_signal));
	report_text(report, 2, "%s launch%s without GPU times: of the last %s of CUDA calls of pid %" PRIu32 ", %s%s.",
		    number_count(complete->cut_launches).text, complete->cut_launches == 1 ? "" : "es",
		    number_time(complete->cut_ns).text, complete->cut_pid, ended, others);
}

/* All that went wrong, by cause; nothing if all is well. */
static void put_causes(struct report *report)
{
	const struct complete *complete = &report->all->complete;

	for (size_t i = 0; i < complete->count && !report->writer; i++)
		put_cause(report, &complete->rows[i]);
	if (complete->operations_foreign)
		report_line(report,
			    "  %s GPU operations were taken from the buffers of another profiler (torch.profiler).",
			    number_count(complete->operations_foreign).text);
	put_borrowed(report);
	put_cut(report);
	if (complete->gaps)
		report_line(report, "  Another profiler (such as torch.profiler) had CUPTI %s times, %s in all.",
			    number_count(complete->gaps).text, number_time(complete->gap_ns).text);
	if (complete->other_client_suspected && !complete->tool)
		report_text(report, 2,
			    "Most launches have no GPU record: another user of CUPTI in the process, such as "
			    "torch.profiler, "
			    "may have taken them.");
}

/* The time at which something was lost is not known. */
static void put_whole(struct report *report)
{
	if (report->model->slice && report->all->complete.lost)
		report_line(report, "  What was lost, and the notes, are of the whole recording.");
}

static void put_threshold(struct report *report)
{
	const struct complete *complete = &report->all->complete;

	if (complete->complete >= complete->wanted)
		return;
	put_color(report, "\033[31m");
	report_text(report, 2, "Below what was asked for: %s %% complete, --min-complete %s.",
		    number_thousandths(complete->complete).text, number_thousandths(complete->wanted).text);
	put_color(report, "\033[0m");
}

/* "13.0", from the numbers that CUPTI reports (cupti_version.h). */
static char *cupti_name(uint32_t version)
{
	static const char *const before_13[] = {
		[18] = "11.8", [19] = "12.0", [20] = "12.2", [21] = "12.3", [22] = "12.4",
		[23] = "12.5", [24] = "12.6", [26] = "12.8", [27] = "12.9", [28] = "12.9",
	};

	if (version < sizeof(before_13) / sizeof(before_13[0]) && before_13[version])
		return xasprintf("CUPTI %s", before_13[version]);
	if (version >= 130000)
		return xasprintf("CUPTI %" PRIu32 ".%" PRIu32, version / 10000, version / 100 % 100);
	return xasprintf("CUPTI version %" PRIu32, version);
}

/* Adds ", text" unless the list has it; frees text. */
static void add_once(char **list, char *text)
{
	if (strstr(*list, text))
		free(text);
	else
		*list = xjoin(*list, ", ", text);
}

/* Names of the first files with probes: the text before the colon of each line (attach/probes/files.c). */
static char *probed_names(const struct model *model)
{
	char *names = xstrdup("");

	for (uint32_t i = 0; i < model->probe_count && i < PROBED_MOST; i++)
		add_once(&names, xasprintf("%.*s", (int)strcspn(model->probes[i], ":"), model->probes[i]));
	if (model->probe_count > PROBED_MOST)
		add_once(&names, xasprintf("and %u more", model->probe_count - PROBED_MOST));
	return names;
}

static void put_collector(struct report *report)
{
	const struct model *model = report->model;
	const struct model_receipt *receipt = &model_source(model)->receipt;
	AUTO_FREE char *versions = xstrdup(""), *probes = probed_names(model), *ring = NULL;

	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].python)
			add_once(&versions, xasprintf("Python %u.%u", model->processes[i].python >> 8,
						      model->processes[i].python & 0xffu));
	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].cupti_version)
			add_once(&versions, cupti_name(model->processes[i].cupti_version));
	if (receipt->ring_bytes)
		ring = xasprintf("; ring buffer %s %% full at most",
				 number_percent((double)receipt->ring_bytes_max, (double)receipt->ring_bytes).text);
	else
		ring = xstrdup("");
	report_text(report, 2, "gputrace: %" PRIu64 ".%02u s CPU%s%s%s%s%s", receipt->cpu_ns / 1000000000,
		    (unsigned)(receipt->cpu_ns / 10000000 % 100), ring, *probes ? "; probes on " : "", probes,
		    *versions ? "; " : "", versions);
}

static void put_list(struct report *report, const char *prefix, const char *const *texts, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < report->rows; i++)
		report_text(report, 2, "%s%s", prefix, texts[i]);
	if (count > report->rows)
		report_line(report, "  ... and %u more", count - report->rows);
}

/* Sets that some agent was not asked for (--trace), or that its CUPTI did not provide. */
static void put_not_recorded(struct report *report)
{
	const struct complete *complete = &report->all->complete;
	AUTO_FREE char *missing = xstrdup("");

	for (size_t i = 0; i < complete->set_count; i++)
		add_once(&missing, xstrdup(complete->sets[i]));
	if (complete->set_count)
		report_line(report, "Not recorded besides kernels: %s (--trace)", missing);
}

void report_complete(struct report *report)
{
	const struct model *model = report->model;

	if (report->writer) {
		report_losses(report);
		report_receipt(report);
		report_start(report);
		report_detail(report);
	} else {
		fputc('\n', report->out);
	}
	put_truncated(report);
	if (!report->writer)
		put_joined(report);
	put_causes(report);
	put_whole(report);
	put_threshold(report);
	put_not_recorded(report);
	if (!report->writer) {
		report_detail(report);
		report_start(report);
	}
	put_list(report, "Note: ", model->notes, model->note_count);
	if (report->all->complete.tool)
		put_tool(report);
	else
		put_collector(report);
	report_cost_line(report);
}
