/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who is fed with what. */
#include "analyze/analyses.h"

void analyses_begin(struct analyses *all, const struct model *first, unsigned which,
		    const struct analyze_options *options)
{
	*all = (struct analyses){.which = which, .window = {.start_ns = first->start_ns, .end_ns = UINT64_MAX}};
	if (options->attribution)
		all->attribution = *options->attribution;
	if (first->end_ns > first->start_ns)
		all->window.end_ns = first->end_ns;
	all->last_ns = first->start_ns;
	callers_init(&all->callers, first);
	line_sums_init(&all->gpu_lines, first);
	line_sums_init(&all->call_lines, first);
	idle_init(&all->idle, first, &all->window);
	memory_peaks_init(&all->memory, first);
	interpreter_init(&all->interpreter, first);
	nvtx_init(&all->nvtx, first);
	ops_by_name_init(&all->ops, first);
	key_averages_init(&all->keys, first, &options->keys);
	torch_memory_sums_init(&all->torch_memory, &all->blocks);
	op_stacks_init(&all->op_stacks, first);
	utilization_init(&all->utilization, &all->window);
	all->each_gpu = options->each_gpu;
	all->each_context = options->each_context;
	threads_init(&all->threads, first);
	stack_sums_init(&all->gpu_stacks, first, &all->attribution);
	stack_sums_init(&all->call_stacks, first, &all->attribution);
	line_costs_init(&all->line_costs, first, &all->window);
	call_tree_init(&all->tree, first, &all->attribution, options->tree_by);
	if (which & ANALYZE_MEETINGS)
		all->meeting_taker = meeting_taker_new(first);
}

/* One operation, also one that is due later, says that there are some; for none that was the last part. */
static void leave_out_useless(struct analyses *all, const struct model *part)
{
	if (all->gpu_ops || part->gpu_count)
		all->which &= ~(unsigned)ANALYZE_WITHOUT_GPU;
	else if (!part->more)
		all->which &= ~(unsigned)ANALYZE_WITH_GPU;
}

static uint32_t due_count(const struct model_due *due, uint32_t count)
{
	return due_end(due, count) - due->from;
}

void analyses_begin_part(struct analyses *all, const struct model *part)
{
	all->model = part;
	all->callers.model = part;
	all->gpu_lines.model = part;
	all->call_lines.model = part;
	all->gpu_stacks.model = part;
	all->call_stacks.model = part;
	all->tree.model = part;
	line_costs_begin_part(&all->line_costs, part);
	nvtx_begin_part(&all->nvtx, part);
	all->ops.model = part;
	all->collectives.model = part;
	step_tables_begin_part(&all->steps, part);
	op_tree_begin_part(&all->keys.tree, part);
	op_tree_begin_part(&all->op_stacks.tree, part);
	per_step_begin_part(&all->per_step, part);
	idle_begin_part(&all->idle, part);
	waits_begin_part(&all->waits, part);
	if (all->which & ANALYZE_WHY)
		why_begin_part(&all->why, part);
	all->calls += due_count(&part->calls_due, part->call_count);
	all->gpu_ops += due_count(&part->gpu_due, part->gpu_count);
	if (all->which & ANALYZE_IF_OF_USE)
		leave_out_useless(all, part);
}

static void saw(struct analyses *all, uint64_t time_ns)
{
	if (time_ns > all->last_ns)
		all->last_ns = time_ns;
}

