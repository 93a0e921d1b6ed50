/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each event is a line. */
#include "trace_print.h"

#include "model/collectives.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/steps/steps.h"

enum kind {
	CALLS,
	GPU,
	OVERHEADS,
	JITS,
	SYNCS,
	MEMORIES,
	RANGES,
	FUNCTIONS,
	OPS,
	TORCH_MEMORIES,
	SAMPLES,
	WAITS,
	COUNTERS,
	KINDS,
};

static FILE *files[KINDS];

static uint64_t number_of(const struct model *model, uint32_t call)
{
	return call == NONE ? UINT64_MAX : model->calls[call].number;
}

static void print_stack(FILE *out, const struct model *model, uint32_t index)
{
	const struct model_stack *stack;

	if (index == NONE)
		return;
	stack = &model->stacks[index];
	fprintf(out, " stack %u,%u", stack->gap, stack->missing);
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];

		fprintf(out, ";%s:%s:%u", model->codes[frame->code].file, model->codes[frame->code].name, frame->line);
	}
	for (uint32_t i = 0; i < stack->module_count; i++) {
		const struct model_module *module = model_stack_module(model, stack, i);

		fprintf(out, " module %s:%s:%s:%s:%s:%s:%u,%u,%u,%u", module->label, module->name, module->class,
			module->root_class, module->unnamed, module->other_names, module->process, module->root,
			module->names, module->number_in_label);
	}
}

static void print_native(FILE *out, const struct model *model, uint32_t index)
{
	const struct model_native *native;

	if (index == NONE)
		return;
	native = &model->natives[index];
	fprintf(out, " native");
	for (uint32_t i = 0; i < native->depth; i++)
		fprintf(out, ";%s", model->strings[model->native_frames[native->first + i]]);
}

static void print_collective(FILE *out, const struct model *model, const struct model_collective *collective)
{
	if (collective)
		fprintf(out, " collective %" PRId64 " %s", collective->sequence, model->strings[collective->params]);
}

static void print_calls(const struct model *model)
{
	FILE *out = files[CALLS];

	for (uint32_t i = model->calls_in_part.from; i < in_part_end(&model->calls_in_part, model->call_count); i++) {
		const struct model_call *call = &model->calls[i];

		fprintf(out, "call %" PRIu64 " %" PRIu64 "..%" PRIu64 " thread %u corr %u api %x result %d class %u",
			call->number, call->start_ns, call->end_ns, call->thread, call->corr, call->api,
			call->end_ns ? call->result : 0, call->class);
		fprintf(out, " op %" PRIu64 " state %u captured %d loss %d missing %u fate %d", call->op,
			call->stack_state, call->captured, call->after_loss, call->nodes_missing,
			launch_fate(model, call));
		print_stack(out, model, call->stack);
		print_native(out, model, call->native);
		if (call->enclosing != NONE)
			fprintf(out, " in %s", model->strings[call->enclosing]);
		if (call->node != NONE)
			fprintf(out, " node %s", model->strings[call->node]);
		print_stack(out, model, call->forward);
		if (call->args != NONE)
			fprintf(out, " args %" PRIx64 " %" PRIx64 " %" PRIu64, model->args[call->args].function,
				model->args[call->args].stream, model->args[call->args].bytes);
		print_collective(out, model, model_collective_of_call(model, call));
		fprintf(out, " in node %u gpu %u", call->in_node, call->gpu_count);
		for (uint32_t op = call->first_gpu; op != NONE; op = model->gpu[op].next)
			fprintf(out, " %" PRIu64 "..%" PRIu64, model->gpu[op].start_ns, model->gpu[op].end_ns);
		fputc('\n', out);
	}
}

