/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How busy each GPU was: the union of its operations over the recording. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

/* Columns for "GPU 0  name" before the figures go to a line of their own. */
#define NAME_LEAST 14u

/* One device; time is covered by a sweep over operations by start. */
struct usage {
	uint32_t device;
	uint64_t any_until, kernel_until; /* covered up to here */
	uint64_t any_ns, kernel_ns;
	uint64_t launches;
};

static struct usage *usage_of(struct tally *by_device, struct usage **usages, size_t *capacity, uint32_t device)
{
	size_t before = by_device->count;
	struct tally_entry *entry = tally_at(by_device, (struct tally_key){{device}});

	if (by_device->count != before) {
		*usages = array_reserve(*usages, sizeof(**usages), before, 1, capacity);
		(*usages)[before] = (struct usage){.device = device};
		entry->more = before;
	}
	return &(*usages)[entry->more];
}

/* How much of [start, end) lies after `until`, which moves on. */
static uint64_t cover(uint64_t *until, uint64_t start, uint64_t end)
{
	uint64_t from = start > *until ? start : *until;

	if (end <= from)
		return 0;
	*until = end;
	return end - from;
}

static void add_op(const struct report *report, struct usage *usage, const struct model_gpu *op)
{
	uint64_t start = op->start_ns < report->all->window.start_ns ? report->all->window.start_ns : op->start_ns;
	uint64_t end = op->end_ns > report->all->window.end_ns ? report->all->window.end_ns : op->end_ns;

	if (end <= start)
		return;
	usage->any_ns += cover(&usage->any_until, start, end);
	if (op->kind == MODEL_KERNEL)
		usage->kernel_ns += cover(&usage->kernel_until, start, end);
}

static const char *device_name(const struct model *model, uint32_t id)
{
	for (uint32_t i = 0; i < model->device_count; i++)
		if (model->devices[i].id == id)
			return model->devices[i].name;
	return "";
}

/* Kernels are what kernels cover, memcpys what only memcpys and memsets cover: they add up to busy. */
static void put_usage(struct report *report, const struct usage *usage)
{
	double window = (double)(report->all->window.end_ns - report->all->window.start_ns);
	char *name = xasprintf("GPU %" PRIu32 "  %s", usage->device, device_name(report->model, usage->device));
	char *facts = xasprintf("   busy %s %%   kernels %s %%   copies %s %%   idle %s %%   %s launches",
				number_percent((double)usage->any_ns, window).text,
				number_percent((double)usage->kernel_ns, window).text,
				number_percent((double)(usage->any_ns - usage->kernel_ns), window).text,
				number_percent(window - (double)usage->any_ns, window).text,
				number_count(usage->launches).text);
	unsigned taken = text_width(facts);
	bool fits = taken + NAME_LEAST <= report->width;

	text_put(report->out, name, fits ? report->width - taken : report->width, TEXT_TRUNCATE_MIDDLE);
	if (fits) {
		fprintf(report->out, "%s\n", facts);
	} else {
		fputs("\n  ", report->out);
		text_wrap(report->out, facts + strspn(facts, " "), 2, 2, report->width);
	}
	free(name);
	free(facts);
}

static int by_device_id(const void *left, const void *right)
{
	const struct usage *a = left, *b = right;

	return a->device < b->device ? -1 : a->device > b->device;
}

void report_devices(struct report *report)
{
	const struct model *model = report->model;
	struct tally by_device = {0};
	struct usage *usages = NULL;
	size_t capacity = 0;

	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];
		struct usage *usage = usage_of(&by_device, &usages, &capacity, op->device);

		add_op(report, usage, op);
		if (op->call != NONE && model->calls[op->call].first_gpu == i &&
		    (model->calls[op->call].class == GPT_CLASS_LAUNCH ||
		     model->calls[op->call].class == GPT_CLASS_GRAPH))
			usage->launches++;
	}
	if (usages)
		qsort(usages, by_device.count, sizeof(*usages), by_device_id);
	fputc('\n', report->out);
	for (size_t i = 0; i < by_device.count; i++)
		put_usage(report, &usages[i]);
	free(usages);
	tally_free(&by_device);
}
