/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/collective_arrivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks/rank_numbers.h"
#include "analyze/ranks/step_back.h"
#include "analyze/ranks/step_order.h"
#include "model/collectives.h"
#include "model/steps/step_marks.h"
#include "base/order.h"

#define PENDING 256u /* the latest launched collectives of a process whose kernels may not have started yet */
#define LAUNCHED_BY (1ull << 63) /* it is a call's number, not an op's */
#define LOOK_BACK 8u		 /* kernels of one collective follow each other: this many others may be between */

/* The place of a call. */
struct place {
	uint32_t stack, caller; /* NONE: no place */
};

/* The pauses of a process since its last collective. */
struct pause {
	uint64_t last_ns; /* latest end of its calls, 0: none yet */
	uint64_t longest_ns;
	struct place last;     /* of the call that ended last */
	struct place from, to; /* before and after the longest pause */
};

/* A collective that was launched. */
struct pending {
	uint64_t op; /* number_of_collective(), 0: none */
	uint64_t paused_ns;
	uint32_t from, to; /* arrival_collector.places */
	uint64_t step;	   /* the number of the profiler's step that it is in, NO_STEP */
};

#define NO_STEP UINT64_MAX

/* The latest step of torch.profiler in a process. */
struct profiled_step {
	uint64_t number, start_ns, end_ns; /* end_ns 0: none yet */
};

/* The state of a process; until the end, lines and names are callers and strings of the model. */
struct taken {
	struct arriving_rank rank;
	uint64_t ops[LOOK_BACK]; /* of the latest arrivals, by their index modulo LOOK_BACK */
	struct pending pending[PENDING];
	size_t next_pending;
	struct step_positions positions;   /* arrivals without a sequence number */
	struct numbered_arrivals numbered; /* of a file of another tool */
	struct rank_numbers numbers;
};

struct arrival_collector {
	struct pause *pauses;	     /* by model.processes */
	struct taken **processes;    /* by model.processes; NULL: no collective yet */
	struct profiled_step *steps; /* by model.processes */
	bool *met_on_cpu;	     /* by model.processes: it had a collective over gloo or MPI */
	struct tally places;	     /* stack, caller; numbered as they come */
	uint32_t process_count;
};

struct arrival_collector *arrival_collector_new(const struct model *first)
{
	struct arrival_collector *taker = xcalloc(1, sizeof(*taker));

	taker->process_count = first->process_count;
	taker->pauses = xcalloc(first->process_count, sizeof(*taker->pauses));
	taker->processes = xcalloc(first->process_count, sizeof(*taker->processes));
	taker->steps = xcalloc(first->process_count, sizeof(*taker->steps));
	taker->met_on_cpu = xcalloc(first->process_count, sizeof(*taker->met_on_cpu));
	return taker;
}

void arrival_collector_free(struct arrival_collector *taker)
{
	if (!taker)
		return;
	for (uint32_t i = 0; i < taker->process_count; i++)
		if (taker->processes[i]) {
			array_free(&taker->processes[i]->rank.met.list);
			array_free(&taker->processes[i]->positions.list);
			array_free(&taker->processes[i]->numbered.list);
			rank_numbers_free(&taker->processes[i]->numbers);
			free(taker->processes[i]->rank.process_name);
			free(taker->processes[i]);
		}
	tally_free(&taker->places);
	free(taker->processes);
	free(taker->steps);
	free(taker->met_on_cpu);
	free(taker->pauses);
	free(taker);
}

static struct taken *taken_of(struct arrival_collector *taker, const struct model *part, uint32_t process)
{
	const struct model_source *source = model_source(part);
	const struct model_process *of = &part->processes[process];
	struct taken **taken = &taker->processes[process];

	if (!*taken) {
		*taken = xcalloc(1, sizeof(**taken));
		(*taken)->rank = (struct arriving_rank){.process = process,
							.pid = of->pid,
							.process_name = xstrdup(of->name),
							.rank = source->is_rank ? source->rank : of->rank,
							.by_environment = !source->is_rank,
							.world = source->world,
							.device = NONE};
		(*taken)->numbers.all = (struct rank_number){.device = NONE, .world = source->world};
	}
	return *taken;
}

/* ---- which collective, which rank -------------------------------------------------------------------------------- */

static bool is_met(const struct collective *collective)
{
	const char *name = collective->fields[GPT_COLLECTIVE_NAME];

	return collective->numbers[GPT_COLLECTIVE_GROUP_SIZE] > 1 &&
	       collective->numbers[GPT_COLLECTIVE_POINT_TO_POINT] != 1 && strcmp(name, "send") != 0 &&
	       strcmp(name, "recv") != 0;
}

