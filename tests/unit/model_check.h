/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What model.h promises about every model, whatever its log: indices within bounds, order, lists without loops, valid
 * strings, sums that agree. Used by tests and by the fuzzer.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "model/model.h"

#define MODEL_MUST(condition)                                                                                          \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			return #condition;                                                                             \
	} while (0)

#define CHECK_FN __attribute__((unused)) static

/* One line of valid, printable UTF-8. */
CHECK_FN const char *model_check_text(const char *text)
{
	MODEL_MUST(text);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		int more = *at < 0x80 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;

		MODEL_MUST(*at >= 0x20 && *at != 0x7f && (*at < 0x80 || *at > 0xc1) && *at < 0xf5);
		for (at++; more; more--, at++)
			MODEL_MUST((*at & 0xc0) == 0x80);
	}
	return NULL;
}

CHECK_FN const char *model_check_texts(const struct model *model)
{
	const struct model_source *source = model_source(model);
	const char *wrong = NULL;

	for (uint32_t i = 0; i < model->string_count && !wrong; i++)
		wrong = model_check_text(model->strings[i]);
	for (uint32_t i = 0; i < model->process_count && !wrong; i++) {
		const struct model_process *process = &model->processes[i];

		MODEL_MUST(process->name && process->name[0] && process->exe && process->cmdline &&
			   process->python_path);
		MODEL_MUST(process->agent_detail && process->cupti_path);
		MODEL_MUST(process->agent_state <= GPT_AGENT_BORROWING &&
			   process->agent_failure <= GPT_AGENT_NO_RESOURCES);
	}
	for (uint32_t i = 0; i < model->thread_count; i++)
		MODEL_MUST(model->threads[i].name && model->threads[i].process < model->process_count);
	for (uint32_t i = 0; i < model->code_count; i++)
		MODEL_MUST(model->codes[i].name && model->codes[i].file && model->codes[i].name[0]);
	MODEL_MUST(model->source_count == 1 && source->version && source->host && source->kernel && source->target);
	return wrong;
}

CHECK_FN const char *model_check_stacks(const struct model *model)
{
	for (uint32_t i = 0; i < model->frame_count; i++)
		MODEL_MUST(model->frames[i].code < model->code_count);
	for (uint32_t i = 0; i < model->stack_frame_count; i++)
		MODEL_MUST(model->stack_frames[i] < model->frame_count);
	for (uint32_t i = 0; i < model->stack_count; i++) {
		const struct model_stack *stack = &model->stacks[i];

		MODEL_MUST(stack->depth > 0 && stack->depth <= GPT_PYSTACK_MAX_FRAMES);
		MODEL_MUST(stack->first + stack->depth <= model->stack_frame_count);
		MODEL_MUST(stack->gap <= stack->depth);
	}
	for (uint32_t i = 0; i < model->native_frame_count; i++)
		MODEL_MUST(model->native_frames[i] < model->string_count);
	for (uint32_t i = 0; i < model->native_count; i++)
		MODEL_MUST(model->natives[i].first + model->natives[i].depth <= model->native_frame_count);
	return NULL;
}

CHECK_FN const char *model_check_calls(const struct model *model)
{
	uint64_t linked = 0, joined = 0;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];
		uint32_t count = 0;

		MODEL_MUST(!i || call[-1].start_ns <= call->start_ns);
		MODEL_MUST(call->number == i);
		MODEL_MUST(call->thread < model->thread_count);
		MODEL_MUST(call->stack == NONE || call->stack < model->stack_count);
		MODEL_MUST(call->stack != NONE ||
			   (call->stack_state != GPT_STACK_OK && call->stack_state != GPT_STACK_BACKWARD));
		MODEL_MUST(call->native == NONE || call->native < model->native_count);
		MODEL_MUST(call->args == NONE || call->args < model->args_count);
		MODEL_MUST(call->class < GPT_CLASS_COUNT && call->stack_state < GPT_STACK_STATES);
		MODEL_MUST(!call->end_ns || call->end_ns >= call->start_ns);
		for (uint32_t op = call->first_gpu; op != NONE; op = model->gpu[op].next, count++) {
			MODEL_MUST(op < model->gpu_count && model->gpu[op].call == i);
			MODEL_MUST(model->gpu[op].next == NONE || model->gpu[op].next > op);
			MODEL_MUST(model->gpu[op].process == model->threads[call->thread].process);
		}
		MODEL_MUST(count == call->gpu_count);
		linked += count;
	}
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];

		MODEL_MUST(!i || op[-1].start_ns <= op->start_ns);
		MODEL_MUST(op->start_ns <= op->end_ns && op->process < model->process_count);
		MODEL_MUST(op->name == NONE || op->name < model->string_count);
		MODEL_MUST(op->kind < MODEL_GPU_KINDS && op->memcpy_kind <= 10 && op->from <= 7 && op->to <= 7);
		MODEL_MUST(op->captured_by == NONE || op->captured_by < model->call_count);
		joined += op->call != NONE;
	}
	MODEL_MUST(linked == joined && joined == model_source(model)->receipt.gpu_ops_joined);
	return NULL;
}

