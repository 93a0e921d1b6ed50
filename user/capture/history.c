/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/history.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

#define SECOND_NS 1000000000ull

struct history {
	pthread_mutex_t lock;
	size_t room, noted; /* noted: how often in all */
	struct history_counts counts[];
};

struct history *history_new(uint64_t span_ns)
{
	size_t room = (size_t)(span_ns / SECOND_NS) + 2;
	struct history *history = xcalloc(1, sizeof(*history) + room * sizeof(history->counts[0]));

	pthread_mutex_init(&history->lock, NULL);
	history->room = room;
	return history;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	pthread_mutex_destroy(&history->lock);
	free(history);
}

void history_note(struct history *history, const struct history_counts *counts)
{
	pthread_mutex_lock(&history->lock);
	history->counts[history->noted++ % history->room] = *counts;
	pthread_mutex_unlock(&history->lock);
}

struct history_counts history_before(struct history *history, uint64_t time_ns)
{
	struct history_counts counts = {0};
	size_t oldest, at;

	pthread_mutex_lock(&history->lock);
	oldest = history->noted > history->room ? history->noted - history->room : 0;
	for (at = history->noted; at > oldest; at--) {
		counts = history->counts[(at - 1) % history->room];
		if (counts.at_ns <= time_ns)
			break;
	}
	pthread_mutex_unlock(&history->lock);
	return counts;
}

/* Counts of what is not seen from then on, which a later log lacks as well. */
static bool goes_on(uint32_t counter)
{
	return counter == GPT_COUNTER_FILES_UNPROBED || counter == GPT_COUNTER_PROCESSES_FULL ||
	       counter == GPT_COUNTER_PROCESSES_SILENT || counter == GPT_COUNTER_PROCESSES_UNSEEN ||
	       counter == GPT_COUNTER_PROCESSES_UNENTERED;
}

void history_subtract(const struct history_counts *before, struct gpt_end *end)
{
	end->cpu_ns -= before->cpu_ns < end->cpu_ns ? before->cpu_ns : end->cpu_ns;
	for (uint32_t i = 0; i < end->counters_count; i++)
		if (!goes_on(i))
			end->counters[i] -=
				before->counters[i] < end->counters[i] ? before->counters[i] : end->counters[i];
}
