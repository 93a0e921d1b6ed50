/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receipt: what was seen, joined and lost, and what gputrace itself cost. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

static void put_warning(struct report *report, const char *text)
{
	fputs(report->color ? "\033[31m" : "", report->out);
	report_text(report, 2, text);
	fputs(report->color ? "\033[0m" : "", report->out);
}

static void put_truncated(struct report *report)
{
	const struct model_receipt *receipt = &model_source(report->model)->receipt;

	if (receipt->truncated || !receipt->end_reason)
		put_warning(report,
			    "Cut short: the log ends before the trace did; what follows covers what was written.");
	else if (receipt->end_reason == GPT_END_DISK)
		put_warning(report, "Cut short: the disk was full; what follows covers what was written.");
	else if (receipt->end_reason == GPT_END_ERROR)
		put_warning(report, "Cut short: recording ended with an error; what follows covers what was written.");
}

/* Clauses on one line as long as they fit; frees them. */
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
		column += text_put(report->out, clauses[i], report->width - column, TEXT_TRUNCATE_END);
		if (i + 1 < count)
			fputc(';', report->out);
		column++;
		free(clauses[i]);
	}
	fputc('\n', report->out);
}

static void put_joined(struct report *report)
{
	const struct model_receipt *receipt = &model_source(report->model)->receipt;
	uint64_t launches = receipt->launches + receipt->launches_failed;
	bool whole = model_completeness(report->model) == MODEL_COMPLETE;
	char *clauses[3];
	unsigned count = 0;

	if (receipt->launches_expected || receipt->gpu_ops) {
		clauses[count++] = xasprintf(
			"Complete: %s of %s launches joined, %s lost", number_count(receipt->launches_joined).text,
			number_count(model_launches_meant(report->model)).text, number_count(receipt->lost).text);
		clauses[count++] =
			xasprintf("%s %% of GPU time under a Python line",
				  number_percent((double)receipt->gpu_ns_with_line, (double)receipt->gpu_ns).text);
		clauses[count++] = xasprintf("times good to %s", number_time(receipt->clock_error_ns).text);
	} else {
		clauses[count++] = xasprintf("Complete: %s launches recorded, %s lost", number_count(launches).text,
					     number_count(receipt->lost).text);
		if (launches)
			clauses[count++] =
				xasprintf("%s %% of launches under a Python line",
					  number_percent((double)receipt->launches_with_stack, (double)launches).text);
	}
	fputs(!report->color ? "" : whole ? "\033[32m" : "\033[33m", report->out);
	put_clauses(report, clauses, count);
	fputs(report->color ? "\033[0m" : "", report->out);
}

static void put_borrowed(struct report *report)
{
	const struct model *model = report->model;
	uint32_t borrowed = 0, pid = 0;
	char *text;

	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].borrowed_ns) {
			borrowed++;
			pid = model->processes[i].pid;
		}
	if (!borrowed)
		return;
	text = xasprintf("CUPTI was borrowed between the sessions of the torch.profiler in pid %" PRIu32
			 "%s, which keeps it: calls met their GPU work by thread and time.",
			 pid, borrowed > 1 ? " and others" : "");
	report_text(report, 2, text);
	free(text);
}

static void put_cause(struct report *report, uint64_t count, const char *what)
{
	if (count)
		report_line(report, "  %s %s", number_count(count).text, what);
}

/* Everything that is not as it should be, by cause; nothing when all is well. */
static void put_causes(struct report *report)
{
	const struct model_receipt *receipt = &model_source(report->model)->receipt;
	struct model_loss losses[MODEL_LOSSES];
	const struct {
		uint64_t count;
		const char *what;
	} others[] = {
		{receipt->counters[GPT_COUNTER_STACK_TRUNCATED],
		 "stacks deeper than what is kept: frames in their middle are left out"},
		{receipt->launches_captured, "launches captured into graphs: executed when those are launched"},
		{receipt->launches_agent_away, "launches without GPU times: the agent did not record yet, or had left"},
		{receipt->launches_no_agent, "launches without GPU times: no agent in their process"},
		{receipt->launches_short,
		 "graph launches of which operations are missing that other launches of the graph had"},
		{receipt->gap_launches, "launches whose GPU records went to another profiler in the process"},
		{receipt->bad_records, "records in the log that make no sense"},
		{receipt->gpu_ops_before, "GPU operations launched before the trace began"},
		{receipt->gpu_ops - receipt->gpu_ops_joined - receipt->gpu_ops_before,
		 "GPU operations whose launch was not seen"},
		{receipt->gpu_ops_untimed, "GPU operations that CUPTI could not time"},
		{receipt->early, "GPU operations that seem to start before their launch"},
		{receipt->clock_steps, "steps of the wall clock during the trace"},
	};

	model_losses(receipt, losses);
	for (size_t i = 0; i < MODEL_LOSSES; i++)
		put_cause(report, losses[i].count, losses[i].words);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		put_cause(report, others[i].count, others[i].what);
	if (receipt->gpu_ops_foreign)
		report_line(report,
			    "  %s GPU operations were taken from the buffers of another profiler (torch.profiler).",
			    number_count(receipt->gpu_ops_foreign).text);
	put_borrowed(report);
	if (receipt->gaps)
		report_line(report, "  Another profiler (such as torch.profiler) had CUPTI %s times, %s in all.",
			    number_count(receipt->gaps).text, number_time(receipt->gap_ns).text);
	/* Where records were dropped for want of buffers that is why. */
	if (!receipt->buffers_refused &&
	    receipt->launches_joined + receipt->gap_launches < receipt->launches_expected / 2)
		report_text(report, 2,
			    "Most launches have no GPU record: another user of CUPTI in the process, such as "
			    "torch.profiler, "
			    "may have taken them.");
}