void analyses_add_call(struct analyses *all, const struct call_event *event)
{
	saw(all, event->call->start_ns);
	if (all->which & ANALYZE_CALL_LINES)
		line_sums_add_call(&all->call_lines, event);
	if (all->which & ANALYZE_UNTIMED)
		untimed_add_call(&all->untimed, event);
	if (all->which & ANALYZE_IDLE)
		idle_add_call(&all->idle, event);
	if (all->which & ANALYZE_WAITS)
		waits_add_call(&all->waits, event);
	if (all->which & ANALYZE_API_TIMES)
		api_times_add_call(&all->api_times, event);
	if (all->which & ANALYZE_FAILURES)
		failures_add_call(&all->failures, event);
	if (all->which & ANALYZE_NVTX)
		nvtx_add_call(&all->nvtx, event);
	if (all->which & ANALYZE_OPS)
		ops_by_name_add_call(&all->ops, event);
	if (all->which & ANALYZE_STEPS)
		step_tables_add_call(&all->steps, event);
	if (all->which & ANALYZE_KEY_AVERAGES)
		key_averages_add_call(&all->keys, event);
	if (all->which & ANALYZE_OP_STACKS)
		op_tree_add_call(&all->op_stacks.tree, event);
	if (all->which & ANALYZE_PER_STEP)
		per_step_add_call(&all->per_step, event);
	if (all->which & ANALYZE_THREADS)
		threads_add_call(&all->threads, event);
	if (all->which & ANALYZE_WHY)
		why_add_call(&all->why, event);
	if (all->which & ANALYZE_ACTIVITY_SUMS)
		activity_sums_add_call(&all->api_sums, event);
	if (all->which & ANALYZE_CALL_STACKS)
		stack_sums_add_call(&all->call_stacks, event);
	if (all->which & ANALYZE_CALL_TREE)
		call_tree_add_call(&all->tree, event);
	if (all->which & ANALYZE_LINE_COSTS)
		line_costs_add_call(&all->line_costs, event);
	if (all->which & ANALYZE_MEETINGS)
		meeting_taker_add_call(all->meeting_taker, all->model, event);
}

void analyses_add_gpu(struct analyses *all, const struct gpu_event *event)
{
	saw(all, event->op->end_ns);
	if (all->which & ANALYZE_GPU_LINES)
		line_sums_add_gpu(&all->gpu_lines, event);
	if (all->which & ANALYZE_OPS)
		collective_sums_add_gpu(&all->collectives, event);
	if (all->which & ANALYZE_KERNELS)
		kernels_add_gpu(&all->kernels, event);
	if (all->which & ANALYZE_MEMCPYS)
		memcpys_add_gpu(&all->memcpys, event);
	if (all->which & ANALYZE_KEY_AVERAGES)
		key_averages_add_gpu(&all->keys, event);
	if (all->which & ANALYZE_IDLE)
		idle_add_gpu(&all->idle, event);
	if (all->which & ANALYZE_INTERPRETER)
		interpreter_add_gpu(&all->interpreter, event);
	if (all->which & ANALYZE_UTILIZATION)
		utilization_add_gpu(&all->utilization, event);
	if (all->which & ANALYZE_STEPS)
		step_tables_add_gpu(&all->steps, event);
	if (all->which & ANALYZE_PER_STEP)
		per_step_add_gpu(&all->per_step, event);
	if (all->which & ANALYZE_WHY)
		why_add_gpu(&all->why, event);
	if (all->which & ANALYZE_ACTIVITY_SUMS)
		activity_sums_add_gpu(&all->gpu_sums, event);
	if (all->which & ANALYZE_EACH_GPU && event->op->start_ns && !all->had_enough)
		all->had_enough = !all->each_gpu(all->each_context, all, event);
	if (all->which & ANALYZE_GPU_STACKS)
		stack_sums_add_gpu(&all->gpu_stacks, event);
	if (all->which & ANALYZE_CALL_TREE)
		call_tree_add_gpu(&all->tree, event);
	if (all->which & ANALYZE_LINE_COSTS)
		line_costs_add_gpu(&all->line_costs, event);
	if (all->which & ANALYZE_MEETINGS)
		meeting_taker_add_gpu(all->meeting_taker, all->model, event);
}

