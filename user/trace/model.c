/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a log to a model: every record goes to the room that knows its type, then the rooms are joined and
 * their tables become the model's.
 */
#include "trace/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/builder.h"

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
	const char **fields[] = {&model->version, &model->host, &model->kernel, &model->target, &min_complete, &agent};
	size_t at = 0, length;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *field = text_field(event->text, event->bytes, &at, &length);

		*fields[i] = string_keep(&builder->strings, field, length);
	}
	model->cpus = event->cpus;
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
	struct model_receipt *receipt = &builder->model->receipt;

	if (event->accounts_count > (record->size - sizeof(*event)) / sizeof(event->accounts[0]))
		return false;
	see_time(builder, event->time_ns);
	builder->ended = true;
	builder->model->end_ns = event->time_ns;
	for (uint32_t i = 0; i < event->accounts_count && i < GPT_ACC_COUNT; i++)
		receipt->accounts[i] = event->accounts[i];
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
		builder->model->receipt.bad_records++;
}

static void builder_init(struct builder *builder)
{
	uint64_t seed = hash_seed();
	const char *nothing;

	memset(builder, 0, sizeof(*builder));
	builder->model = xcalloc(1, sizeof(*builder->model));
	string_pool_init(&builder->strings, seed);
	process_table_init(&builder->processes, &builder->strings, seed);
	codes_init(&builder->codes, &builder->strings, seed);
	stacks_init(&builder->stacks, &builder->codes, &builder->strings, seed);
	calls_init(&builder->calls, &builder->processes, &builder->stacks, seed);
	called_init(&builder->called, &builder->processes, &builder->calls);
	agents_init(&builder->agents, &builder->processes, &builder->calls, &builder->called, &builder->clock,
		    &builder->strings, seed);
	gaps_init(&builder->gaps, &builder->processes);
	python_spans_init(&builder->python_spans, &builder->processes, &builder->codes, &builder->strings);
	nothing = string_keep(&builder->strings, "", 0);
	builder->model->version = builder->model->host = builder->model->kernel = builder->model->target = nothing;
}

#define MOVE(field, table)                                                                                             \
	do {                                                                                                           \
		model->field##s = (table).items;                                                                       \
		model->field##_count = (uint32_t)(table).count;                                                        \
	} while (0)

/* The tables become the model's: from here on model_free owns them. */
static void move_tables(struct builder *builder)
{
	struct model *model = builder->model;

	model->processes = builder->processes.list.items;
	model->process_count = (uint32_t)builder->processes.list.count;
	MOVE(thread, builder->processes.threads);
	MOVE(code, builder->codes.list);
	MOVE(frame, builder->codes.frames);
	MOVE(stack, builder->stacks.list);
	MOVE(stack_frame, builder->stacks.frames);
	MOVE(native, builder->stacks.natives);
	MOVE(native_frame, builder->stacks.native_frames);
	MOVE(call, builder->calls.list);
	MOVE(overhead, builder->agents.overheads);
	MOVE(jit, builder->agents.jits);
	MOVE(sync, builder->syncs);
	model->memories = builder->agents.memories.items;
	model->memory_count = (uint32_t)builder->agents.memories.count;
	MOVE(device, builder->agents.devices);
	MOVE(pyspan, builder->python_spans.events);
	MOVE(pycall, builder->python_spans.calls);
	MOVE(range, builder->agents.ranges.list);
	MOVE(string, builder->strings.strings);
	MOVE(probe, builder->probes);
	MOVE(note, builder->notes);
	model->args = builder->calls.args.items;
	model->args_count = (uint32_t)builder->calls.args.count;
	model->gpu = builder->agents.gpu.items;
	model->gpu_count = (uint32_t)builder->agents.gpu.count;
	model->private = builder->strings.blocks;
	memset(&builder->processes.list, 0, sizeof(builder->processes.list));
	memset(&builder->processes.threads, 0, sizeof(builder->processes.threads));
}

/* What only making a model needs. */
static void builder_close(struct builder *builder)
{
	log_reader_close(&builder->reader);
	process_table_free(&builder->processes);
	codes_free(&builder->codes);
	stacks_free(&builder->stacks);
	calls_free(&builder->calls);
	called_free(&builder->called);
	agents_free(&builder->agents);
	gaps_free(&builder->gaps);
	wall_clock_free(&builder->clock);
	python_spans_free(&builder->python_spans);
	string_pool_close(&builder->strings);
}

static void finish(struct builder *builder)
{
	struct model *model = builder->model;

	if (builder->reader.too_long) {
		const char note[] = "the log is larger than 32 GiB: only that much of it was read";
		const char *kept = string_keep(&builder->strings, note, strlen(note));

		array_push(&builder->notes, kept);
	}
	if (!builder->ended)
		model->end_ns = builder->last_ns > model->start_ns ? builder->last_ns : model->start_ns;
	ranges_finish(&builder->agents.ranges, model->start_ns, model->end_ns);
	process_table_finish(&builder->processes);
	stacks_finish(&builder->stacks);
	calls_finish(&builder->calls);
	python_spans_finish(&builder->python_spans, builder->model->end_ns);
	prepare_clock(builder);
	join_called(builder);
	agents_finish(&builder->agents);
	convert_times(builder);
	leave_out_ridden(builder);
	leave_out_outside(builder);
	join_calls(builder);
	join_gpu(builder);
	join_syncs(builder);
	join_memories(builder);
	move_tables(builder);
	receipt_fill(builder);
}

int model_build(int fd, struct model **out, const char **why)
{
	struct builder builder;
	const struct gpt_record *record;
	int err;

	*out = NULL;
	*why = NULL;
	builder_init(&builder);
	err = log_reader_open(&builder.reader, fd, why);
	if (!err) {
		builder.model->start_ns = builder.last_ns = builder.reader.header.start_ns;
		builder.model->wall_offset_ns = builder.reader.header.wall_offset_ns;
		while ((record = log_reader_next(&builder.reader)))
			add_record(&builder, record);
		err = builder.reader.error;
	}
	if (!err)
		finish(&builder);
	else
		move_tables(&builder);
	builder_close(&builder);
	if (err)
		model_free(builder.model);
	else
		*out = builder.model;
	return err;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	free(model->processes);
	free(model->threads);
	free(model->codes);
	free(model->frames);
	free(model->stacks);
	free(model->stack_frames);
	free(model->natives);
	free(model->native_frames);
	free(model->args);
	free(model->calls);
	free(model->gpu);
	free(model->overheads);
	free(model->jits);
	free(model->syncs);
	free(model->memories);
	free(model->devices);
	free(model->pyspans);
	free(model->pycalls);
	free(model->ranges);
	free(model->strings);
	free(model->probes);
	free(model->notes);
	string_blocks_free(model->private);
	free(model);
}