CHECK_FN const char *model_check_sums(const struct model *model)
{
	const struct model_receipt *receipt = &model_source(model)->receipt;
	uint64_t calls = 0, ops = 0, thread_calls = 0;

	for (uint32_t i = 0; i < model->process_count; i++) {
		calls += model->processes[i].calls;
		ops += model->processes[i].gpu_ops;
	}
	for (uint32_t i = 0; i < model->thread_count; i++)
		thread_calls += model->threads[i].calls;
	for (uint32_t i = 0; i < model->device_count; i++)
		MODEL_MUST(model->devices[i].name && (!i || model->devices[i - 1].id < model->devices[i].id));
	for (uint32_t i = 0; i < model->overhead_count; i++)
		MODEL_MUST(model->overheads[i].process < model->process_count &&
			   model->overheads[i].start_ns <= model->overheads[i].end_ns);
	for (uint32_t i = 0; i < model->jit_count; i++) {
		const struct model_jit *jit = &model->jits[i];

		MODEL_MUST(jit->process < model->process_count && jit->start_ns <= jit->end_ns);
		MODEL_MUST(!i || jit[-1].start_ns <= jit->start_ns);
		MODEL_MUST(jit->call == NONE || jit->call < model->call_count);
		MODEL_MUST(jit->operation >= GPT_AGENT_JIT_CACHE_LOAD && jit->operation <= GPT_AGENT_JIT_COMPILE);
	}
	for (uint32_t i = 0; i < model->memory_count; i++) {
		const struct model_memory *memory = &model->memories[i];

		MODEL_MUST(memory->process < model->process_count && memory->kind <= 7);
		MODEL_MUST(!i || memory[-1].time_ns <= memory->time_ns);
		MODEL_MUST(memory->call == NONE || memory->call < model->call_count);
		MODEL_MUST(memory->other == NONE || model->memories[memory->other].other == i);
	}
	for (uint32_t i = 0; i < model->sync_count; i++) {
		const struct model_sync *sync = &model->syncs[i];

		MODEL_MUST(sync->process < model->process_count && sync->start_ns <= sync->end_ns);
		MODEL_MUST(!i || sync[-1].start_ns <= sync->start_ns);
		MODEL_MUST(sync->call == NONE || sync->call < model->call_count);
		MODEL_MUST(sync->recorded_by == NONE || sync->recorded_by < model->call_count);
		MODEL_MUST(sync->kind >= GPT_AGENT_SYNC_EVENT && sync->kind <= GPT_AGENT_SYNC_CONTEXT);
	}
	for (uint32_t i = 0; i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];

		MODEL_MUST(sample->thread < model->thread_count);
		MODEL_MUST(!i || sample[-1].time_ns <= sample->time_ns);
		MODEL_MUST(sample->stack == NONE || sample->stack < model->stack_count);
		MODEL_MUST(sample->native == NONE || sample->native < model->native_count);
		MODEL_MUST(sample->place == GPT_SAMPLE_USER || sample->place == GPT_SAMPLE_KERNEL);
	}
	for (uint32_t i = 0; i < model->wait_count; i++) {
		const struct model_wait *wait = &model->waits[i];

		MODEL_MUST(wait->thread < model->thread_count && wait->reason < GPT_WAIT_REASONS);
		MODEL_MUST(!i || wait[-1].end_ns <= wait->end_ns);
		MODEL_MUST(wait->start_ns <= wait->end_ns && wait->woken_ns <= wait->end_ns);
		MODEL_MUST(!wait->woken_ns || wait->woken_ns >= wait->start_ns);
		MODEL_MUST(wait->stack == NONE || wait->stack < model->stack_count);
		MODEL_MUST(wait->native == NONE || wait->native < model->native_count);
		MODEL_MUST((wait->waker == NONE) == (wait->woken_by != GPT_WAKER_THREAD));
		MODEL_MUST(wait->waker == NONE || wait->waker < model->thread_count);
		MODEL_MUST(wait->waker_stack == NONE || wait->waker_stack < model->stack_count);
		MODEL_MUST(wait->holder == NONE || wait->holder < model->thread_count);
		MODEL_MUST(memchr(wait->waker_name, 0, sizeof(wait->waker_name)));
	}
	MODEL_MUST(calls == model->call_count && thread_calls == calls && receipt->calls == calls);
	MODEL_MUST(ops == model->gpu_count && receipt->gpu_ops == ops);
	MODEL_MUST(receipt->launches_joined <= receipt->launches_expected);
	MODEL_MUST(receipt->launches_whole + receipt->launches_short <= receipt->launches_joined);
	MODEL_MUST(model_launches_meant(model) <= receipt->launches);
	MODEL_MUST(receipt->gpu_ns_with_line <= receipt->gpu_ns);
	MODEL_MUST(receipt->end_reason <= GPT_END_SCHEDULE);
	MODEL_MUST(model_completeness(model) <= MODEL_COMPLETE);
	MODEL_MUST(!receipt->lost || model_completeness(model) < MODEL_COMPLETE);
	return NULL;
}