void analyses_add_sync(struct analyses *all, const struct sync_event *event)
{
	if (all->which & ANALYZE_WAITS)
		waits_add_sync(&all->waits, event);
	if (all->which & ANALYZE_LINE_COSTS)
		line_costs_add_sync(&all->line_costs, event);
}

void analyses_add_jit(struct analyses *all, const struct jit_event *event)
{
	if (all->which & ANALYZE_JIT)
		jit_add_jit(&all->jit, event);
	if (all->which & ANALYZE_WHY)
		why_add_jit(&all->why, event);
}

void analyses_add_memory(struct analyses *all, const struct memory_event *event)
{
	if (all->which & ANALYZE_MEMORY_PEAKS)
		memory_peaks_add_memory(&all->memory, event);
}

void analyses_add_torch_memory(struct analyses *all, const struct torch_memory_event *event)
{
	if (all->which & ANALYZE_TORCH_MEMORY)
		torch_memory_sums_add(&all->torch_memory, event);
	if (all->which & ANALYZE_KEY_AVERAGES)
		key_averages_add_memory(&all->keys, event);
}

void analyses_add_exit(struct analyses *all, const struct exit_event *event)
{
	if (all->which & ANALYZE_MEMORY_PEAKS)
		memory_peaks_add_exit(&all->memory, event);
}

void analyses_add_span(struct analyses *all, const struct span_event *event)
{
	if (all->which & ANALYZE_INTERPRETER)
		interpreter_add_span(&all->interpreter, event);
	if (all->which & ANALYZE_WHY)
		why_add_span(&all->why, event);
}

void analyses_add_range(struct analyses *all, const struct range_event *event)
{
	if (all->which & ANALYZE_NVTX)
		nvtx_add_range(&all->nvtx, event);
}

void analyses_end_range(struct analyses *all, const struct range_event *event)
{
	if (all->which & ANALYZE_NVTX)
		nvtx_end_range(&all->nvtx, event);
}

void analyses_add_op(struct analyses *all, const struct op_event *event)
{
	if (all->which & ANALYZE_OPS)
		ops_by_name_add_op(&all->ops, event);
	if (all->which & ANALYZE_STEPS)
		step_tables_add_op(&all->steps, event, all->model->threads[event->op->thread].process);
	if (all->which & ANALYZE_KEY_AVERAGES)
		key_averages_add_op(&all->keys, event);
	if (all->which & ANALYZE_OP_STACKS)
		op_tree_add_op(&all->op_stacks.tree, event);
	if (all->which & ANALYZE_CALL_TREE)
		call_tree_add_op(&all->tree, event);
	if (all->which & ANALYZE_PER_STEP)
		op_tree_add_op(&all->per_step.tree, event);
	if (all->which & ANALYZE_WHY)
		why_add_op(&all->why, event);
}

