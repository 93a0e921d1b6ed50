/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a log and hands each record to the function for its kind; see gpt.h. */
#include "input/gpt/gpt.h"

#include <stdio.h>

#include "input/gpt/gpt_feed.h"
#include "input/gpt/gpt_records.h"
#include "log/reader.h"

/* Types not listed do not concern the model (GPT_MAPPED), or are newer than this reader. */
static const struct {
	size_t size; /* minimum size */
	bool (*add)(struct builder *builder, const struct gpt_record *record);
} kinds[] = {
	[GPT_CALL] = {sizeof(struct gpt_call), gpt_add_call},
	[GPT_CALL_ARGS] = {sizeof(struct gpt_call_args), gpt_add_call},
	[GPT_PYSTACK] = {sizeof(struct gpt_pystack), gpt_add_pystack},
	[GPT_CODE] = {sizeof(struct gpt_code), gpt_add_code},
	[GPT_CODE_LINES] = {sizeof(struct gpt_code_lines), gpt_add_code_lines},
	[GPT_CODE_DEAD] = {sizeof(struct gpt_code_dead), gpt_add_code_dead},
	[GPT_NATIVE_STACK] = {sizeof(struct gpt_native_stack), gpt_add_native_stack},
	[GPT_THREAD] = {offsetof(struct gpt_thread, own_tid), gpt_add_thread},
	[GPT_FORK] = {sizeof(struct gpt_process_event), gpt_add_fork},
	[GPT_EXEC] = {sizeof(struct gpt_process_event), gpt_add_exec},
	[GPT_EXIT] = {sizeof(struct gpt_process_event), gpt_add_exit},
	[GPT_AGENT_BATCH] = {sizeof(struct gpt_agent_batch), gpt_add_batch},
	[GPT_PYEVENT] = {sizeof(struct gpt_pyevent), gpt_add_pyevent},
	[GPT_PYCALL] = {sizeof(struct gpt_pycall), gpt_add_pycall},
	[GPT_CUPTI_USE] = {sizeof(struct gpt_cupti_use), gpt_add_cupti_use},
	[GPT_STACK_AT] = {sizeof(struct gpt_stack_at), gpt_add_stack_at},
	[GPT_SAMPLE] = {sizeof(struct gpt_sample), gpt_add_sample},
	[GPT_WAIT] = {sizeof(struct gpt_wait), gpt_add_wait},
	[GPT_GENERATED] = {sizeof(struct gpt_generated), gpt_add_generated},
	[GPT_PYTHON_SOURCE] = {sizeof(struct gpt_python_source), gpt_add_source},
	[GPT_NCCL] = {sizeof(struct gpt_nccl), gpt_add_nccl},
	[GPT_SESSION] = {sizeof(struct gpt_session), gpt_add_session},
	[GPT_PROCESS] = {sizeof(struct gpt_process), gpt_add_process},
	[GPT_PROBES] = {sizeof(struct gpt_text), gpt_add_text},
	[GPT_NATIVE_SYM] = {sizeof(struct gpt_native_sym), gpt_add_native_sym},
	[GPT_CLOCK] = {sizeof(struct gpt_clock), gpt_add_clock},
	[GPT_NOTE] = {sizeof(struct gpt_text), gpt_add_text},
	[GPT_END] = {sizeof(struct gpt_end), gpt_add_end},
};

/* Whether a type only adds events, and changes no table that the parts of a long log share (builder_look). */
static bool adds_events(uint32_t type)
{
	return type == GPT_CALL || type == GPT_CALL_ARGS || type == GPT_STACK_AT || type == GPT_AGENT_BATCH ||
	       type == GPT_SAMPLE || type == GPT_WAIT;
}

void gpt_feed_record(struct builder *builder, const struct gpt_record *record)
{
	if (record->type >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[record->type].add)
		return;
	if (!adds_events(record->type))
		builder_wait(builder);
	if (record->size < kinds[record->type].size || !kinds[record->type].add(builder, record))
		builder_count_bad(builder, BAD_VALUE, 1);
}

static void feed_damaged(struct builder *builder, uint32_t segments)
{
	char note[96];

	snprintf(note, sizeof(note), "%u segment%s of the log %s damaged: what was in %s is missing", segments,
		 segments == 1 ? "" : "s", segments == 1 ? "is" : "are", segments == 1 ? "it" : "them");
	builder_add_note(builder, gpt_text(note, sizeof(note)));
}

void gpt_feed_begin(struct builder *builder, const struct log_reader *reader)
{
	builder_set_start(builder, reader->header.start_ns, reader->header.wall_offset_ns);
}

void gpt_feed_end(struct builder *builder, const struct log_reader *reader)
{
	static const char too_long[] = "the log is larger than 32 GiB: only that much of it was read";

	builder_wait(builder);
	if (reader->torn)
		builder_set_torn(builder);
	if (reader->damaged)
		feed_damaged(builder, reader->damaged);
	if (reader->too_long)
		builder_add_note(builder, gpt_text(too_long, sizeof(too_long)));
}

static int gpt_feed_all(struct builder *builder, struct log_reader *reader)
{
	const struct gpt_record *record;

	gpt_feed_begin(builder, reader);
	while ((record = log_reader_next(reader)))
		gpt_feed_record(builder, record);
	gpt_feed_end(builder, reader);
	return reader->error;
}

int model_build(int fd, struct model **out, const char **why)
{
	struct builder *builder = builder_new();
	struct log_reader reader;
	int err;

	*out = NULL;
	*why = NULL;
	err = log_reader_open(&reader, fd, why);
	if (!err)
		err = gpt_feed_all(builder, &reader);
	log_reader_close(&reader);
	if (err)
		builder_discard(builder);
	else
		*out = builder_finish(builder);
	return err;
}