/* Whether an op is a collective of gloo or MPI, which launches nothing. */
static bool is_on_cpu(const char *op)
{
	return !strncmp(op, "gloo:", 5) || !strncmp(op, "mpi:", 4);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static uint32_t number_of(struct arrival_collector *taker, struct place place)
{
	return (uint32_t)(tally_at(&taker->places, (struct tally_key){{place.stack, place.caller}}) -
			  taker->places.entries);
}

static void note_pause(struct pause *pause, const struct call_event *event)
{
	const struct model_call *call = event->call;
	uint64_t end_ns;

	if (pause->last_ns && call->start_ns > pause->last_ns && call->start_ns - pause->last_ns > pause->longest_ns) {
		pause->longest_ns = call->start_ns - pause->last_ns;
		pause->from = pause->last;
		pause->to = (struct place){event->stack, event->caller};
	}
	end_ns = call->end_ns > call->start_ns ? call->end_ns : call->start_ns;
	if (end_ns < pause->last_ns)
		return;
	pause->last_ns = end_ns;
	pause->last = (struct place){event->stack, event->caller};
}

void arrival_collector_add_op(struct arrival_collector *taker, const struct model *part, const struct op_event *event)
{
	const struct model_op *op = event->op;
	struct profiled_step step = {.start_ns = op->start_ns, .end_ns = op->end_ns};
	uint32_t process = part->threads[op->thread].process;

	if (op->name == NONE)
		return;
	if (is_on_cpu(part->strings[op->name]))
		taker->met_on_cpu[process] = true;
	if (!op->truncated && step_profiler_number(part->strings[op->name], &step.number))
		taker->steps[process] = step;
}

/* Steps that overlap, of several threads, have one number on no rank; the latest counts. */
static uint64_t step_during(const struct arrival_collector *taker, uint32_t process, uint64_t time_ns)
{
	const struct profiled_step *step = &taker->steps[process];

	return time_ns >= step->start_ns && time_ns < step->end_ns ? step->number : NO_STEP;
}

/* The number of the collective's op, or of the call by which NCCL launched it. */
static uint64_t number_of_collective(const struct model_collective *collective, const struct model_call *launch)
{
	return collective->op ? collective->op : LAUNCHED_BY | launch->number;
}

void arrival_collector_add_call(struct arrival_collector *taker, const struct model *part,
				const struct call_event *event)
{
	struct pause *pause = &taker->pauses[event->process];
	const struct model_collective *reported;
	struct pending *pending;
	struct taken *taken;

	note_pause(pause, event);
	if (event->call->class != GPT_CLASS_LAUNCH)
		return;
	reported = model_collective_of_call(part, event->call);
	if (!reported)
		return;
	taken = taken_of(taker, part, event->process);
	pending = &taken->pending[taken->next_pending++ % PENDING];
	*pending = (struct pending){.op = number_of_collective(reported, event->call),
				    .paused_ns = pause->longest_ns,
				    .step = step_during(taker, event->process, event->call->start_ns)};
	if (pending->paused_ns) {
		pending->from = number_of(taker, pause->from);
		pending->to = number_of(taker, pause->to);
	}
	pause->longest_ns = 0;
}

/* The arrival that an earlier kernel of the op began; NULL: this kernel is the first. */
static struct collective_arrival *find_begun(struct taken *taken, uint64_t op)
{
	size_t count = taken->rank.met.list.count;

	for (size_t i = count; i-- > 0 && count - i <= LOOK_BACK;)
		if (taken->ops[i % LOOK_BACK] == op)
			return &taken->rank.met.list.items[i];
	return NULL;
}

static void add_pause(const struct taken *taken, struct collective_arrival *arrival, uint64_t op)
{
	for (size_t i = 0; i < PENDING; i++)
		if (taken->pending[i].op == op && taken->pending[i].paused_ns) {
			arrival->paused_ns = taken->pending[i].paused_ns;
			arrival->pause_from = taken->pending[i].from;
			arrival->pause_to = taken->pending[i].to;
			return;
		}
}

/* The step in which the op launched; NO_STEP: none, or too long ago. */
static uint64_t step_of(const struct taken *taken, uint64_t op)
{
	return value_of_first(PENDING, i, taken->pending[i].op == op, taken->pending[i].step, NO_STEP);
}

static void begin_arrival(struct arrival_collector *taker, struct taken *taken, const struct model *part,
			  const struct gpu_event *event, const struct model_collective *reported, uint64_t op)
{
	struct collective_arrival arrival = {.launched_ns = event->launch->start_ns,
					     .arrived_ns = event->op->start_ns,
					     .ended_ns = event->op->end_ns,
					     .device = event->op->device,
					     .name = reported->params,
					     .pause_from = NONE,
					     .pause_to = NONE};
	uint64_t step = reported->sequence < 0 ? step_of(taken, op) : NO_STEP;
	struct collective collective;

	if (!collective_read(&collective, part->strings[reported->params]) || !is_met(&collective))
		return;
	rank_numbers_add(&taken->numbers, event->op->device, &collective, reported->op != 0);
	if (reported->sequence < 0 && step == NO_STEP) {
		rank_numbers_add_unnumbered(&taken->numbers, event->op->device);
		return;
	}
	if (taken->rank.met.list.count == ARRIVALS_MAX) {
		taken->rank.left_out++;
		return;
	}
	if (step == NO_STEP)
		arrival.key = collective_key_of_op(&collective, reported->sequence);
	else
		step_positions_add(&taken->positions, &collective, step, event->launch->start_ns,
				   taken->rank.met.list.count);
	if (step == NO_STEP && model_is_foreign(part))
		array_push(&taken->numbered.list,
			   ((struct numbered_arrival){collective_group_key(&collective), reported->sequence,
						      taken->rank.met.list.count}));
	arrival.is_one_way = collective_is_one_way(&collective);
	arrival.line = number_of(taker, (struct place){event->launch->stack, event->launch_caller});
	add_pause(taken, &arrival, op);
	taken->ops[taken->rank.met.list.count % LOOK_BACK] = op;
	array_push(&taken->rank.met.list, arrival);
}

void arrival_collector_add_gpu(struct arrival_collector *taker, const struct model *part, const struct gpu_event *event)
{
	const struct model_collective *reported = NULL;
	struct collective_arrival *arrival;
	struct taken *taken;
	uint64_t op;

	if (event->op->kind == MODEL_KERNEL && event->launch && gpu_ns(event->op))
		reported = model_collective_of_call(part, event->launch);
	if (!reported)
		return;
	op = number_of_collective(reported, event->launch);
	taken = taken_of(taker, part, event->op->process);
	arrival = find_begun(taken, op);
	if (!arrival)
		begin_arrival(taker, taken, part, event, reported, op);
	else if (event->op->end_ns > arrival->ended_ns)
		arrival->ended_ns = event->op->end_ns;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_key, struct collective_arrival,
	     least_first(a->key, b->key) ?: least_first(a->arrived_ns, b->arrived_ns))

static void set_key(void *context, size_t index, uint64_t key)
{
	struct arriving_rank *rank = context;

	rank->met.list.items[index].key = key;
	rank->by_step++;
}

/* Collectives of one process with the same number cannot be distinguished. */
static void drop_repeated(struct arriving_rank *rank)
{
	struct collective_arrival *list = rank->met.list.items;
	size_t kept = 0, count = rank->met.list.count;

	if (count)
		qsort(list, count, sizeof(*list), by_key);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && list[next].key == list[i].key; next++)
			;
		if (next - i == 1)
			list[kept++] = list[i];
		else
			rank->repeated += next - i;
	}
	rank->met.list.count = kept;
}

