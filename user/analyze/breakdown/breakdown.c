/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sweeps over each GPU, and over each process on a GPU. */
#include "analyze/breakdown/breakdown.h"

#include <stdlib.h>

#include "base/order.h"
#include "model/communication.h"

/* What time of a line is kept apart; all communication is the second and the last. */
enum place_part {
	PLACE_COMPUTATION,
	PLACE_EXPOSED_COMMUNICATION,
	PLACE_EXPOSED_COPY,
	PLACE_OVERLAP,
};

/* The numbers of an owner. */
enum {
	OWNER_PLACE,
	OWNER_PROCESS,
	OWNER_NAME,
};

void breakdown_init(struct breakdown *all, const struct model *model, const struct window *window,
		    const struct step_tables *steps, const struct comm_kernels *comm)
{
	*all = (struct breakdown){.model = model, .window = window, .steps = steps, .comm_names = {.own = comm}};
	if (steps)
		all->slots = xcalloc(STEP_SLOTS, sizeof(*all->slots));
}

void breakdown_free(struct breakdown *all)
{
	for (size_t i = 0; i < all->tracks.count; i++) {
		sweep_free(&all->tracks.items[i]->sweep);
		free(all->tracks.items[i]);
	}
	array_free(&all->tracks);
	array_free(&all->gpus);
	array_free(&all->processes);
	array_free(&all->lines);
	tally_free(&all->numbers);
	tally_free(&all->places);
	comm_names_free(&all->comm_names);
	free(all->slots);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static enum sweep_kind kind_of_time(const struct sweep_piece *piece)
{
	enum sweep_kind kind = SWEEP_COMPUTATION;

	while (!piece->owners[kind])
		kind++;
	return kind;
}

static void add_sums(struct breakdown_sums *sums, const struct sweep_piece *piece, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = to_ns - from_ns;

	switch (kind_of_time(piece)) {
	case SWEEP_COMPUTATION:
		sums->computation_ns += ns;
		break;
	case SWEEP_COMMUNICATION:
		sums->exposed_communication_ns += ns;
		break;
	default:
		sums->exposed_copies_ns += ns;
	}
	if (piece->owners[SWEEP_COMMUNICATION])
		sums->communication_ns += ns;
	if (piece->owners[SWEEP_COPY])
		sums->copies_ns += ns;
	if (!sums->last_ns)
		sums->first_ns = from_ns;
	sums->last_ns = to_ns;
}

static void add_place(struct breakdown *all, const struct sweep_owner *owner, enum place_part part, uint64_t ns)
{
	const uint32_t *of = owner->part;

	tally_at(&all->places, (struct tally_key){{of[OWNER_PLACE], of[OWNER_PROCESS], of[OWNER_NAME], part}})->ns +=
		ns;
}

/* What a piece goes to. */
struct taking {
	struct breakdown *all;
	struct breakdown_row *row;
};

static void take_of_gpu(void *context, const struct sweep_piece *piece)
{
	const struct taking *taking = context;
	const struct sweep_owner *communication = piece->owners[SWEEP_COMMUNICATION];
	enum sweep_kind kind = kind_of_time(piece);
	uint64_t ns = piece->to_ns - piece->from_ns;

	add_sums(&taking->row->sums, piece, piece->from_ns, piece->to_ns);
	add_place(taking->all, piece->owners[kind], (enum place_part)kind, ns);
	if (kind == SWEEP_COMPUTATION && communication)
		add_place(taking->all, communication, PLACE_OVERLAP, ns);
}

static void take_of_process(void *context, const struct sweep_piece *piece)
{
	const struct taking *taking = context;
	uint64_t from_ns = piece->from_ns;

	add_sums(&taking->row->sums, piece, piece->from_ns, piece->to_ns);
	while (taking->all->steps && from_ns < piece->to_ns) {
		struct step_place place = step_tables_at(taking->all->steps, taking->row->process, from_ns);
		uint64_t to_ns = place.until_ns < piece->to_ns ? place.until_ns : piece->to_ns;

		add_sums(&taking->all->slots[place.slot], piece, from_ns, to_ns);
		from_ns = to_ns;
	}
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static struct breakdown_track *track_of(struct breakdown *all, uint32_t device, uint32_t process)
{
	size_t known = all->tracks.count, number;
	struct breakdown_track *track;

	number = tally_number(&all->numbers, (struct tally_key){{device, process}});
	if (number < known)
		return all->tracks.items[number];
	track = xcalloc(1, sizeof(*track));
	track->row = (struct breakdown_row){.device = device, .process = process};
	array_push(&all->tracks, track);
	if (all->steps && process != NONE && all->steps->of_process && all->steps->of_process[process])
		all->step_gpus[all->steps->of_process[process] - 1]++;
	return track;
}

static enum sweep_kind kind_of(struct breakdown *all, const struct gpu_event *event)
{
	if (event->op->kind != MODEL_KERNEL)
		return SWEEP_COPY;
	return gpu_is_communication(&all->comm_names, all->model, event->op,
				    event->captured ? event->captured : event->launch)
		       ? SWEEP_COMMUNICATION
		       : SWEEP_COMPUTATION;
}

void breakdown_add_gpu(struct breakdown *all, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	enum sweep_kind kind = kind_of(all, event);
	struct sweep_owner owner = {{caller_place(all->model, event->stack, event->caller), op->process,
				     kind == SWEEP_COMMUNICATION ? op->name : NONE}};
	uint64_t start_ns = op->start_ns > all->window->start_ns ? op->start_ns : all->window->start_ns;
	uint64_t end_ns = op->end_ns < all->window->end_ns ? op->end_ns : all->window->end_ns;
	struct breakdown_track *gpu = track_of(all, op->device, NONE), *process;

	if (!gpu_ns(op) || end_ns <= start_ns)
		return;
	process = track_of(all, op->device, op->process);
	sweep_add(&gpu->sweep, kind, start_ns, end_ns, owner, take_of_gpu, &(struct taking){all, &gpu->row});
	sweep_add(&process->sweep, kind, start_ns, end_ns, owner, take_of_process,
		  &(struct taking){all, &process->row});
}

void breakdown_add_device(struct breakdown *all, uint32_t device)
{
	track_of(all, device, NONE);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

void breakdown_sums_add(struct breakdown_sums *to, const struct breakdown_sums *from)
{
	to->computation_ns += from->computation_ns;
	to->exposed_communication_ns += from->exposed_communication_ns;
	to->exposed_copies_ns += from->exposed_copies_ns;
	to->communication_ns += from->communication_ns;
	to->copies_ns += from->copies_ns;
}

struct breakdown_sums breakdown_of_slot(const struct breakdown *all, uint32_t slot)
{
	return all->slots[slot];
}

struct breakdown_sums breakdown_of_steps(const struct breakdown *all, size_t table)
{
	struct breakdown_sums sums = {0};

	for (size_t which = 0; which < STEP_SLOT_OUTSIDE; which++)
		breakdown_sums_add(&sums, &all->slots[step_slot(table, which)]);
	return sums;
}

DEFINE_ORDER(by_place, struct breakdown_row, least_first(a->process, b->process) ?: least_first(a->device, b->device))

static void finish_tracks(struct breakdown *all)
{
	for (size_t i = 0; i < all->tracks.count; i++) {
		struct breakdown_track *track = all->tracks.items[i];
		bool is_gpu = track->row.process == NONE;

		sweep_until(&track->sweep, UINT64_MAX, is_gpu ? take_of_gpu : take_of_process,
			    &(struct taking){all, &track->row});
		if (is_gpu) {
			array_push(&all->gpus, track->row);
			breakdown_sums_add(&all->all, &track->row.sums);
		} else {
			array_push(&all->processes, track->row);
		}
	}
	if (!all->tracks.count)
		return;
	array_sort(&all->gpus, by_place);
	array_sort(&all->processes, by_place);
}

DEFINE_ORDER(by_loss, struct breakdown_line,
	     most_first(a->exposed_communication_ns, b->exposed_communication_ns) ?:
	     most_first(a->computation_ns + a->exposed_copies_ns, b->computation_ns + b->exposed_copies_ns) ?:
	     most_first(a->communication_ns, b->communication_ns) ?: least_first(a->line, b->line))

static void add_part(struct breakdown_line *line, enum place_part part, uint64_t ns)
{
	switch (part) {
	case PLACE_COMPUTATION:
		line->computation_ns += ns;
		break;
	case PLACE_EXPOSED_COPY:
		line->exposed_copies_ns += ns;
		break;
	case PLACE_EXPOSED_COMMUNICATION:
		line->exposed_communication_ns += ns;
		line->communication_ns += ns;
		break;
	case PLACE_OVERLAP:
		line->communication_ns += ns;
	}
}

/* Names the row's own lines of user code and its communication kernel, each by most of its time. */
struct naming {
	struct breakdown *all;
	struct tally rows;	   /* line; more: index of its row + 1 */
	struct tally users, names; /* line, the other line or name */
};

static struct breakdown_line *line_at(struct naming *naming, uint32_t line)
{
	struct tally_entry *row = tally_at(&naming->rows, (struct tally_key){{line}});

	if (!row->more) {
		array_push(&naming->all->lines,
			   ((struct breakdown_line){.line = line, .process = NONE, .user_line = NONE, .name = NONE}));
		row->more = naming->all->lines.count;
	}
	return &naming->all->lines.items[row->more - 1];
}

static void name_lines(struct naming *naming)
{
	struct tally_entry *sorted = tally_sorted(&naming->users, false);

	for (size_t i = 0; i < naming->users.count; i++) {
		struct breakdown_line *row = line_at(naming, sorted[i].key.part[0]);

		if (!row->user_lines++)
			row->user_line = sorted[i].key.part[1];
	}
	free(sorted);
	sorted = tally_sorted(&naming->names, false);
	for (size_t i = 0; i < naming->names.count; i++) {
		struct breakdown_line *row = line_at(naming, sorted[i].key.part[0]);

		if (row->name == NONE)
			row->name = sorted[i].key.part[1];
	}
	free(sorted);
}

static void finish_lines(struct breakdown *all, struct lines *lines)
{
	struct naming naming = {.all = all};

	for (size_t i = 0; i < all->places.count; i++) {
		const struct tally_entry *entry = &all->places.entries[i];
		struct place_lines at = lines_of_place(lines, entry->key.part[OWNER_PLACE]);
		struct breakdown_line *row = line_at(&naming, at.line);

		process_note(&row->process, entry->key.part[OWNER_PROCESS]);
		add_part(row, (enum place_part)entry->key.part[3], entry->ns);
		if (at.user_line != NONE)
			tally_at(&naming.users, (struct tally_key){{at.line, at.user_line}})->ns += entry->ns;
		if (entry->key.part[OWNER_NAME] != NONE)
			tally_at(&naming.names, (struct tally_key){{at.line, entry->key.part[OWNER_NAME]}})->ns +=
				entry->ns;
	}
	name_lines(&naming);
	array_sort(&all->lines, by_loss);
	tally_free(&naming.rows);
	tally_free(&naming.users);
	tally_free(&naming.names);
}

void breakdown_finish(struct breakdown *all, struct lines *lines)
{
	finish_tracks(all);
	finish_lines(all, lines);
}
