/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by stack, reason and waker; makes lines of them at the end. */
#include "analyze/sums/off_cpu.h"

#include <stdlib.h>
#include <string.h>

void off_cpu_free(struct off_cpu *off)
{
	tally_free(&off->sums);
	tally_free(&off->wakers);
	array_free(&off->names);
	free(off->rows);
}

static uint32_t name_of(struct off_cpu *off, const char *name)
{
	struct off_cpu_name added = {""};
	size_t length = strnlen(name, sizeof(added.text) - 1);

	memcpy(added.text, name, length);
	for (size_t i = 0; i < off->names.count; i++)
		if (!strcmp(off->names.items[i].text, added.text))
			return (uint32_t)i;
	if (off->names.count == OFF_CPU_NAMES_MAX)
		return OFF_CPU_NAMES_MAX - 1;
	if (off->names.count == OFF_CPU_NAMES_MAX - 1)
		strcpy(added.text, "others");
	array_push(&off->names, added);
	return (uint32_t)off->names.count - 1;
}

/* Returns an index in wakers. */
static uint32_t waker_of(struct off_cpu *off, const struct wait_event *event)
{
	struct tally_key key = {{event->wait->woken_by}};

	if (event->wait->woken_by == GPT_WAKER_THREAD)
		key.part[1] = event->waker_caller;
	else if (event->wait->woken_by == GPT_WAKER_OTHER)
		key.part[1] = name_of(off, event->wait->waker_name);
	return tally_number(&off->wakers, key);
}

static void add_wait(struct off_cpu *off, const struct wait_event *event, uint32_t reason, uint32_t waker, uint64_t ns)
{
	uint32_t place = caller_place(off->model, event->wait->stack, event->caller);
	struct tally_entry *sum = tally_at(&off->sums, (struct tally_key){{place, reason, waker, event->process}});

	sum->ns += ns;
	sum->count++;
	off->ns += ns;
}

/* A thread that never slept was runnable all the time; its reason says so. */
static bool was_runnable(uint8_t reason)
{
	return reason == GPT_WAIT_PREEMPTED || reason == GPT_WAIT_THROTTLED || reason == GPT_WAIT_YIELDED;
}

void off_cpu_add_wait(struct off_cpu *off, const struct wait_event *event)
{
	const struct model_wait *wait = event->wait;
	uint64_t runnable_ns = was_runnable(wait->reason) ? 0 : wait_runnable_ns(wait);
	uint32_t waker = waker_of(off, event);

	process_note(&off->process, event->process);
	add_wait(off, event, wait->reason, waker, wait->end_ns - wait->start_ns - runnable_ns);
	if (runnable_ns)
		add_wait(off, event, OFF_CPU_RUNNABLE, waker, runnable_ns);
}

static uint32_t shown_waker(const struct off_cpu *off, struct lines *lines, uint32_t index)
{
	const uint32_t *part = off->wakers.entries[index].key.part;

	switch (part[0]) {
	case GPT_WAKER_INTERRUPT:
		return OFF_CPU_WAKER_INTERRUPT;
	case GPT_WAKER_THREAD:
		return line_of(lines, part[1]);
	case GPT_WAKER_OTHER:
		return OFF_CPU_WAKER_NAME | part[1];
	default:
		return OFF_CPU_WAKER_UNKNOWN;
	}
}

void off_cpu_finish(struct off_cpu *off, struct lines *lines)
{
	struct line_tally by_line = {0};

	for (size_t i = 0; i < off->sums.count; i++) {
		const struct tally_entry *sum = &off->sums.entries[i];
		const uint32_t *part = sum->key.part;
		uint32_t what[2] = {part[1], shown_waker(off, lines, part[2])};

		line_tally_add(&by_line, lines_of_place(lines, part[0]), what, part[3], sum->ns, sum->count);
	}
	off->rows = line_tally_rows(&by_line, &off->count);
}

const char *off_cpu_reason(uint32_t reason)
{
	return reason == OFF_CPU_RUNNABLE ? "no CPU (runnable)" : wait_reason_name((enum gpt_wait_reason)reason);
}
