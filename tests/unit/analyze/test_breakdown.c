/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What GPUs did with their time: hand-made models, and random ones against a count of every nanosecond. */
#include "analyzed.h"

#include "model/communication.h"
#include "random_model.h"
#include "sanitizers.h"
#include "trace_cut.h"
#include "whole_trace.h"

#define ALL_REDUCE 5u /* strings of a random model that kernels are named by */
#define SEND 7u
#define CALLS 1500u
#define ROUNDS SOME_OF(12u)

/* ---- which kernels communicate ----------------------------------------------------------------------------------- */

static void kernels_of_nccl_are_known_by_their_names(void **state)
{
	assert_int_not_equal(comm_kind_of(NULL, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"), COMM_NONE);
	assert_int_not_equal(comm_kind_of(NULL, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"),
			     COMM_NONE);
	assert_int_not_equal(comm_kind_of(NULL, "ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)"), COMM_NONE);
	assert_int_equal(comm_kind_of(NULL, "void gemm<128>(float const*, float*)"), COMM_NONE);
	assert_int_equal(comm_kind_of(NULL, "my_ncclDevKernel"), COMM_NONE);
	assert_int_equal(comm_kind_of(NULL, "nccl"), COMM_NONE);
	assert_int_equal(comm_kind_of(NULL, ""), COMM_NONE);
}

static void what_a_kernel_does_is_in_its_name(void **state)
{
	assert_string_equal(communication_word("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"), "all-reduce");
	assert_string_equal(communication_word("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), "reduce-scatter");
	assert_string_equal(communication_word("ncclDevKernel_Reduce_Sum_f32_RING_LL(x)"), "reduce");
	assert_string_equal(communication_word("ncclDevKernel_SendRecv(x)"), "send/recv");
	assert_string_equal(communication_word("ncclDevKernel_Generic_1(x)"), "communication");
	assert_string_equal(communication_word("void vllm::cross_device_reduce_2stage<float>(x)"), "all-reduce");
	assert_string_equal(communication_word("multimem_all_gather_kernel"), "all-gather");
}

/* ---- models of a few operations ---------------------------------------------------------------------------------- */

#define START 1000u
#define END 2000u

struct few {
	struct model *model;
	struct model_gpu gpu[8];
};

static void few_begin(struct few *few, uint32_t count, const struct model_gpu *gpu)
{
	few->model = random_model(1, 1);
	few->model->start_ns = START;
	few->model->end_ns = END;
	free((char *)few->model->strings[ALL_REDUCE]);
	few->model->strings[ALL_REDUCE] = strdup("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)");
	memcpy(few->gpu, gpu, count * sizeof(*gpu));
	for (uint32_t i = 0; i < count; i++) {
		few->gpu[i].call = few->gpu[i].next = few->gpu[i].captured_by = NONE;
		few->gpu[i].label = few->gpu[i].name;
	}
	free(few->model->gpu);
	few->model->gpu = xmalloc(sizeof(few->gpu));
	memcpy(few->model->gpu, few->gpu, sizeof(few->gpu));
	few->model->gpu_count = count;
	for (uint32_t i = 0; i < few->model->call_count; i++)
		few->model->calls[i].first_gpu = NONE;
}

#define KERNEL(start, end, ...)                                                                                        \
	{                                                                                                              \
		.start_ns = start, .end_ns = end, .kind = MODEL_KERNEL, .name = 1, __VA_ARGS__                         \
	}
#define REDUCE(start, end, ...)                                                                                        \
	{                                                                                                              \
		.start_ns = start, .end_ns = end, .kind = MODEL_KERNEL, .name = ALL_REDUCE, __VA_ARGS__                \
	}
#define COPY(start, end, ...)                                                                                          \
	{                                                                                                              \
		.start_ns = start, .end_ns = end, .kind = MODEL_MEMCPY, .name = NONE, __VA_ARGS__                      \
	}
#define FILL(start, end, ...)                                                                                          \
	{                                                                                                              \
		.start_ns = start, .end_ns = end, .kind = MODEL_MEMSET, .name = NONE, __VA_ARGS__                      \
	}

static void assert_sums(const struct breakdown_sums *sums, uint64_t computation_ns, uint64_t exposed_ns,
			uint64_t copies_ns, uint64_t communication_ns)
{
	assert_int_equal(sums->computation_ns, computation_ns);
	assert_int_equal(sums->exposed_communication_ns, exposed_ns);
	assert_int_equal(sums->exposed_copies_ns, copies_ns);
	assert_int_equal(sums->communication_ns, communication_ns);
}

static void computation_comes_before_communication_before_copies(void **state)
{
	struct few few;
	struct analyses all;

	few_begin(
		&few, 4,
		(const struct model_gpu[]){COPY(1100, 1500), REDUCE(1200, 1400), KERNEL(1250, 1300), FILL(1450, 1600)});
	assert_int_equal(analyze(&all, WHOLE_TRACE(few.model), ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
	assert_int_equal(all.breakdown.gpus.count, 1);
	assert_sums(&all.breakdown.all, 50, 150, 300, 200);
	assert_int_equal(all.breakdown.all.copies_ns, 500);
	assert_int_equal(breakdown_overlap_ns(&all.breakdown.all), 50);
	assert_int_equal(breakdown_idle_ns(&all.breakdown.all, END - START), 500);
	assert_int_equal(all.breakdown.gpus.items[0].sums.first_ns, 1100);
	assert_int_equal(all.breakdown.gpus.items[0].sums.last_ns, 1600);
	analyses_free(&all);
	random_model_free(few.model);
}

static void another_process_on_the_gpu_hides_communication_of_the_gpu_only(void **state)
{
	struct few few;
	struct analyses all;

	few_begin(&few, 2, (const struct model_gpu[]){REDUCE(1100, 1300), KERNEL(1200, 1500, .process = 1)});
	assert_int_equal(analyze(&all, WHOLE_TRACE(few.model), ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
	assert_int_equal(all.breakdown.gpus.count, 1);
	assert_sums(&all.breakdown.gpus.items[0].sums, 300, 100, 0, 200);
	assert_int_equal(all.breakdown.processes.count, 2);
	assert_sums(&all.breakdown.processes.items[0].sums, 0, 200, 0, 200);
	assert_sums(&all.breakdown.processes.items[1].sums, 300, 0, 0, 0);
	analyses_free(&all);
	random_model_free(few.model);
}

static void another_gpu_hides_nothing(void **state)
{
	struct few few;
	struct analyses all;

	few_begin(&few, 2, (const struct model_gpu[]){REDUCE(1100, 1300), KERNEL(1100, 1300, .device = 1)});
	assert_int_equal(analyze(&all, WHOLE_TRACE(few.model), ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
	assert_int_equal(all.breakdown.gpus.count, 2);
	assert_sums(&all.breakdown.gpus.items[0].sums, 0, 200, 0, 200);
	assert_sums(&all.breakdown.gpus.items[1].sums, 200, 0, 0, 0);
	analyses_free(&all);
	random_model_free(few.model);
}

static void a_kernel_that_nccl_launched_communicates_whatever_its_name(void **state)
{
	struct few few;
	struct analyses all;
	struct model_collective nccl = {0};

	few_begin(&few, 1, (const struct model_gpu[]){KERNEL(1100, 1300)});
	few.model->gpu[0].call = 0;
	few.model->calls[0].first_gpu = 0;
	few.model->calls[0].gpu_count = 1;
	nccl.launch_ns = few.model->calls[0].start_ns;
	nccl.thread = few.model->calls[0].thread;
	few.model->nccl_calls = &nccl;
	few.model->nccl_call_count = 1;
	assert_int_equal(analyze(&all, WHOLE_TRACE(few.model), ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
	assert_sums(&all.breakdown.all, 0, 200, 0, 200);
	analyses_free(&all);
	few.model->nccl_calls = NULL;
	few.model->nccl_call_count = 0;
	random_model_free(few.model);
}

/* ---- every nanosecond -------------------------------------------------------------------------------------------- */

/* Time by the line that it counts for. */
struct counted_line {
	uint64_t computation_ns, exposed_ns, copies_ns, communication_ns;
};

/* Counts what ran in each nanosecond of a window; the first operation of a kind that still runs owns it. */
struct counting {
	struct analyses *all;
	const struct model *model;
	uint64_t start_ns, end_ns;
	uint32_t device, process;      /* process: NONE, of all of them */
	uint32_t *owners[SWEEP_KINDS]; /* by ns: the operation that owns it, NONE */
	struct counted_line *lines;    /* by line; NULL: not wanted */
	struct breakdown_sums sums;
};

static enum sweep_kind kind_of(const struct model_gpu *op)
{
	if (op->kind != MODEL_KERNEL)
		return SWEEP_COPY;
	return op->name == ALL_REDUCE || op->name == SEND ? SWEEP_COMMUNICATION : SWEEP_COMPUTATION;
}

static uint32_t line_of_op(struct analyses *all, const struct model *model, const struct model_gpu *op)
{
	uint32_t index = gpu_attributed_call(model, op);
	const struct model_call *call;

	if (index == NONE)
		return line_of(&all->lines, op->before ? CALLER_BEFORE : CALLER_UNSEEN);
	call = &model->calls[index];
	if (stack_has_frames(model, call->stack))
		return line_of(&all->lines, model->stack_frames[model->stacks[call->stack].first]);
	return line_of(&all->lines, caller_of(&all->callers, call));
}

static void count_ns(struct counting *counting, uint64_t at)
{
	const uint32_t computes = counting->owners[SWEEP_COMPUTATION][at];
	const uint32_t communicates = counting->owners[SWEEP_COMMUNICATION][at];
	const uint32_t copies = counting->owners[SWEEP_COPY][at];
	uint32_t first = computes != NONE ? computes : communicates != NONE ? communicates : copies;
	struct counted_line unused, *line, *other;

	counting->sums.communication_ns += communicates != NONE;
	counting->sums.copies_ns += copies != NONE;
	if (first == NONE)
		return;
	counting->sums.computation_ns += computes != NONE;
	counting->sums.exposed_communication_ns += computes == NONE && communicates != NONE;
	counting->sums.exposed_copies_ns += computes == NONE && communicates == NONE;
	if (!counting->lines)
		return;
	line = &counting->lines[line_of_op(counting->all, counting->model, &counting->model->gpu[first])];
	other = communicates == NONE ? &unused
				     : &counting->lines[line_of_op(counting->all, counting->model,
								   &counting->model->gpu[communicates])];
	line->computation_ns += computes != NONE;
	line->exposed_ns += computes == NONE && communicates != NONE;
	line->copies_ns += computes == NONE && communicates == NONE;
	if (communicates != NONE)
		other->communication_ns++;
}

static void count_all(struct counting *counting)
{
	size_t length = counting->end_ns - counting->start_ns;

	for (unsigned kind = 0; kind < SWEEP_KINDS; kind++) {
		counting->owners[kind] = xmalloc(length * sizeof(uint32_t));
		memset(counting->owners[kind], 0xff, length * sizeof(uint32_t));
	}
	for (uint32_t i = 0; i < counting->model->gpu_count; i++) {
		const struct model_gpu *op = &counting->model->gpu[i];
		uint32_t *owners = counting->owners[kind_of(op)];

		if (op->device != counting->device || (counting->process != NONE && op->process != counting->process))
			continue;
		for (uint64_t ns = op->start_ns; ns < op->end_ns; ns++)
			if (ns >= counting->start_ns && ns < counting->end_ns &&
			    owners[ns - counting->start_ns] == NONE)
				owners[ns - counting->start_ns] = i;
	}
	for (size_t at = 0; at < length; at++)
		count_ns(counting, at);
	for (unsigned kind = 0; kind < SWEEP_KINDS; kind++)
		free(counting->owners[kind]);
}

static void assert_counted(const struct breakdown_sums *sums, const struct counting *counting)
{
	assert_sums(sums, counting->sums.computation_ns, counting->sums.exposed_communication_ns,
		    counting->sums.exposed_copies_ns, counting->sums.communication_ns);
	assert_int_equal(sums->copies_ns, counting->sums.copies_ns);
}

/* A random model with kernels that communicate, in a window that cuts operations at both ends. */
static struct model *communicating_model(uint64_t number)
{
	struct model *model = random_model(number, CALLS);
	uint64_t length = model->end_ns - model->start_ns;

	free((char *)model->strings[ALL_REDUCE]);
	free((char *)model->strings[SEND]);
	model->strings[ALL_REDUCE] = strdup("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)");
	model->strings[SEND] = strdup("ncclDevKernel_SendRecv(x)");
	for (uint32_t i = 0; i < model->gpu_count; i++) /* a quarter of all kernels */
		if (model->gpu[i].kind == MODEL_KERNEL && i % 4 == 0)
			model->gpu[i].name = i % 8 ? SEND : ALL_REDUCE;
	model->start_ns += length / 10;
	model->end_ns -= length / 10;
	return model;
}

static void assert_lines_counted(struct analyses *all, const struct counted_line *counted)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < all->breakdown.lines.count; i++) {
		const struct breakdown_line *row = &all->breakdown.lines.items[i];

		assert_int_equal(row->computation_ns, counted[row->line].computation_ns);
		assert_int_equal(row->exposed_communication_ns, counted[row->line].exposed_ns);
		assert_int_equal(row->exposed_copies_ns, counted[row->line].copies_ns);
		assert_int_equal(row->communication_ns, counted[row->line].communication_ns);
		assert_int_equal(row->name != NONE, row->communication_ns > 0);
		sum += row->computation_ns + row->exposed_communication_ns + row->exposed_copies_ns;
	}
	assert_int_equal(sum, breakdown_busy_ns(&all->breakdown.all));
}

static void random_models_are_divided_as_a_count_of_every_ns_says(void **state)
{
	for (uint64_t number = 0; number < ROUNDS; number++) {
		struct model *model = communicating_model(number);
		struct counted_line *lines;
		struct analyses all;

		assert_int_equal(analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
		assert_int_equal(all.breakdown.gpus.count, 2);
		lines = xcalloc(all.lines.all.count + 64, sizeof(*lines));
		for (size_t i = 0; i < all.breakdown.gpus.count; i++) {
			const struct breakdown_row *row = &all.breakdown.gpus.items[i];
			struct counting counting = {.all = &all,
						    .model = model,
						    .start_ns = model->start_ns,
						    .end_ns = model->end_ns,
						    .device = row->device,
						    .process = NONE,
						    .lines = lines};

			count_all(&counting);
			assert_counted(&row->sums, &counting);
			assert_true(breakdown_overlap_ns(&row->sums) > 0);
		}
		assert_lines_counted(&all, lines);
		for (size_t i = 0; i < all.breakdown.processes.count; i++) {
			const struct breakdown_row *row = &all.breakdown.processes.items[i];
			struct counting counting = {.all = &all,
						    .model = model,
						    .start_ns = model->start_ns,
						    .end_ns = model->end_ns,
						    .device = row->device,
						    .process = row->process};

			count_all(&counting);
			assert_counted(&row->sums, &counting);
		}
		free(lines);
		analyses_free(&all);
		random_model_free(model);
	}
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

#define STEPS_MADE 7u

/* Steps of the first process of a random model, some with gaps between them. */
static void make_steps(struct steps *steps, const struct model *model)
{
	uint64_t length = (model->end_ns - model->start_ns) / STEPS_MADE, at_ns = model->start_ns;
	struct step_track track = {.pid = model->processes[0].pid, .source = STEP_OPTIMIZER, .name = strdup("")};

	*steps = (struct steps){0};
	for (uint64_t i = 0; i < STEPS_MADE; i++, at_ns += length)
		array_push(&track.list, ((struct step){.start_ns = at_ns + (i % 3 == 1 ? 777 : 0),
						       .end_ns = at_ns + length - (i % 2 ? 3331 : 0),
						       .number = i}));
	array_push(&steps->tracks, track);
}

static void add_counts(struct counting *to, const struct counting *from)
{
	to->sums.computation_ns += from->sums.computation_ns;
	to->sums.exposed_communication_ns += from->sums.exposed_communication_ns;
	to->sums.exposed_copies_ns += from->sums.exposed_copies_ns;
	to->sums.communication_ns += from->sums.communication_ns;
	to->sums.copies_ns += from->sums.copies_ns;
}

static struct counting count_step(struct model *model, const struct step *step)
{
	struct counting sum = {0};

	for (uint32_t device = 0; device < 2; device++) {
		struct counting counting = {.model = model,
					    .start_ns = step->start_ns,
					    .end_ns = step->end_ns,
					    .device = device,
					    .process = 0};

		count_all(&counting);
		add_counts(&sum, &counting);
	}
	return sum;
}

static void steps_have_the_time_of_their_process_on_each_gpu(void **state)
{
	struct model *model = communicating_model(3);
	struct trace_of_model of;
	struct trace *trace = trace_of_model(&of, model);
	const struct step_table *table;
	struct breakdown_sums sums;
	struct counting counting, steps_counted = {0};
	struct analyses all;
	struct steps steps;

	make_steps(&steps, model);
	trace->steps = &steps;
	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_STEPS, ANALYZE_BREAKDOWN), NULL), 0);
	assert_int_equal(all.steps.list.count, 1);
	table = &all.steps.list.items[0];
	assert_int_equal(all.breakdown.step_gpus[0], 2);
	counting = count_step(model, &table->median.step);
	sums = breakdown_of_slot(&all.breakdown, step_slot(0, STEP_SLOT_MEDIAN));
	assert_counted(&sums, &counting);
	for (size_t i = 0; i < table->slowest_count; i++) {
		counting = count_step(model, &table->slowest[i].step);
		sums = breakdown_of_slot(&all.breakdown, step_slot(0, i));
		assert_counted(&sums, &counting);
	}
	for (size_t i = 0; i < table->count; i++) {
		counting = count_step(model, &table->list[i]);
		add_counts(&steps_counted, &counting);
	}
	sums = breakdown_of_steps(&all.breakdown, 0);
	assert_counted(&sums, &steps_counted);
	analyses_free(&all);
	steps_free(&steps);
	random_model_free(model);
}

/* ---- parts and slices -------------------------------------------------------------------------------------------- */

/* The rows, by the names of lines, whose numbers may differ. */
struct rows {
	struct breakdown_sums gpus[2], processes[4];
	ARRAY(char *) names;
	ARRAY(struct counted_line) lines;
};

static struct counted_line *row_named(struct rows *rows, char *name)
{
	for (size_t i = 0; i < rows->names.count; i++)
		if (!strcmp(rows->names.items[i], name)) {
			free(name);
			return &rows->lines.items[i];
		}
	array_push(&rows->names, name);
	return array_push(&rows->lines, ((struct counted_line){0}));
}

static void add_sums(struct breakdown_sums *to, const struct breakdown_sums *from)
{
	to->computation_ns += from->computation_ns;
	to->exposed_communication_ns += from->exposed_communication_ns;
	to->exposed_copies_ns += from->exposed_copies_ns;
	to->communication_ns += from->communication_ns;
	to->copies_ns += from->copies_ns;
}

static void add_rows(struct rows *rows, struct trace *trace)
{
	struct analyses all;

	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
	for (size_t i = 0; i < all.breakdown.gpus.count; i++)
		add_sums(&rows->gpus[all.breakdown.gpus.items[i].device], &all.breakdown.gpus.items[i].sums);
	for (size_t i = 0; i < all.breakdown.processes.count; i++) {
		const struct breakdown_row *row = &all.breakdown.processes.items[i];

		add_sums(&rows->processes[2 * row->process + row->device], &row->sums);
	}
	for (size_t i = 0; i < all.breakdown.lines.count; i++) {
		const struct breakdown_line *row = &all.breakdown.lines.items[i];
		const struct line *line = &all.lines.all.items[row->line];
		/* a thread's lines without Python are named by the first of them, which slices need not have */
		struct counted_line *to =
			row_named(rows, line->reason ? strdup("no Python")
						     : xasprintf("%s:%u %s", line->file, line->number, line->function));

		to->computation_ns += row->computation_ns;
		to->exposed_ns += row->exposed_communication_ns;
		to->copies_ns += row->exposed_copies_ns;
		to->communication_ns += row->communication_ns;
	}
	analyses_free(&all);
}

static void add_slice(struct rows *rows, struct trace *inner, uint64_t from_ns, uint64_t to_ns)
{
	struct slice slice = {.from_ns = from_ns, .to_ns = to_ns, .device = NONE};
	struct sliced_trace sliced;

	assert_int_equal(sliced_trace_open(&sliced, inner, &slice, "a slice"), 0);
	add_rows(rows, &sliced.trace);
	sliced_trace_close(&sliced);
}

static void assert_same_rows(struct rows *found, struct rows *wanted)
{
	assert_memory_equal(found->gpus, wanted->gpus, sizeof(found->gpus));
	assert_memory_equal(found->processes, wanted->processes, sizeof(found->processes));
	assert_int_equal(found->names.count, wanted->names.count);
	for (size_t i = 0; i < found->names.count; i++)
		assert_memory_equal(row_named(wanted, strdup(found->names.items[i])), &found->lines.items[i],
				    sizeof(found->lines.items[i]));
}

static void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->names.count; i++)
		free(rows->names.items[i]);
	array_free(&rows->names);
	array_free(&rows->lines);
}

static void a_trace_in_parts_has_the_same_rows(void **state)
{
	for (uint64_t number = 0; number < ROUNDS; number++) {
		struct model *model = communicating_model(number);
		struct rows wanted = {0};

		add_rows(&wanted, WHOLE_TRACE(model));
		for (uint32_t events = 1; events < 1000; events *= 9) {
			struct trace *parts = trace_cut_each(model, events);
			struct rows found = {0};

			add_rows(&found, parts);
			assert_same_rows(&found, &wanted);
			rows_free(&found);
			trace_cut_free(parts);
		}
		rows_free(&wanted);
		random_model_free(model);
	}
}

/* Operations that run over the cut count in both, each with its part. */
static void slices_sum_up_to_the_whole(void **state)
{
	for (uint64_t number = 0; number < ROUNDS; number++) {
		struct model *model = communicating_model(number);
		uint64_t cut_ns = model->start_ns + (model->end_ns - model->start_ns) * (number + 1) / (ROUNDS + 2);
		struct rows wanted = {0}, whole = {0}, parts = {0};
		struct trace *cut = trace_cut_each(model, 40);

		add_rows(&wanted, WHOLE_TRACE(model));
		add_slice(&whole, WHOLE_TRACE(model), 0, cut_ns);
		add_slice(&whole, WHOLE_TRACE(model), cut_ns, UINT64_MAX);
		assert_same_rows(&whole, &wanted);
		add_slice(&parts, cut, 0, cut_ns);
		add_slice(&parts, cut, cut_ns, UINT64_MAX);
		assert_same_rows(&parts, &wanted);
		trace_cut_free(cut);
		rows_free(&wanted);
		rows_free(&whole);
		rows_free(&parts);
		random_model_free(model);
	}
}

static void a_gpu_that_idles_in_the_time_that_counts_has_a_row(void **state)
{
	const struct slice slice = {.from_ns = START, .to_ns = 1200, .device = NONE};
	struct sliced_trace sliced;
	struct few few;
	struct analyses all;

	few_begin(&few, 2, (const struct model_gpu[]){KERNEL(1100, 1150), KERNEL(1300, 1400, .device = 1)});
	assert_int_equal(sliced_trace_open(&sliced, WHOLE_TRACE(few.model), &slice, "a slice"), 0);
	assert_int_equal(
		analyze(&all, &sliced.trace, ANALYSES(ANALYZE_BREAKDOWN, ANALYZE_UTILIZATION, ANALYZE_IDLE), NULL), 0);
	assert_int_equal(all.utilization.rows.count, 2);
	assert_int_equal(all.breakdown.gpus.count, 2);
	assert_int_equal(all.breakdown.gpus.items[1].device, 1);
	assert_sums(&all.breakdown.gpus.items[0].sums, 50, 0, 0, 0);
	assert_sums(&all.breakdown.gpus.items[1].sums, 0, 0, 0, 0);
	analyses_free(&all);
	sliced_trace_close(&sliced);
	random_model_free(few.model);
	few_begin(&few, 2, (const struct model_gpu[]){KERNEL(1100, 1150), KERNEL(END + 10, END + 20, .device = 1)});
	assert_int_equal(analyze(&all, WHOLE_TRACE(few.model), ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
	assert_int_equal(all.breakdown.gpus.count, 2);
	assert_int_equal(all.breakdown.processes.count, 1);
	assert_sums(&all.breakdown.gpus.items[1].sums, 0, 0, 0, 0);
	analyses_free(&all);
	random_model_free(few.model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_nccl_are_known_by_their_names),
		cmocka_unit_test(what_a_kernel_does_is_in_its_name),
		cmocka_unit_test(computation_comes_before_communication_before_copies),
		cmocka_unit_test(another_process_on_the_gpu_hides_communication_of_the_gpu_only),
		cmocka_unit_test(another_gpu_hides_nothing),
		cmocka_unit_test(a_kernel_that_nccl_launched_communicates_whatever_its_name),
		cmocka_unit_test(random_models_are_divided_as_a_count_of_every_ns_says),
		cmocka_unit_test(steps_have_the_time_of_their_process_on_each_gpu),
		cmocka_unit_test(a_trace_in_parts_has_the_same_rows),
		cmocka_unit_test(slices_sum_up_to_the_whole),
		cmocka_unit_test(a_gpu_that_idles_in_the_time_that_counts_has_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
