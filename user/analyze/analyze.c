/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One walk through the events of a model, and who is fed with them. */
#include "analyze/analyze.h"

/* Where the walk is in the model's arrays: the next ones. */
struct walk {
	struct analyses *all;
	uint32_t call, gpu;
	uint64_t last_ns; /* latest begin of a call, end of an operation */
};

static void saw(struct walk *walk, uint64_t time_ns)
{
	if (time_ns > walk->last_ns)
		walk->last_ns = time_ns;
}

static void feed_call(struct walk *walk)
{
	struct analyses *all = walk->all;
	const struct model *model = all->model;
	const struct model_call *call = &model->calls[walk->call];
	struct call_event event = {
		.call = call,
		.number = walk->call++,
		.process = model->threads[call->thread].process,
		.caller = caller_of(&all->callers, call),
		.operations_from_ns = walk->gpu < model->gpu_count ? model->gpu[walk->gpu].start_ns : UINT64_MAX,
		.fate = all->which & ANALYZE_UNTIMED ? launch_fate(model, call) : LAUNCH_NONE,
	};

	saw(walk, call->start_ns);
	if (all->which & ANALYZE_CALL_LINES)
		line_sums_add_call(&all->call_lines, &event);
	if (all->which & ANALYZE_UNTIMED)
		untimed_add_call(&all->untimed, &event);
	if (all->which & ANALYZE_IDLE)
		idle_add_call(&all->idle, &event);
}

/* Of a GPU operation whose call was not seen, too. */
static uint32_t caller_of_op(struct analyses *all, const struct model_gpu *op, const struct model_call *call)
{
	if (call)
		return caller_of(&all->callers, call);
	return op->before ? CALLER_BEFORE : CALLER_UNSEEN;
}

static struct gpu_event gpu_event_of(struct analyses *all, uint32_t index)
{
	const struct model *model = all->model;
	const struct model_gpu *op = &model->gpu[index];
	uint32_t attributed = gpu_attributed_call(model, op);
	struct gpu_event event = {
		.op = op,
		.launch = op->call == NONE ? NULL : &model->calls[op->call],
		.attributed = attributed == NONE ? NULL : &model->calls[attributed],
		.launch_number = op->call,
	};

	event.first = event.launch && event.launch->first_gpu == index;
	event.caller = caller_of_op(all, op, event.attributed);
	event.launch_caller = attributed == op->call ? event.caller : caller_of_op(all, op, event.launch);
	return event;
}

static void feed_gpu(struct walk *walk)
{
	struct analyses *all = walk->all;
	struct gpu_event event = gpu_event_of(all, walk->gpu++);

	saw(walk, event.op->end_ns);
	if (all->which & ANALYZE_GPU_LINES)
		line_sums_add_gpu(&all->gpu_lines, &event);
	if (all->which & ANALYZE_KERNELS)
		kernels_add_gpu(&all->kernels, &event);
	if (all->which & ANALYZE_MEMCPYS)
		memcpys_add_gpu(&all->memcpys, &event);
	if (all->which & ANALYZE_IDLE)
		idle_add_gpu(&all->idle, &event);
}

/* Operations without times do not wait for their calls. */
static void feed_all(struct walk *walk)
{
	const struct model *model = walk->all->model;

	for (; walk->gpu < model->gpu_count; feed_gpu(walk)) {
		const struct model_gpu *op = &model->gpu[walk->gpu];

		while (op->end_ns && walk->call < model->call_count &&
		       (model->calls[walk->call].start_ns <= op->start_ns ||
			(op->call != NONE && walk->call <= op->call)))
			feed_call(walk);
	}
	while (walk->call < model->call_count)
		feed_call(walk);
}

/* Lines without Python are numbered as they are met here, so order matters. */
static void finish(struct analyses *all)
{
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
}

void analyze(struct analyses *all, const struct model *model, unsigned which)
{
	struct walk walk = {.all = all, .last_ns = model->start_ns};

	*all = (struct analyses){.model = model, .which = which, .window = {model->start_ns, UINT64_MAX}};
	if (model->end_ns > model->start_ns)
		all->window.end_ns = model->end_ns;
	for (uint32_t i = 0; i < model->process_count; i++)
		all->active += model->processes[i].calls || model->processes[i].gpu_ops;
	callers_init(&all->callers, model);
	line_sums_init(&all->gpu_lines, model);
	line_sums_init(&all->call_lines, model);
	idle_init(&all->idle, model, &all->window);
	feed_all(&walk);
	if (all->window.end_ns == UINT64_MAX)
		all->window.end_ns = walk.last_ns;
	lines_make(&all->lines, &all->callers);
	finish(all);
}

void analyses_free(struct analyses *all)
{
	line_sums_free(&all->gpu_lines);
	line_sums_free(&all->call_lines);
	untimed_free(&all->untimed);
	kernels_free(&all->kernels);
	memcpys_free(&all->memcpys);
	idle_free(&all->idle);
	lines_free(&all->lines);
	callers_free(&all->callers);
}
