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

static void put_cut_short(struct report *report)
{
	const struct model_receipt *receipt = &report->model->receipt;

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
		column += text_put(report->out, clauses[i], report->width - column, TEXT_CUT_END);
		if (i + 1 < count)
			fputc(';', report->out);
		column++;
		free(clauses[i]);
	}
	fputc('\n', report->out);
}

static void put_joined(struct report *report)
{
	const struct model_receipt *receipt = &report->model->receipt;
	uint64_t launches = receipt->launches + receipt->launches_failed;
	bool whole = !receipt->lost && receipt->launches_joined >= receipt->launches_expected && !receipt->truncated;
	char *clauses[3];
	unsigned count = 0;

	if (receipt->launches_expected || receipt->gpu_ops) {
		clauses[count++] = xasprintf(
			"Complete: %s of %s launches joined, %s lost", number_count(receipt->launches_joined).text,
			number_count(receipt->launches_expected).text, number_count(receipt->lost).text);
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

/* Everything that is not as it should be, by cause; nothing when all is well. */
static void put_causes(struct report *report)
{
	const struct model_receipt *receipt = &report->model->receipt;
	const uint64_t *accounts = receipt->accounts;
	const struct {
		uint64_t count;
		const char *what;
	} causes[] = {
		{accounts[GPT_ACC_CALLS_LOST], "calls lost: the ring buffer was full"},
		{accounts[GPT_ACC_STACKS_LOST], "stacks lost: the ring buffer was full"},
		{accounts[GPT_ACC_CODE_LOST], "code objects lost: the ring buffer was full"},
		{accounts[GPT_ACC_BATCHES_LOST], "batches of GPU records lost: the ring buffer was full"},
		{accounts[GPT_ACC_OTHER_LOST], "other records lost: the ring buffer was full"},
		{accounts[GPT_ACC_PYEVENT_LOST],
		 "begins and ends of collections and imports lost: the ring buffer was full"},
		{accounts[GPT_ACC_PYCALLS_LOST], "entries and ends of Python calls lost: the ring buffer was full"},
		{accounts[GPT_ACC_THREADS_FULL], "calls of threads beyond what gputrace can follow"},
		{accounts[GPT_ACC_STACK_CUT], "stacks deeper than what is kept: frames in their middle are left out"},
		{receipt->launches_captured, "launches captured into graphs: executed when those are launched"},
		{receipt->gap_launches, "launches whose GPU records went to another profiler in the process"},
		{receipt->cupti_dropped, "GPU records dropped by CUPTI"},
		{receipt->buffers_refused, "buffers CUPTI asked for and did not get"},
		{receipt->api_dropped, "returns of calls not reported by the agent"},
		{receipt->ranges_lost, "begins and ends of NVTX ranges not kept by the agent"},
		{receipt->names_dropped, "kernel names not kept by the agent"},
		{receipt->malformed, "malformed GPU records"},
		{receipt->bad_records, "records in the log that make no sense"},
		{receipt->gpu_ops - receipt->gpu_ops_joined, "GPU operations whose launch was not seen"},
		{receipt->gpu_ops_untimed, "GPU operations that CUPTI could not time"},
		{receipt->early, "GPU operations that seem to start before their launch"},
		{receipt->clock_steps, "steps of the wall clock during the trace"},
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].count)
			report_line(report, "  %s %s", number_count(causes[i].count).text, causes[i].what);
	if (receipt->gpu_ops_ridden)
		report_line(report,
			    "  %s GPU operations were taken from the buffers of another profiler (torch.profiler).",
			    number_count(receipt->gpu_ops_ridden).text);
	put_borrowed(report);
	if (receipt->gaps)
		report_line(report, "  Another profiler (such as torch.profiler) had CUPTI %s times, %s in all.",
			    number_count(receipt->gaps).text, number_time(receipt->gap_ns).text);
	if (receipt->launches_joined + receipt->gap_launches < receipt->launches_expected / 2)
		report_text(report, 2,
			    "Most launches have no GPU record: another user of CUPTI in the process, such as "
			    "torch.profiler, "
			    "may have taken them.");
}

static void put_threshold(struct report *report)
{
	double percent = model_completeness(report->model);
	char *text;

	if (!report->model->min_complete || percent >= report->model->min_complete)
		return;
	text = xasprintf("Below what was asked for: %s %% complete, --min-complete %" PRIu32 ".",
			 number_tenths(percent).text, report->model->min_complete);
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
	const struct model_receipt *receipt = &model->receipt;
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
static bool takes(const char *list, const char *name)
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
	return list && *list && !takes(list, name) && (strcmp(name, "sync") || !takes(list, "cuda"));
}

/* What some agent was not asked for (--trace), or its CUPTI did not give. */
static void put_not_recorded(struct report *report)
{
	static const char *const names[] = {
#define NAME(enumerator, name) #name,
		GPT_AGENT_TAKES(NAME)
#undef NAME
	};
	const struct model *model = report->model;
	char *missing = xstrdup("");

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		for (uint32_t i = 0; i < model->process_count; i++)
			if (lacks(model->processes[i].agent_takes, names[n]))
				add_once(&missing, xstrdup(names[n]));
	if (*missing)
		report_line(report, "Not recorded besides kernels: %s (--trace)", missing);
	free(missing);
}

void report_complete(struct report *report)
{
	const struct model *model = report->model;

	fputc('\n', report->out);
	put_cut_short(report);
	put_joined(report);
	put_causes(report);
	put_threshold(report);
	put_not_recorded(report);
	put_list(report, "Note: ", model->notes, model->note_count);
	put_collector(report);
}