static void print_gpu(const struct model *model)
{
	for (uint32_t i = model->gpu_in_part.from; i < in_part_end(&model->gpu_in_part, model->gpu_count); i++) {
		const struct model_gpu *op = &model->gpu[i];

		fprintf(files[GPU], "gpu %020" PRIu64 "..%" PRIu64 " call %" PRIu64 " captured by %" PRIu64,
			op->start_ns, op->end_ns, number_of(model, op->call), number_of(model, op->captured_by));
		fprintf(files[GPU],
			" process %u device %u context %u stream %u corr %u name %s at %s graph %u %" PRIx64,
			op->process, op->device, op->context, op->stream, op->corr,
			op->label == NONE ? "-" : model->strings[op->label],
			op->place == NONE ? "-" : model->strings[op->place], op->graph, op->graph_node);
		fprintf(files[GPU], " kind %u foreign %u before %u flags %u priority %d bytes %" PRIu64 " unknown %x\n",
			op->kind, op->foreign, op->before, op->stream_flags, op->priority, op->bytes, op->unknown);
	}
}

static void print_samples(const struct model *model)
{
	FILE *out = files[SAMPLES];

	for (uint32_t i = model->samples_in_part.from; i < in_part_end(&model->samples_in_part, model->sample_count);
	     i++) {
		const struct model_sample *sample = &model->samples[i];

		fprintf(out, "sample %" PRIu64 " thread %u for %u state %u place %u", sample->time_ns, sample->thread,
			sample->period_ns, sample->stack_state, sample->place);
		print_stack(out, model, sample->stack);
		print_native(out, model, sample->native);
		fputc('\n', out);
	}
}

static void print_waits(const struct model *model)
{
	FILE *out = files[WAITS];

	for (uint32_t i = model->waits_in_part.from; i < in_part_end(&model->waits_in_part, model->wait_count); i++) {
		const struct model_wait *wait = &model->waits[i];

		fprintf(out, "wait %" PRIu64 "..%" PRIu64 "..%" PRIu64 " thread %u %s syscall %d arg %" PRIx64,
			wait->start_ns, wait->woken_ns, wait->end_ns, wait->thread,
			wait_reason_name((enum gpt_wait_reason)wait->reason), wait->syscall, wait->arg);
		fprintf(out, " holder %u open %d state %u", wait->holder, wait->open, wait->stack_state);
		print_stack(out, model, wait->stack);
		print_native(out, model, wait->native);
		fprintf(out, " woken by %u: thread %u pid %u tid %u %s state %u", wait->woken_by, wait->waker,
			wait->waker_pid, wait->waker_tid, wait->waker_name, wait->waker_stack_state);
		print_stack(out, model, wait->waker_stack);
		fputc('\n', out);
	}
}