static enum arrivals_lack lack_of(const struct model *model)
{
	if (any_of(model->string_count, i, is_on_cpu(model->strings[i])))
		return ARRIVALS_ON_CPU;
	if (model_is_foreign(model) || any_of(model->process_count, i, model->processes[i].ops_state))
		return ARRIVALS_NO_COLLECTIVE;
	return ARRIVALS_NO_OPS;
}

/* How much speaks for a process being the rank that its environment says; 0: nothing. */
static unsigned evidence_of_rank(const struct arrival_collector *taker, const struct model *model, uint32_t process)
{
	const struct model_process *of = &model->processes[process];

	return taker->met_on_cpu[process] ? 3 : of->calls ? 2 : of->python ? 1 : 0;
}

/* Whether another process is known to be the rank, or more speaks for it.  A child starts after its parent. */
static bool is_other_rank(const struct arrival_collector *taker, const struct model *model, uint32_t other,
			  uint32_t process)
{
	const struct taken *taken = taker->processes[other];
	const struct model_process *of = &model->processes[process], *its = &model->processes[other];
	unsigned more = evidence_of_rank(taker, model, other), evidence = evidence_of_rank(taker, model, process);

	if (taken)
		return (taken->numbers.all.is_known ? taken->numbers.all.rank : its->rank) == of->rank;
	if (other == process || its->rank != of->rank)
		return false;
	if (more != evidence)
		return more > evidence;
	return its->start_ns != of->start_ns ? its->start_ns < of->start_ns : other < process;
}