/* Returns NULL, or the broken promise. */
CHECK_FN const char *model_check_python(const struct model *model)
{
	for (uint32_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];

		MODEL_MUST(thread->first_pyspan <= model->pyspan_count &&
			   thread->pyspans <= model->pyspan_count - thread->first_pyspan);
		MODEL_MUST(thread->first_pycall <= model->pycall_count &&
			   thread->pycalls <= model->pycall_count - thread->first_pycall);
		for (uint32_t k = 0; k < thread->pyspans; k++)
			MODEL_MUST(model->pyspans[thread->first_pyspan + k].thread == i);
		for (uint32_t k = 0; k < thread->pycalls; k++)
			MODEL_MUST(model->pycalls[thread->first_pycall + k].thread == i);
	}
	for (uint32_t i = 0; i < model->op_count; i++) {
		const struct model_op *op = &model->ops[i], *before = op - 1;
		const struct model_thread *thread = &model->threads[op->thread];

		MODEL_MUST(op->thread < model->thread_count && (op->name == NONE || op->name < model->string_count));
		MODEL_MUST(op->start_ns <= op->end_ns && op->start_ns >= model->start_ns);
		MODEL_MUST(i >= thread->first_op && i - thread->first_op < thread->ops);
		MODEL_MUST(!i || before->thread != op->thread || before->start_ns <= op->start_ns);
		MODEL_MUST(!i || before->thread != op->thread || before->overlaps || op->overlaps ||
			   before->end_ns <= op->start_ns || before->end_ns >= op->end_ns);
	}
	for (uint32_t i = 0; i < model->nccl_call_count; i++) {
		const struct model_collective *call = &model->nccl_calls[i], *before = call - 1;

		MODEL_MUST(!call->op && call->thread < model->thread_count && call->params < model->string_count);
		MODEL_MUST(call->launch_ns >= model->start_ns && (!i || before->launch_ns <= call->launch_ns));
	}
	for (uint32_t i = 0; i < model->range_count; i++) {
		const struct model_span *range = &model->ranges[i], *before = range - 1;
		const struct model_thread *thread = &model->threads[range->thread];

		MODEL_MUST(range->thread < model->thread_count && range->name < model->string_count);
		MODEL_MUST(range->domain == NONE || range->domain < model->string_count);
		MODEL_MUST(range->start_ns <= range->end_ns && range->start_ns >= model->start_ns);
		MODEL_MUST(i >= thread->first_range && i - thread->first_range < thread->ranges);
		MODEL_MUST(!i || before->thread != range->thread || before->start_ns <= range->start_ns);
	}
	for (uint32_t i = 0; i < model->pyspan_count; i++) {
		const struct model_span *span = &model->pyspans[i];

		MODEL_MUST(span->start_ns <= span->end_ns && span->end_ns != UINT64_MAX);
		MODEL_MUST((span->kind == MODEL_SPAN_IMPORT) == (span->name < model->string_count));
	}
	for (uint32_t i = 0; i < model->pycall_count; i++)
		MODEL_MUST(model->pycalls[i].start_ns <= model->pycalls[i].end_ns &&
			   model->pycalls[i].code < model->code_count);
	return NULL;
}

CHECK_FN const char *model_check(const struct model *model)
{
	const char *(*const checks[])(const struct model *) = {model_check_texts, model_check_stacks, model_check_calls,
							       model_check_python, model_check_sums};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const char *wrong = checks[i](model);

		if (wrong)
			return wrong;
	}
	return NULL;
}