#define OF_PART(i, one, many)                                                                                          \
	for (uint32_t i = model->many##_in_part.from; i < in_part_end(&model->many##_in_part, model->one##_count); i++)

static void print_counters(const struct model *model)
{
	FILE *out = files[COUNTERS];

	OF_PART(i, gpu_sample, gpu_samples)
	{
		const struct model_gpu_sample *sample = &model->gpu_samples[i];

		fprintf(out, "gpu sample %020llu device %u %u %u %u %u %u %u %u %u %llx", sample->time_ns,
			sample->device, sample->sm_mhz, sample->sm_max_mhz, sample->memory_mhz, sample->memory_max_mhz,
			sample->power_mw, sample->power_limit_mw, sample->temperature_c, sample->took_us,
			sample->reasons);
		fprintf(out, " %llu %llu %llu %llu\n", sample->pcie_tx, sample->pcie_rx, sample->nvlink_tx,
			sample->nvlink_rx);
	}
	OF_PART(i, gpu_process, gpu_processes)
	fprintf(out, "gpu process %020" PRIu64 " device %u pid %u process %u %s %" PRIu64 "\n",
		model->gpu_processes[i].time_ns, model->gpu_processes[i].device, model->gpu_processes[i].pid,
		model->gpu_processes[i].process, model->gpu_processes[i].name, model->gpu_processes[i].bytes);
	OF_PART(i, gpu_error, gpu_errors)
	fprintf(out, "gpu error %020" PRIu64 " device %u kind %u %" PRIu64 "\n", model->gpu_errors[i].time_ns,
		model->gpu_errors[i].device, model->gpu_errors[i].kind, model->gpu_errors[i].data);
}

static void print_others(const struct model *model)
{
	for (uint32_t i = model->overheads_in_part.from;
	     i < in_part_end(&model->overheads_in_part, model->overhead_count); i++) {
		const struct model_overhead *overhead = &model->overheads[i];

		fprintf(files[OVERHEADS], "overhead %020" PRIu64 "..%" PRIu64 " process %u kind %u tid %u\n",
			overhead->start_ns, overhead->end_ns, overhead->process, overhead->kind, overhead->tid);
	}
	for (uint32_t i = model->jits_in_part.from; i < in_part_end(&model->jits_in_part, model->jit_count); i++) {
		const struct model_jit *jit = &model->jits[i];

		fprintf(files[JITS], "jit %" PRIu64 "..%" PRIu64 " call %" PRIu64 " process %u operation %u\n",
			jit->start_ns, jit->end_ns, number_of(model, jit->call), jit->process, jit->operation);
	}
	for (uint32_t i = model->syncs_in_part.from; i < in_part_end(&model->syncs_in_part, model->sync_count); i++) {
		const struct model_sync *sync = &model->syncs[i];

		fprintf(files[SYNCS], "sync %" PRIu64 "..%" PRIu64 " call %" PRIu64 " recorded by %" PRIu64 " on %u",
			sync->start_ns, sync->end_ns, number_of(model, sync->call), number_of(model, sync->recorded_by),
			sync->recorded_on);
		fprintf(files[SYNCS], " process %u device %u context %u stream %u event %u kind %u\n", sync->process,
			sync->device, sync->context, sync->stream, sync->event, sync->kind);
	}
	for (uint32_t i = model->memories_in_part.from; i < in_part_end(&model->memories_in_part, model->memory_count);
	     i++) {
		const struct model_memory *memory = &model->memories[i];
		fprintf(files[MEMORIES],
			"memory %" PRIu64 " %" PRIx64 " %" PRIu64 " call %" PRIu64 " process %u device %u kind %u %s",
			memory->time_ns, memory->address, memory->bytes, number_of(model, memory->call),
			memory->process, memory->device, memory->kind, memory->released ? "released" : "allocated");
		fprintf(files[MEMORIES], " other %" PRIu64 "\n",
			memory->released && memory->other != NONE ? model->memories[memory->other].time_ns
								  : UINT64_MAX);
	}
}

static void print_span(FILE *out, const struct model *model, const struct model_span *span)
{
	if (span->open)
		return;
	fprintf(out, "span %u %" PRIu64 "..%" PRIu64 " %s kind %u truncated %d number %" PRIu64 "\n", span->thread,
		span->start_ns, span->end_ns,
		span->kind == MODEL_SPAN_FUNCTION ? model->codes[span->code].name
		: span->name == NONE		  ? "-"
						  : model->strings[span->name],
		span->kind, span->truncated, span->number);
}

static void print_spans(const struct model *model)
{
	for (uint32_t i = 0; i < model->range_count; i++)
		print_span(files[RANGES], model, &model->ranges[i]);
	for (uint32_t i = 0; i < model->pycall_count; i++)
		print_span(files[FUNCTIONS], model, &model->pycalls[i]);
}

static void print_ops(const struct model *model)
{
	for (uint32_t i = 0; i < model->op_count; i++) {
		const struct model_op *op = &model->ops[i];

		if (op->continued)
			continue;
		fprintf(files[OPS],
			"op %020" PRIu64 " %" PRIu64 "..%" PRIu64 " %s thread %u scope %u sequence %" PRId64
			" forward %" PRIu64 " overlaps %d truncated %d",
			op->number, op->start_ns, op->end_ns, op->name == NONE ? "-" : model->strings[op->name],
			op->thread, op->scope, op->sequence, op->forward_thread, op->overlaps, op->truncated);
		fprintf(files[OPS], " inputs %s", op->inputs == NONE ? "-" : model->strings[op->inputs]);
		print_stack(files[OPS], model, op->stack);
		fprintf(files[OPS], " node %s", op->node == NONE ? "-" : model->strings[op->node]);
		print_stack(files[OPS], model, op->forward);
		print_collective(files[OPS], model, model_collective_of(model, 1 + op->number));
		fputc('\n', files[OPS]);
	}
}

static void print_torch_memories(const struct model *model)
{
	FILE *out = files[TORCH_MEMORIES];

	for (uint32_t i = 0; i < model->torch_memory_count; i++) {
		const struct model_torch_memory *event = &model->torch_memories[i];

		fprintf(out,
			"torch memory %020" PRIu64 " %" PRIx64 " %" PRId64 " of %" PRIu64 ", %" PRIu64 " since %" PRIu64
			" op %" PRIu64 " %s thread %u kind %u device %d %d",
			event->time_ns, event->address, event->bytes, event->allocated, event->reserved,
			event->since_ns, event->op, event->op_name == NONE ? "-" : model->strings[event->op_name],
			event->thread, event->kind, event->device_type, event->device);
		print_stack(out, model, event->stack);
		print_stack(out, model, event->since_stack);
		fputc('\n', out);
	}
}

static void must_be_below(uint32_t index, uint32_t count, const char *what, bool may_be_none)
{
	if (index < count || (may_be_none && index == NONE))
		return;
	fprintf(stderr, "%s %u of a part that has %u\n", what, index, count);
	abort();
}

/* Readers have tables of threads and processes that are made for the first part's counts. */
static void check_owners(const struct model *model)
{
#define OF_THREADS(one, many, member, may_be_none)                                                                     \
	for (uint32_t i = 0; i < model->one##_count; i++)                                                              \
		must_be_below(model->many[i].member, model->thread_count, "a thread of " #many, may_be_none);
#define OF_PROCESSES(one, many, may_be_none)                                                                           \
	for (uint32_t i = 0; i < model->one##_count; i++)                                                              \
		must_be_below(model->many[i].process, model->process_count, "a process of " #many, may_be_none);
	OF_PROCESSES(thread, threads, false)
	OF_PROCESSES(gpu, gpu, false)
	OF_PROCESSES(gpu_process, gpu_processes, true)
	OF_PROCESSES(jit, jits, false)
	OF_PROCESSES(memory, memories, false)
	OF_PROCESSES(overhead, overheads, false)
	OF_PROCESSES(sync, syncs, false)
	OF_PROCESSES(gap, gaps, false)
	OF_THREADS(call, calls, thread, false)
	OF_THREADS(sample, samples, thread, false)
	OF_THREADS(await, awaits, thread, false)
	OF_THREADS(wait, waits, thread, false)
	OF_THREADS(wait, waits, holder, true)
	OF_THREADS(wait, waits, waker, true)
	OF_THREADS(op, ops, thread, false)
	OF_THREADS(torch_memory, torch_memories, thread, true)
	OF_THREADS(nccl_call, nccl_calls, thread, false)
	OF_THREADS(range, ranges, thread, false)
	OF_THREADS(pyspan, pyspans, thread, false)
	OF_THREADS(pycall, pycalls, thread, false)
#undef OF_THREADS
#undef OF_PROCESSES
}

static void print_part(const struct model *model)
{
	check_owners(model);
	print_calls(model);
	print_gpu(model);
	print_others(model);
	print_samples(model);
	print_counters(model);
	print_waits(model);
	print_spans(model);
	print_ops(model);
	print_torch_memories(model);
}

static void print_whole(FILE *out, const struct model *model)
{
	const struct model_receipt *receipt = &model_source(model)->receipt;
	const uint64_t *words = (const uint64_t *)receipt;

	fprintf(out, "nvml %u %s\n", model_source(model)->nvml,
		model_source(model)->nvml ? model_source(model)->nvml_text : "");
	fprintf(out, "model %" PRIu64 "..%" PRIu64 " gpu times %d complete %u\nreceipt", model->start_ns, model->end_ns,
		model->gpu_times, model_completeness(model));
	for (size_t i = 0; i < offsetof(struct model_receipt, end_reason) / sizeof(*words); i++)
		fprintf(out, " %" PRIu64, words[i]);
	fprintf(out, " %d %d\n", receipt->end_reason, receipt->truncated);
	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];

		fprintf(out,
			"process %u %s %s calls %" PRIu64 " ops %" PRIu64 " %" PRIu64 "..%" PRIu64 " exit %" PRIu64
			" agent %d %" PRIu64 " %" PRIu64 "..%" PRIu64 "\n",
			process->pid, process->name, process->cmdline, process->calls, process->gpu_ops,
			process->first_call_ns, process->last_call_ns, process->exit_ns, process->agent_state,
			process->agent_ready_ns, process->borrowed_ns, process->borrowed_end_ns);
	}
	for (uint32_t i = 0; i < model->thread_count; i++)
		fprintf(out, "thread %u %u %s calls %" PRIu64 "\n", model->threads[i].process, model->threads[i].tid,
			model->threads[i].name, model->threads[i].calls);
	for (uint32_t i = 0; i < model->pyspan_count; i++) {
		const struct model_span *span = &model->pyspans[i];

		fprintf(out, "pyspan %u %" PRIu64 "..%" PRIu64 " %s %d\n", span->thread, span->start_ns, span->end_ns,
			span->name == NONE ? "-" : model->strings[span->name], span->truncated);
	}
	for (uint32_t i = 0; i < model->device_count; i++)
		fprintf(out, "device %u %s\n", model->devices[i].id, model->devices[i].name);
	for (uint32_t i = 0; i < model->generated_line_count; i++) {
		const struct model_generated_line *line = &model->generated_lines[i];

		fprintf(out, "generated %s %u %s %s %s %s %u\n", line->file, line->line, line->kernel, line->nodes,
			line->ops, line->kernel_file, line->kernel_line);
	}
	for (uint32_t i = 0; i < model->note_count; i++)
		fprintf(out, "note %s\n", model->notes[i]);
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Prints the lines sorted: events without a time, or at the same time, may come in any order. */
static void print_sorted(FILE *out, char *text)
{
	size_t count = 0, room = 64;
	char **lines = malloc(room * sizeof(*lines)), *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); lines && line; line = strtok_r(NULL, "\n", &rest)) {
		if (count == room)
			lines = realloc(lines, (room *= 2) * sizeof(*lines));
		lines[count++] = line;
	}
	if (count)
		qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s\n", lines[i]);
	free(lines);
}

/* Prints the steps that each kind of request finds. */
static void print_steps(FILE *out, struct trace *trace)
{
	static const struct step_request requests[] = {{.source = STEP_FITTING},
						       {.source = STEP_BACKWARD},
						       {.source = STEP_RANGE, .name = "*"},
						       {.source = STEP_FUNCTION, .name = "step"},
						       {.source = STEP_BURST, .name = "1us", .gap_ns = 1000}};

	for (size_t w = 0; w < sizeof(requests) / sizeof(requests[0]); w++) {
		struct steps steps;

		if (steps_find(&steps, trace, &requests[w]))
			fprintf(out, "no steps: error\n");
		for (size_t i = 0; i < steps.tracks.count; i++) {
			const struct step_track *track = &steps.tracks.items[i];

			fprintf(out, "steps of %u %u by %d %s %d %d %d\n", track->pid, track->tid, track->source,
				track->name, track->first_cut, track->from_stacks, track->nests);
			for (size_t k = 0; k < track->list.count; k++)
				fprintf(out, "step %" PRIu64 " %" PRIu64 "..%" PRIu64 "\n", track->list.items[k].number,
					track->list.items[k].start_ns, track->list.items[k].end_ns);
		}
		steps_free(&steps);
	}
}

static void print_as_work(void *part)
{
	print_part(part);
}

unsigned trace_print(FILE *out, struct trace *trace)
{
	const struct model *last = NULL;
	char *texts[KINDS];
	size_t sizes[KINDS];
	unsigned parts = 0;

	for (int i = 0; i < KINDS; i++)
		files[i] = open_memstream(&texts[i], &sizes[i]);
	for (const struct model *part = trace_first(trace); part; part = trace_next(trace)) {
		trace_look(trace, print_as_work, (void *)part);
		last = part;
		parts++;
	}
	trace_wait(trace);
	for (int i = 0; i < KINDS; i++) {
		fclose(files[i]);
		if (i == CALLS)
			fwrite(texts[i], 1, sizes[i], out);
		else
			print_sorted(out, texts[i]);
		free(texts[i]);
	}
	if (last)
		print_whole(out, last);
	if (last && !trace->error)
		print_steps(out, trace);
	return parts;
}
