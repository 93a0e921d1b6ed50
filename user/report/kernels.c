/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by kernel, and the line that launches most of each. */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

/* Name spaces that nearly every kernel of PyTorch has, and that push what differs off the page. */
static void drop_name_spaces(char *name)
{
	static const char *const spaces[] = {"at::native::", "(anonymous namespace)::", "at::cuda::"};

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		size_t length = strlen(spaces[i]);

		for (char *at = strstr(name, spaces[i]); at; at = strstr(at, spaces[i]))
			memmove(at, at + length, strlen(at + length) + 1);
	}
}

/* The name without what does not tell kernels apart for a reader: `void `, common name spaces, the parameter list.
 * Caller frees. */
static char *short_name(const char *name)
{
	size_t length, depth = 0;
	char *copy;

	if (!strncmp(name, "void ", 5))
		name += 5;
	copy = xstrdup(name);
	drop_name_spaces(copy);
	length = strlen(copy);
	if (!length || copy[length - 1] != ')')
		return copy;
	for (size_t at = length; at-- > 1;) {
		depth += copy[at] == ')';
		depth -= copy[at] == '(';
		if (depth)
			continue;
		if (copy[at - 1] != ' ' && copy[at - 1] != ':')
			copy[at] = '\0';
		break;
	}
	return copy;
}

/* For each first part of the key the second part with most time. */
static void find_main_lines(const struct tally *pairs, struct tally *best)
{
	for (size_t i = 0; i < pairs->count; i++) {
		const struct tally_entry *pair = &pairs->entries[i];
		struct tally_entry *entry = tally_at(best, (struct tally_key){{pair->key.part[0]}});

		if (!entry->more || pair->ns > entry->ns) {
			entry->ns = pair->ns;
			entry->more = (uint64_t)pair->key.part[1] + 1;
		}
	}
}

static void put_kernels(struct report *report, const struct tally *kernels, struct tally *best, uint64_t gpu_sum)
{
	struct tally_entry *sorted = tally_sorted(kernels, false);
	size_t shown = kernels->count < report->rows ? kernels->count : report->rows;
	struct time_unit unit = time_unit_for(gpu_sum);
	const struct column columns[] = {
		{unit.name, false, 0},
		{"%", false, 0},
		{"calls", false, 0},
		{"avg us", false, 0},
		{"kernel", true, TEXT_TRUNCATE_MIDDLE},
		{"mostly launched at", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;
	uint64_t rest = 0;

	report_title(report, "GPU time by kernel", "% of GPU time");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct tally_entry *entry = &sorted[i];
		uint32_t string = entry->key.part[0];
		char *name = short_name(string == NONE ? "(name not known)" : report->model->strings[string]);
		char *label = line_label(&report->all->lines, (uint32_t)tally_at(best, entry->key)->more - 1);

		table_add_number(&table, number_in(entry->ns, unit));
		table_add_number(&table, number_percent((double)entry->ns, (double)gpu_sum));
		table_add_number(&table, number_count(entry->count));
		table_add_number(&table, number_tenths((double)entry->ns / (double)entry->count / 1e3));
		table_add(&table, name);
		table_add(&table, label);
		free(name);
		free(label);
	}
	table_end(&table, report->out, report->width, report->color);
	for (size_t i = shown; i < kernels->count; i++)
		rest += sorted[i].ns;
	report_more(report, kernels->count - shown, "kernels", number_in(rest, unit), unit.name);
	free(sorted);
}

void report_gpu_by_kernel(struct report *report)
{
	const struct model *model = report->model;
	struct tally kernels = {0}, pairs = {0}, best = {0};
	uint64_t gpu_sum = 0;

	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];
		struct tally_entry *entry;

		gpu_sum += gpu_ns(op);
		if (op->kind != MODEL_KERNEL)
			continue;
		entry = tally_at(&kernels, (struct tally_key){{op->name}});
		entry->ns += gpu_ns(op);
		entry->count++;
		tally_at(&pairs, (struct tally_key){{op->name, line_of_gpu(report, op)}})->ns += gpu_ns(op);
	}
	find_main_lines(&pairs, &best);
	if (kernels.count)
		put_kernels(report, &kernels, &best, gpu_sum);
	tally_free(&kernels);
	tally_free(&pairs);
	tally_free(&best);
}
