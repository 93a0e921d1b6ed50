/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the members of a record refer to, by the rows R(type, name, packing, THING) of record.h and agent.h. */
#include <string.h>

#include <gputrace/agent.h>

#include "log/descriptions_state.h"

/*
 * The THINGs are those of enum description_kind, and a thread named in one of two ways, which its number does not tell.
 * PROCESS: the process whose numbers the others of the record are.  STREAM: of the CONTEXT that stands before it.
 */
#define DESCRIPTION_OWN_THREAD 255u

struct reference {
	uint16_t offset;
	uint8_t bytes; /* 0 ends the list */
	uint8_t to;
};

/* references_of_call and so on: a list for each type. */
#define NOTHING_HERE(...)
#define REFERENCE(type, name, packing, to) {offsetof(recorded, name), sizeof(type), DESCRIPTION_##to},
#define REFERENCES(type, number, name, record_name, ...)                                                               \
	static const struct reference *references_of_##name(void)                                                      \
	{                                                                                                              \
		typedef struct gpt_##record_name recorded __attribute__((unused));                                     \
		static const struct reference list[] = {                                                               \
			GPT_ROWS_##record_name(NOTHING_HERE, REFERENCE, NOTHING_HERE){0, 0, 0}};                       \
		return list;                                                                                           \
	}
GPT_RECORDS(REFERENCES)
GPT_AGENT_RECORDS(REFERENCES)

static const struct {
	uint32_t least;
	const struct reference *(*list)(void);
} kinds[] = {
#define KIND(type, number, name, record_name, bytes, least, ...) [type] = {least, references_of_##name},
	GPT_RECORDS(KIND) GPT_AGENT_RECORDS(KIND)
#undef KIND
};

/* NULL: a type that refers to nothing, or a record that is too short. */
static const struct reference *references_of(const struct gpt_record *record)
{
	if (record->type >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[record->type].list ||
	    record->size < kinds[record->type].least)
		return NULL;
	return kinds[record->type].list();
}

static uint64_t load_reference(const struct gpt_record *record, const struct reference *reference)
{
	uint64_t value = 0;

	memcpy(&value, (const uint8_t *)record + reference->offset, reference->bytes);
	return value;
}

/* NULL: the record is in a batch, which has it. */
static const struct reference *process_of(const struct reference *references)
{
	for (; references->bytes; references++)
		if (references->to == DESCRIPTION_PROCESS)
			return references;
	return NULL;
}

static void refer_to(struct descriptions *descriptions, uint32_t pid, uint8_t to, uint64_t id, uint32_t context)
{
	switch (to) {
	case DESCRIPTION_PROCESS:
		break;
	case DESCRIPTION_DEVICE:
	case DESCRIPTION_CONTEXT:
		descriptions_refer(descriptions, pid, (enum description_kind)to, id);
		break;
	case DESCRIPTION_STREAM:
		if (id != UINT32_MAX) /* a wait in which no stream is involved */
			descriptions_refer(descriptions, pid, DESCRIPTION_STREAM, (uint64_t)context << 32 | id);
		break;
	case DESCRIPTION_OWN_THREAD:
		descriptions_refer(descriptions, pid, DESCRIPTION_OWN_TID, id);
		descriptions_refer(descriptions, pid, DESCRIPTION_POINTER, id);
		break;
	default: /* 0: none */
		if (id)
			descriptions_refer(descriptions, pid, (enum description_kind)to, id);
	}
}

void descriptions_note_references(struct descriptions *descriptions, const struct gpt_record *record, uint32_t pid)
{
	const struct reference *reference = references_of(record), *process;
	uint32_t context = 0;

	if (!reference)
		return;
	process = process_of(reference);
	if (process) {
		pid = (uint32_t)load_reference(record, process);
		descriptions_process(descriptions, pid);
	}
	for (; reference->bytes; reference++) {
		uint64_t id = load_reference(record, reference);

		if (reference->to == DESCRIPTION_CONTEXT)
			context = (uint32_t)id;
		refer_to(descriptions, pid, reference->to, id, context);
	}
}
