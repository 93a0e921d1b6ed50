/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which Python objects hold PyTorch's memory, at the end of a recording with --memory: from looks to records. */
#include <stdlib.h>
#include <string.h>

#include "attach/attach.h"
#include "attach/emit/emit.h"
#include "base/monotonic.h"
#include "cmd/record/recording.h"
#include "dump/holders.h"

#define PROCESSES_MAX 64u	/* that are searched */
#define AT_ONCE 4u		/* each search may take 250 MB */
#define BEGIN_NS 10000000000ull /* after this time no further search begins */

struct recording_search {
	size_t count, begun; /* of pids and looks; those that have begun come first */
	uint64_t begun_ns;
	pid_t pids[PROCESSES_MAX];
	struct holders_look looks[PROCESSES_MAX];
	bool over[PROCESSES_MAX];
};

void recording_search_begin(void *context)
{
	struct recording *recording = context;
	struct recording_search *search = xcalloc(1, sizeof(*search));
	size_t count = attach_torch_processes(recording->attach, search->pids, PROCESSES_MAX);

	recording->search = search;
	search->count = count < PROCESSES_MAX ? count : PROCESSES_MAX;
	search->begun_ns = monotonic_ns();
	if (count > PROCESSES_MAX)
		emit_note(recording_emit, recording, 0,
			  "who holds PyTorch's memory: %zu of %zu processes were searched", (size_t)PROCESSES_MAX,
			  count);
}

static struct gpt_record *new_record(uint16_t type, size_t bytes)
{
	struct gpt_record *record = xcalloc(1, gpt_padded(bytes));

	*record = (struct gpt_record){.size = (uint32_t)gpt_padded(bytes), .type = type};
	return record;
}

/* left_out: why it was not even begun, NULL: it was. */
static void emit_search(struct recording *recording, const struct holders_look *look, const char *left_out)
{
	const struct holders *holders = look->holders;
	const char *why = left_out	 ? left_out
			  : !holders	 ? "there is no memory to search its objects"
			  : holders->why ? holders->why
					 : "";
	size_t bytes = strlen(why) + 1;
	struct gpt_holders *record = (struct gpt_holders *)new_record(GPT_HOLDERS, sizeof(*record) + bytes);

	record->pid = (uint32_t)look->pid;
	record->time_ns = holders ? holders->begun_ns : 0;
	record->state = *why ? GPT_HOLDERS_FAILED : holders->is_cut ? GPT_HOLDERS_CUT : GPT_HOLDERS_COMPLETE;
	record->objects = holders ? holders->objects : 0;
	record->tensors = holders ? holders->tensors : 0;
	record->bytes = (uint32_t)bytes;
	memcpy(record->text, why, bytes);
	recording_emit(recording, &record->hdr);
	free(record);
}

/* storages: some of the place's; first: its counts are in this record. */
static void emit_holder(struct recording *recording, pid_t pid, const struct holders_place *place,
			const struct gpt_held_storage *storages, uint32_t count, bool first)
{
	size_t place_bytes = strlen(place->place) + 1, path_bytes = strlen(place->path) + 1;
	size_t text = place_bytes + path_bytes + strlen(place->type) + 1;
	struct gpt_holder *record =
		(struct gpt_holder *)new_record(GPT_HOLDER, sizeof(*record) + count * sizeof(*storages) + text);
	char *at = (char *)record->data + count * sizeof(*storages);

	record->pid = (uint32_t)pid;
	record->storages = count;
	record->bytes = (uint32_t)text;
	record->items = first ? place->items : 0;
	record->containers = first ? place->containers : 0;
	record->tensors = first ? place->tensors : 0;
	record->graphs = first ? place->graphs : 0;
	memcpy(record->data, storages, count * sizeof(*storages));
	at = stpcpy(at, place->place) + 1;
	at = stpcpy(at, place->path) + 1;
	strcpy(at, place->type);
	recording_emit(recording, &record->hdr);
	free(record);
}

static void emit_place(struct recording *recording, const struct holders_look *look, struct gpt_held_storage *sorted,
		       uint32_t count, const struct holders_place *place)
{
	for (uint32_t at = 0; at < count; at += GPT_HOLDER_STORAGES)
		emit_holder(recording, look->pid, place, sorted + at,
			    count - at < GPT_HOLDER_STORAGES ? count - at : GPT_HOLDER_STORAGES, !at);
}

/* A child has read the process and written this. */
static uint32_t place_of(const struct holders *holders, uint32_t storage)
{
	uint32_t place = holders->storages[storage].place;

	return place < HOLDERS_PLACES_MAX ? place : HOLDERS_PLACES_MAX;
}

/* Groups the storages by place. */
static void emit_places(struct recording *recording, const struct holders_look *look)
{
	const struct holders *holders = look->holders;
	struct gpt_held_storage *sorted = xmalloc(holders->storage_count * sizeof(*sorted) + 1);
	uint32_t *ends = xcalloc(HOLDERS_PLACES_MAX + 2, sizeof(*ends)), begin = 0;

	for (uint32_t i = 0; i < holders->storage_count; i++)
		ends[place_of(holders, i) + 1]++;
	for (uint32_t i = 0; i <= HOLDERS_PLACES_MAX; i++)
		ends[i + 1] += ends[i];
	for (uint32_t i = 0; i < holders->storage_count; i++)
		sorted[ends[place_of(holders, i)]++] =
			(struct gpt_held_storage){holders->storages[i].address, holders->storages[i].bytes};
	for (uint32_t i = 0; i <= HOLDERS_PLACES_MAX; begin = ends[i++])
		if (ends[i] > begin)
			emit_place(recording, look, sorted + begin, ends[i] - begin, &holders->places[i]);
	free(sorted);
	free(ends);
}

/* Returns how many of those that have begun go on; what the others have found goes into the log. */
static unsigned take_results(struct recording *recording)
{
	struct recording_search *search = recording->search;
	unsigned running = 0;

	for (size_t i = 0; i < search->begun; i++) {
		struct holders_look *look = &search->looks[i];

		if (search->over[i])
			continue;
		if (!holders_are_read(look)) {
			running++;
			continue;
		}
		search->over[i] = true;
		emit_search(recording, look, NULL);
		if (look->holders && !look->holders->why)
			emit_places(recording, look);
		holders_free(look);
	}
	return running;
}

bool recording_search_is_over(void *context)
{
	struct recording *recording = context;
	struct recording_search *search = recording->search;
	unsigned running = take_results(recording);

	for (; search->begun < search->count && running < AT_ONCE; search->begun++) {
		struct holders_look *look = &search->looks[search->begun];

		if (monotonic_ns() - search->begun_ns < BEGIN_NS) {
			holders_start(look, search->pids[search->begun]);
			running++;
			continue;
		}
		look->pid = search->pids[search->begun];
		search->over[search->begun] = true;
		emit_search(recording, look, "the searches of other processes took too long");
	}
	return !running;
}

void recording_search_end(struct recording *recording)
{
	for (size_t i = 0; recording->search && i < recording->search->begun; i++)
		holders_free(&recording->search->looks[i]);
	free(recording->search);
	recording->search = NULL;
}