static void put_threshold(struct report *report)
{
	uint32_t complete = model_completeness(report->model), wanted = report->model->min_complete;
	char *text;

	if (complete >= wanted)
		return;
	text = xasprintf("Below what was asked for: %s %% complete, --min-complete %s.",
			 number_thousandths(complete).text, number_thousandths(wanted).text);
	put_warning(report, text);
	free(text);
}

/* "13.0" from the numbers CUPTI gives (cupti_version.h). */
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

/* Adds ", text" once; takes text over. */
static void add_once(char **list, char *text)
{
	if (!strstr(*list, text)) {
		char *longer = xasprintf("%s%s%s", *list, **list ? ", " : "", text);

		free(*list);
		*list = longer;
	}
	free(text);
}

/* Names of the files with probes: what stands before the colon of each line (attach/files.c). */
static char *probed_names(const struct model *model)
{
	char *names = xstrdup("");

	for (uint32_t i = 0; i < model->probe_count; i++)
		add_once(&names, xasprintf("%.*s", (int)strcspn(model->probes[i], ":"), model->probes[i]));
	return names;
}

static void put_collector(struct report *report)
{
	const struct model *model = report->model;
	const struct model_receipt *receipt = &model_source(model)->receipt;
	char *versions = xstrdup(""), *probes = probed_names(model), *text, *ring;

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
	text = xasprintf("gputrace: %" PRIu64 ".%02u s CPU%s%s%s%s%s", receipt->cpu_ns / 1000000000,
			 (unsigned)(receipt->cpu_ns / 10000000 % 100), ring, *probes ? "; probes on " : "", probes,
			 *versions ? "; " : "", versions);
	report_text(report, 2, text);
	free(text);
	free(ring);
	free(versions);
	free(probes);
}

static void put_list(struct report *report, const char *prefix, const char *const *texts, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < report->rows; i++) {
		char *text = xasprintf("%s%s", prefix, texts[i]);

		report_text(report, 2, text);
		free(text);
	}
	if (count > report->rows)
		report_line(report, "  ... and %u more", count - report->rows);
}

/* Whether the list "kernels,cuda" has the name. */
static bool lists(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == length && !memcmp(at, name, length))
			return true;
	return false;
}

/* Where all calls are recorded, waits are among them, and what CUPTI adds to them is nothing that one misses. */
static bool lacks(const char *list, const char *name)
{
	if (!strcmp(name, "nvtx")) /* only of use where the program names ranges */
		return false;
	return list && *list && !lists(list, name) && (strcmp(name, "sync") || !lists(list, "cuda"));
}

/* What some agent was not asked for (--trace), or its CUPTI did not give. */
static void put_not_recorded(struct report *report)
{
	static const char *const names[] = {
#define NAME(enumerator, name) #name,
		GPT_AGENT_ACTIVITY_SETS(NAME)
#undef NAME
	};
	const struct model *model = report->model;
	char *missing = xstrdup("");

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		for (uint32_t i = 0; i < model->process_count; i++)
			if (lacks(model->processes[i].agent_activity_sets, names[n]))
				add_once(&missing, xstrdup(names[n]));
	if (*missing)
		report_line(report, "Not recorded besides kernels: %s (--trace)", missing);
	free(missing);
}

void report_complete(struct report *report)
{
	const struct model *model = report->model;

	fputc('\n', report->out);
	put_truncated(report);
	put_joined(report);
	put_causes(report);
	put_threshold(report);
	put_not_recorded(report);
	put_list(report, "Note: ", model->notes, model->note_count);
	put_collector(report);
}
