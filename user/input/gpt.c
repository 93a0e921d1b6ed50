/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which record goes where; see gpt.h. */
#include "input/gpt.h"

#include <stdlib.h>
#include <string.h>

#include "model/builder.h"
#include "trace/log_reader.h"

static void see_time(struct builder *builder, uint64_t time_ns)
{
	if (time_ns > builder->last_ns)
		builder->last_ns = time_ns;
}

static bool add_call(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_call *)record)->time_ns);
	return calls_add(&builder->calls, record);
}

static bool add_pystack(struct builder *builder, const struct gpt_record *record)
{
	uint32_t space = process_table_space(&builder->processes, ((const struct gpt_pystack *)record)->pid);

	return stacks_add_python(&builder->stacks, space, record);
}

static bool add_code(struct builder *builder, const struct gpt_record *record)
{
	uint32_t space = process_table_space(&builder->processes, ((const struct gpt_code *)record)->pid);

	return codes_add(&builder->codes, space, record);
}

static bool add_code_lines(struct builder *builder, const struct gpt_record *record)
{
	uint32_t space = process_table_space(&builder->processes, ((const struct gpt_code_lines *)record)->pid);

	return codes_add_lines(&builder->codes, space, record);
}

static bool add_code_dead(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_code_dead *event = (const struct gpt_code_dead *)record;

	codes_remove(&builder->codes, process_table_space(&builder->processes, event->pid), event->code);
	return true;
}

static bool add_native_stack(struct builder *builder, const struct gpt_record *record)
{
	uint32_t space = process_table_space(&builder->processes, ((const struct gpt_native_stack *)record)->pid);

	return stacks_add_native(&builder->stacks, space, record);
}

static bool add_native_sym(struct builder *builder, const struct gpt_record *record)
{
	uint32_t space = process_table_space(&builder->processes, ((const struct gpt_native_sym *)record)->pid);

	return stacks_add_symbol(&builder->stacks, space, record);
}

static bool add_thread(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_thread *)record)->time_ns);
	return process_table_add_thread(&builder->processes, record);
}

static bool add_fork(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_process_event *)record)->time_ns);
	return process_table_add_fork(&builder->processes, record);
}

static bool add_exec(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;

	see_time(builder, event->time_ns);
	agents_process_execs(&builder->agents, event->pid, event->time_ns);
	gaps_process_execs(&builder->gaps, event->pid, event->time_ns);
	python_spans_process_execs(&builder->python_spans, event->pid, event->time_ns);
	return process_table_add_exec(&builder->processes, record);
}

static bool add_exit(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_process_event *)record)->time_ns);
	return process_table_add_exit(&builder->processes, record);
}

static bool add_batch(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_agent_batch *)record)->time_ns);
	return agents_add_batch(&builder->agents, record);
}

static bool add_pyevent(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_pyevent *)record)->time_ns);
	return python_spans_add_event(&builder->python_spans, record);
}

static bool add_pycall(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_pycall *)record)->time_ns);
	return python_spans_add_call(&builder->python_spans, record);
}

static bool add_cupti_use(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_cupti_use *)record)->time_ns);
	return gaps_add_use(&builder->gaps, record);
}

/* The fields that logs of before do not have: "99900" and "auto". */
static void take_more_of_session(struct model *model, const char *min_complete, const char *agent)
{
	unsigned long thousandths;
	char *end;

	thousandths = strtoul(min_complete, &end, 10);
	if (*min_complete && !*end && thousandths <= MODEL_COMPLETE)
		model->min_complete = (uint32_t)thousandths;
	if (!strcmp(agent, "off"))
		model->gpu_times = MODEL_GPU_TIMES_OFF;
	else if (*agent)
		model->gpu_times = MODEL_GPU_TIMES_MEANT;
}

static bool add_session(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_session *event = (const struct gpt_session *)record;
	struct model *model = builder->model;
	const char *min_complete = "", *agent = "";
	struct model_source *source = model_source(model);
	const char **fields[] = {&source->version, &source->host, &source->kernel,
				 &source->target,  &min_complete, &agent};
	size_t at = 0, length;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *field = text_field(event->text, event->bytes, &at, &length);

		*fields[i] = string_keep(&builder->strings, field, length);
	}
	source->cpus = event->cpus;
	model->min_complete = event->min_complete <= 100 ? event->min_complete * 1000 : MODEL_COMPLETE;
	take_more_of_session(model, min_complete, agent);
	model->metric_launches = event->metric_launches != 0;
	return true;
}

static bool add_process(struct builder *builder, const struct gpt_record *record)
{
	see_time(builder, ((const struct gpt_process *)record)->time_ns);
	return process_table_add_description(&builder->processes, record);
}

static bool add_text(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_text *event = (const struct gpt_text *)record;
	const char *text;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	text = string_keep(&builder->strings, event->text, strnlen(event->text, event->bytes));
	if (record->type == GPT_PROBES)
		array_push(&builder->probes, text);
	else
		array_push(&builder->notes, text);
	return true;
}