/* Lines without Python are numbered as they are met here, so order matters. */
void analyses_finish(struct analyses *all)
{
	if (all->window.end_ns == UINT64_MAX)
		all->window.end_ns = all->last_ns;
	all->window.timed_from_ns = untimed_end(&all->untimed, all->model, &all->window);
	for (uint32_t i = 0; i < all->model->process_count; i++)
		all->active += all->model->processes[i].calls || all->model->processes[i].gpu_ops;
	complete_make(&all->complete, all->model);
	lines_make(&all->lines, &all->callers);
	if (all->which & ANALYZE_ACTIVITY_SUMS) {
		activity_sums_finish(&all->gpu_sums);
		activity_sums_finish(&all->api_sums);
	}
	if (all->which & ANALYZE_GPU_LINES)
		line_sums_finish(&all->gpu_lines, &all->lines);
	if (all->which & ANALYZE_CALL_LINES)
		line_sums_finish(&all->call_lines, &all->lines);
	if (all->which & ANALYZE_UNTIMED)
		untimed_finish(&all->untimed, &all->lines);
	if (all->which & ANALYZE_KERNELS)
		kernels_finish(&all->kernels, &all->lines);
	if (all->which & ANALYZE_MEMCPYS)
		memcpys_finish(&all->memcpys, &all->lines);
	if (all->which & ANALYZE_IDLE)
		idle_finish(&all->idle, &all->lines);
	if (all->which & ANALYZE_WAITS)
		waits_finish(&all->waits, &all->lines);
	if (all->which & ANALYZE_API_TIMES)
		api_times_finish(&all->api_times, &all->lines);
	if (all->which & ANALYZE_JIT)
		jit_finish(&all->jit, &all->lines);
	if (all->which & ANALYZE_MEMORY_PEAKS)
		memory_peaks_finish(&all->memory, &all->lines);
	if (all->which & ANALYZE_TORCH_MEMORY)
		torch_memory_sums_finish(&all->torch_memory, &all->lines);
	if (all->which & ANALYZE_FAILURES)
		failures_finish(&all->failures, &all->lines);
	if (all->which & ANALYZE_INTERPRETER)
		interpreter_finish(&all->interpreter);
	if (all->which & ANALYZE_NVTX)
		nvtx_finish(&all->nvtx);
	if (all->which & ANALYZE_OPS) {
		ops_by_name_finish(&all->ops);
		collective_sums_finish(&all->collectives, &all->lines);
	}
	if (all->which & ANALYZE_KEY_AVERAGES)
		key_averages_finish(&all->keys);
	if (all->which & ANALYZE_OP_STACKS)
		op_stacks_finish(&all->op_stacks);
	if (all->which & ANALYZE_CALL_TREE)
		call_tree_finish(&all->tree);
	if (all->which & ANALYZE_CALL_TREE && all->tree.by == TREE_BY_MEMORY)
		call_tree_add_memory(&all->tree, &all->torch_memory);
	if (all->which & ANALYZE_LINE_COSTS)
		line_costs_finish(&all->line_costs, &all->lines, &all->torch_memory);
	if (all->which & ANALYZE_STEPS)
		step_tables_finish(&all->steps);
	if (all->which & ANALYZE_PER_STEP)
		per_step_finish(&all->per_step, &all->window);
	if (all->which & ANALYZE_UTILIZATION)
		utilization_finish(&all->utilization);
	if (all->which & ANALYZE_WHY)
		why_finish(&all->why, &all->lines);
	if (all->which & ANALYZE_MEETINGS)
		meeting_taker_finish(all->meeting_taker, all->model, &all->lines, &all->meetings);
}

void analyses_free(struct analyses *all)
{
	line_sums_free(&all->gpu_lines);
	line_sums_free(&all->call_lines);
	activity_sums_free(&all->gpu_sums);
	activity_sums_free(&all->api_sums);
	untimed_free(&all->untimed);
	kernels_free(&all->kernels);
	memcpys_free(&all->memcpys);
	idle_free(&all->idle);
	waits_free(&all->waits);
	api_times_free(&all->api_times);
	jit_free(&all->jit);
	failures_free(&all->failures);
	memory_peaks_free(&all->memory);
	torch_memory_sums_free(&all->torch_memory);
	interpreter_free(&all->interpreter);
	nvtx_free(&all->nvtx);
	ops_by_name_free(&all->ops);
	collective_sums_free(&all->collectives);
	key_averages_free(&all->keys);
	op_stacks_free(&all->op_stacks);
	step_tables_free(&all->steps);
	per_step_free(&all->per_step);
	step_blocks_free(&all->blocks);
	utilization_free(&all->utilization);
	threads_free(&all->threads);
	if (all->which & ANALYZE_WHY)
		why_free(&all->why);
	stack_sums_free(&all->gpu_stacks);
	stack_sums_free(&all->call_stacks);
	call_tree_free(&all->tree);
	line_costs_free(&all->line_costs);
	meeting_taker_free(all->meeting_taker);
	meetings_free(&all->meetings);
	lines_free(&all->lines);
	callers_free(&all->callers);
}