/*
 * Whether a process without collectives that could be compared is a rank all the same: its file says so, or the
 * environment it was started with.  A child inherits that environment: of several processes the rank is one that had
 * collectives on the CPU, else one that called CUDA, else one that runs Python; of these the first.
 */
static bool is_silent_rank(const struct arrival_collector *taker, const struct model *model, uint32_t process)
{
	const struct model_process *of = &model->processes[process];

	if (taker->processes[process])
		return false;
	if (model_source(model)->is_rank)
		return of->calls;
	if (of->rank < 0 || !evidence_of_rank(taker, model, process))
		return false;
	return !any_of(taker->process_count, i, is_other_rank(taker, model, i, process));
}

static char *copy_known(const char *text)
{
	return text && *text ? xstrdup(text) : NULL;
}

/* Moves the arrivals of the process, or of that GPU of it, to a rank of its own. */
static void keep_rank(struct collective_arrivals *arrivals, struct taken *taken, const struct rank_number *number,
		      const struct model *model)
{
	const struct model_process *of = &model->processes[taken->rank.process];
	struct arriving_rank rank = taken->rank;

	if (number->device == NONE)
		memset(&taken->rank.met, 0, sizeof(taken->rank.met));
	else
		memset(&rank.met, 0, sizeof(rank.met));
	rank.device = number->device;
	rank.process_name = xstrdup(taken->rank.process_name);
	rank.unnumbered = number->unnumbered;
	rank.world = number->world;
	if (number->is_known) {
		rank.by_environment = false;
		rank.rank = number->rank;
	}
	rank.master = copy_known(of->master);
	rank.run_id = copy_known(of->run_id);
	rank.exit_ns = of->exit_ns;
	rank.exit_signal = of->exit_signal;
	array_each (arrival, &taken->rank.met.list) {
		if (arrival->device == number->device)
			array_push(&rank.met.list, *arrival);
	}
	drop_repeated(&rank);
	array_push(&arrivals->ranks.list, rank);
}

DEFINE_ORDER(by_device, struct rank_number, lower_first(a->device, b->device))

static void keep_process(struct collective_arrivals *arrivals, struct taken *taken, struct rank_texts *keeping)
{
	size_t gpus = rank_numbers_gpus(&taken->numbers);

	step_positions_finish(&taken->positions, set_key, &taken->rank);
	step_back_drop(&taken->numbered, &taken->rank);
	array_each (arrival, &taken->rank.met.list) {
		arrival->name = rank_texts_keep_collective(keeping, arrival->name);
		arrival->line = rank_texts_keep_line(keeping, arrival->line);
		arrival->pause_from = rank_texts_keep_line(keeping, arrival->pause_from);
		arrival->pause_to = rank_texts_keep_line(keeping, arrival->pause_to);
	}
	array_sort(&taken->numbers.gpus, by_device);
	for (size_t i = 0; i < gpus; i++) {
		keep_rank(arrivals, taken, &taken->numbers.gpus.items[i], keeping->model);
		/* said once */
		taken->rank.left_out = taken->rank.by_step = 0;
	}
	if (!gpus)
		keep_rank(arrivals, taken, &taken->numbers.all, keeping->model);
}

void arrival_collector_finish(struct arrival_collector *taker, const struct model *model, struct lines *lines,
			      struct collective_arrivals *arrivals)
{
	struct rank_texts keeping = {
		.kept = &arrivals->texts, .model = model, .lines = lines, .places = &taker->places};

	*arrivals = (struct collective_arrivals){.lack = lack_of(model)};
	for (uint32_t i = 0; i < taker->process_count; i++) {
		struct taken *taken = is_silent_rank(taker, model, i) ? taken_of(taker, model, i) : taker->processes[i];

		if (taken && (taken->numbers.all.is_known || taken->rank.rank >= 0))
			keep_process(arrivals, taken, &keeping);
	}
	rank_texts_free(&keeping);
}

void collective_arrivals_free(struct collective_arrivals *arrivals)
{
	for (size_t i = 0; i < arrivals->ranks.list.count; i++) {
		free(arrivals->ranks.list.items[i].process_name);
		free(arrivals->ranks.list.items[i].master);
		free(arrivals->ranks.list.items[i].run_id);
		array_free(&arrivals->ranks.list.items[i].met.list);
	}
	array_free(&arrivals->ranks.list);
	kept_texts_free(&arrivals->texts);
}