static bool add_clock(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_clock *event = (const struct gpt_clock *)record;
	struct wall_clock_sample sample = {
		.mono_ns = event->mono_ns, .offset_ns = event->wall_offset_ns, .error_ns = event->error_ns};

	see_time(builder, event->mono_ns);
	wall_clock_add_sample(&builder->clock.collector, sample);
	return true;
}

static bool add_end(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_end *event = (const struct gpt_end *)record;
	struct model_receipt *receipt = &model_source(builder->model)->receipt;

	if (event->counters_count > (record->size - sizeof(*event)) / sizeof(event->counters[0]))
		return false;
	see_time(builder, event->time_ns);
	builder->ended = true;
	builder->model->end_ns = event->time_ns;
	for (uint32_t i = 0; i < event->counters_count && i < GPT_COUNTER_COUNT; i++)
		receipt->counters[i] = event->counters[i];
	receipt->cpu_ns = event->cpu_ns;
	receipt->ring_bytes = event->ring_bytes;
	receipt->ring_bytes_max = event->ring_bytes_max;
	receipt->end_reason = event->reason >= GPT_END_DURATION && event->reason <= GPT_END_ERROR
				      ? event->reason
				      : (uint32_t)GPT_END_ERROR;
	return true;
}

/* Types that are not here tell the model nothing (GPT_MAPPED), or are newer than this reader. */
static const struct {
	size_t size; /* least */
	bool (*add)(struct builder *builder, const struct gpt_record *record);
} handlers[] = {
	[GPT_CALL] = {sizeof(struct gpt_call), add_call},
	[GPT_CALL_ARGS] = {sizeof(struct gpt_call_args), add_call},
	[GPT_PYSTACK] = {sizeof(struct gpt_pystack), add_pystack},
	[GPT_CODE] = {sizeof(struct gpt_code), add_code},
	[GPT_CODE_LINES] = {sizeof(struct gpt_code_lines), add_code_lines},
	[GPT_CODE_DEAD] = {sizeof(struct gpt_code_dead), add_code_dead},
	[GPT_NATIVE_STACK] = {sizeof(struct gpt_native_stack), add_native_stack},
	[GPT_THREAD] = {offsetof(struct gpt_thread, own_tid), add_thread},
	[GPT_FORK] = {sizeof(struct gpt_process_event), add_fork},
	[GPT_EXEC] = {sizeof(struct gpt_process_event), add_exec},
	[GPT_EXIT] = {sizeof(struct gpt_process_event), add_exit},
	[GPT_AGENT_BATCH] = {sizeof(struct gpt_agent_batch), add_batch},
	[GPT_PYEVENT] = {sizeof(struct gpt_pyevent), add_pyevent},
	[GPT_PYCALL] = {sizeof(struct gpt_pycall), add_pycall},
	[GPT_CUPTI_USE] = {sizeof(struct gpt_cupti_use), add_cupti_use},
	[GPT_SESSION] = {sizeof(struct gpt_session), add_session},
	[GPT_PROCESS] = {sizeof(struct gpt_process), add_process},
	[GPT_PROBES] = {sizeof(struct gpt_text), add_text},
	[GPT_NATIVE_SYM] = {sizeof(struct gpt_native_sym), add_native_sym},
	[GPT_CLOCK] = {sizeof(struct gpt_clock), add_clock},
	[GPT_NOTE] = {sizeof(struct gpt_text), add_text},
	[GPT_END] = {sizeof(struct gpt_end), add_end},
};

static void add_record(struct builder *builder, const struct gpt_record *record)
{
	if (record->type >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[record->type].add)
		return;
	if (record->size < handlers[record->type].size || !handlers[record->type].add(builder, record))
		model_source(builder->model)->receipt.bad_records++;
}

static void read_records(struct builder *builder, struct log_reader *reader)
{
	const char too_long[] = "the log is larger than 32 GiB: only that much of it was read";
	const struct gpt_record *record;

	builder->model->start_ns = builder->last_ns = reader->header.start_ns;
	model_source(builder->model)->wall_offset_ns = reader->header.wall_offset_ns;
	while ((record = log_reader_next(reader)))
		add_record(builder, record);
	builder->torn = reader->torn;
	if (reader->too_long) {
		const char *note = string_keep(&builder->strings, too_long, strlen(too_long));

		array_push(&builder->notes, note);
	}
}

int model_build(int fd, struct model **out, const char **why)
{
	struct builder builder;
	struct log_reader reader;
	int err;

	*out = NULL;
	*why = NULL;
	builder_init(&builder);
	err = log_reader_open(&reader, fd, why);
	if (!err) {
		read_records(&builder, &reader);
		err = reader.error;
	}
	log_reader_close(&reader);
	if (err)
		builder_discard(&builder);
	else
		*out = builder_finish(&builder);
	return err;
}
