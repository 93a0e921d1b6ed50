/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/compiles.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/why/culprits.h"
#include "analyze/why/idle_internal.h"
#include "base/distance.h"
#include "base/order.h"

/* Of a thread, of which the older half goes: five minutes of 99 samples a second are known, 2 MB. */
#define PIECES_MOST 65536u

void compiles_init(struct compiles *compiles, const struct model *model)
{
	*compiles = (struct compiles){.thread_count = model->thread_count};
	compiles->threads = xcalloc(model->thread_count, sizeof(*compiles->threads));
	for (uint32_t i = 0; i < model->thread_count; i++) {
		compiles->threads[i].kernel = compiles->threads[i].first_launch = NONE;
		compiles->threads[i].process = model->threads[i].process;
	}
}

void compiles_free(struct compiles *compiles)
{
	for (uint32_t i = 0; i < compiles->thread_count; i++) {
		array_free(&compiles->threads[i].pieces);
		array_free(&compiles->threads[i].awaiting);
	}
	free(compiles->threads);
	tally_free(&compiles->sums);
	tally_free(&compiles->next);
	tally_free(&compiles->awaited);
	tally_free(&compiles->episodes_of);
	array_free(&compiles->rows);
}

/* ---- while events come ------------------------------------------------------------------------------------------- */

static void await_launch(struct compiles *compiles, uint32_t number, uint32_t sum)
{
	struct compile_thread *thread = &compiles->threads[number];
	struct tally_entry *awaited = tally_at(&compiles->awaited, (struct tally_key){{number, sum}});

	if (awaited->more == thread->launches + 1)
		return;
	awaited->more = thread->launches + 1;
	array_push(&thread->awaiting, sum);
}

static void add_piece(struct compile_thread *thread, struct compile_piece piece)
{
	if (thread->pieces.count == PIECES_MOST) {
		thread->pieces.count -= PIECES_MOST / 2;
		memmove(thread->pieces.items, thread->pieces.items + PIECES_MOST / 2,
			thread->pieces.count * sizeof(*thread->pieces.items));
	}
	array_push(&thread->pieces, piece);
	/* In order of their starts: one that is known when it has ended began before others. */
	for (size_t at = thread->pieces.count - 1; at && thread->pieces.items[at - 1].start_ns > piece.start_ns; at--) {
		thread->pieces.items[at] = thread->pieces.items[at - 1];
		thread->pieces.items[at - 1] = piece;
	}
}

static struct tally_key sum_key(const struct compile_thread *thread, const struct tally_key *key)
{
	return (struct tally_key){{key->part[0], key->part[2], key->part[3], thread->process}};
}

/* Returns the index of the sum; NONE: none of the time counts. */
static uint32_t add_time(struct idle *idle, const struct compile_span *span, uint64_t from_ns, bool counts)
{
	struct compiles *compiles = &idle->compiles;
	struct compile_thread *thread = &compiles->threads[span->thread];
	uint64_t ns = idle_ns_inside(idle, from_ns, span->end_ns);
	struct tally_entry *sum;
	uint32_t index;

	if (!ns)
		return NONE;
	sum = tally_at(&compiles->sums, sum_key(thread, &span->key));
	index = (uint32_t)(sum - compiles->sums.entries);
	sum->ns += ns;
	sum->count += counts;
	add_piece(thread, (struct compile_piece){.start_ns = from_ns, .ns = ns, .sum = index, .counts = counts});
	if (span->kernel == NONE)
		await_launch(compiles, span->thread, index);
	else
		tally_at(&compiles->next, (struct tally_key){{index, span->kernel, span->key.part[0]}})->count++;
	return index;
}

/* The part of a compilation that is in a long first launch shows what that launch did. */
static void prove_launch(struct idle *idle, const struct compile_thread *thread, const struct compile_span *span)
{
	uint64_t to_ns = earlier_time(span->end_ns, thread->known_until_ns);

	if (thread->first_launch != NONE && span->key.part[2] == WHY_COMPILE_JIT && span->start_ns < to_ns)
		idle->compiles.sums.entries[thread->first_launch].more += idle_ns_inside(idle, span->start_ns, to_ns);
}

void compiles_add(struct idle *idle, const struct compile_span *span)
{
	struct compile_thread *thread = &idle->compiles.threads[span->thread];
	uint64_t from_ns = later_time(span->start_ns, thread->known_until_ns);
	uint32_t sum;

	prove_launch(idle, thread, span);
	if (span->end_ns <= from_ns)
		return;
	if (span->key.part[2] == WHY_COMPILE_FRAMES) {
		compiles_add_frames(idle, span->thread, span->key.part[0], from_ns, span->end_ns);
		thread->known_until_ns = span->end_ns;
		thread->first_launch = NONE;
		return;
	}
	thread->known_until_ns = span->end_ns;
	sum = add_time(idle, span, from_ns, true);
	thread->first_launch = span->key.part[2] == WHY_COMPILE_LAUNCH ? sum : NONE;
}

/* Takes the pieces that begin in the span out of their sums; what came after it stays. */
static void take_out_pieces(struct compiles *compiles, struct compile_thread *thread, const struct compile_span *span)
{
	size_t at = thread->pieces.count, kept;

	while (at && thread->pieces.items[at - 1].start_ns >= span->start_ns)
		at--;
	for (kept = at; at < thread->pieces.count; at++) {
		const struct compile_piece *piece = &thread->pieces.items[at];

		if (piece->start_ns >= span->end_ns) {
			thread->pieces.items[kept++] = *piece;
			continue;
		}
		compiles->sums.entries[piece->sum].ns -= piece->ns;
		compiles->sums.entries[piece->sum].count -= piece->counts;
	}
	thread->pieces.count = kept;
}

void compiles_add_around(struct idle *idle, const struct compile_span *span)
{
	struct compiles *compiles = &idle->compiles;
	struct compile_thread *thread = &compiles->threads[span->thread];

	if (span->end_ns <= span->start_ns)
		return;
	take_out_pieces(compiles, thread, span);
	thread->known_until_ns = later_time(thread->known_until_ns, span->end_ns);
	thread->first_launch = NONE;
	thread->in_frames = false;
	add_time(idle, span, span->start_ns, true);
}

void compiles_add_frames(struct idle *idle, uint32_t number, uint32_t place, uint64_t start_ns, uint64_t end_ns)
{
	struct compiles *compiles = &idle->compiles;
	struct compile_thread *thread = &compiles->threads[number];
	enum compiler compiler = compiler_at(&idle->threads.compilers, idle->model, place);
	struct compile_span span = {.start_ns = later_time(start_ns, thread->known_until_ns),
				    .end_ns = end_ns,
				    .thread = number,
				    .kernel = NONE,
				    .key = why_key(place, WHY_COMPILE, WHY_COMPILE_FRAMES, compiler)};
	struct tally_entry *sum;

	if (compiler == COMPILER_NONE) {
		thread->in_frames &= place >= CALLER_NO_FRAME;
		return;
	}
	if (span.end_ns <= span.start_ns)
		return;
	if (!thread->in_frames)
		thread->episode = ++compiles->episodes;
	thread->in_frames = true;
	if (!idle_ns_inside(idle, span.start_ns, span.end_ns))
		return;
	/* of one episode each compiler counts once, at whatever lines of its own it was seen */
	sum = tally_at(&compiles->episodes_of, (struct tally_key){{number, compiler}});
	add_time(idle, &span, span.start_ns, sum->more != thread->episode);
	sum->more = thread->episode;
}

/* A sample stands for its period wherever it is in it; where a call's time is known, samples add nothing. */
void compiles_add_sample(struct idle *idle, const struct model_sample *sample, uint32_t place)
{
	const struct compile_thread *thread = &idle->compiles.threads[sample->thread];
	bool is_known = sample->time_ns < thread->known_until_ns;

	compiles_add_frames(idle, sample->thread, place, sample->time_ns,
			    sample->time_ns + (is_known ? 0 : sample_ns(sample)));
}

void compiles_see_call(struct idle *idle, const struct call_event *event, uint32_t place, bool is_new)
{
	struct compiles *compiles = &idle->compiles;
	struct compile_thread *thread = &compiles->threads[event->call->thread];
	const struct model_gpu *work = event->operation;

	if (compiler_at(&idle->threads.compilers, idle->model, place) != COMPILER_NONE)
		return;
	thread->in_frames &= place >= CALLER_NO_FRAME;
	if (!call_is_work(event->call) || event->call->captured)
		return;
	thread->launch = event->call->number;
	thread->kernel = work && work->kind == MODEL_KERNEL ? work->name : NONE;
	for (size_t i = 0; i < thread->awaiting.count; i++)
		tally_at(&compiles->next,
			 (struct tally_key){{thread->awaiting.items[i], is_new ? thread->kernel : NONE, place}})
			->count++;
	thread->awaiting.count = 0;
	thread->launches++;
}

uint32_t compiles_kernel_of(const struct compiles *compiles, const struct model_call *call)
{
	const struct compile_thread *thread = &compiles->threads[call->thread];

	return call_is_work(call) && thread->launch == call->number ? thread->kernel : NONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct making_rows {
	struct idle *idle;
	struct lines *lines;
	struct tally rows;    /* line, enum why_compile, what, process; more: idle time */
	struct tally kernels; /* index in rows, kernel: launches */
	struct tally ops;     /* of torch.compile: what, process; more: index in rows + 1 */
	struct tally proven;  /* index in rows: what the driver compiled in its first launches */
	uint32_t *next_place; /* by sums: of most launches that came next, CALLER_UNSEEN */
};

/* Ops of PyTorch have no line of their own. */
static uint32_t line_of_sum(struct making_rows *making, size_t index)
{
	uint32_t place = making->idle->compiles.sums.entries[index].key.part[0];

	return culprit_at(making->lines, place == WHY_PLACE_NEXT ? making->next_place[index] : place, NONE).own;
}

static void find_next_places(struct making_rows *making)
{
	const struct compiles *compiles = &making->idle->compiles;
	AUTO_FREE uint64_t *most = xcalloc(compiles->sums.count + 1, sizeof(*most));

	making->next_place = xmalloc((compiles->sums.count + 1) * sizeof(*making->next_place));
	for (size_t i = 0; i < compiles->sums.count; i++)
		making->next_place[i] = CALLER_UNSEEN;
	for (size_t i = 0; i < compiles->next.count; i++) {
		const struct tally_entry *next = &compiles->next.entries[i];
		uint32_t sum = next->key.part[0];

		if (next->count > most[sum]) {
			most[sum] = next->count;
			making->next_place[sum] = next->key.part[2];
		}
	}
}

/* The row of torch.compile's op of that name, whose line the account may know better. */
static struct tally_entry *row_of_op(struct making_rows *making, const struct tally_key *key)
{
	struct tally_entry *op = tally_at(&making->ops, (struct tally_key){{key->part[2], key->part[3]}});

	if (!op->more)
		op->more = (uint64_t)(tally_at(&making->rows, *key) - making->rows.entries) + 1;
	return &making->rows.entries[op->more - 1];
}

static void add_sums(struct making_rows *making)
{
	struct compiles *compiles = &making->idle->compiles;
	AUTO_FREE uint32_t *row_of = xmalloc((compiles->sums.count + 1) * sizeof(*row_of));

	for (size_t i = 0; i < compiles->sums.count; i++) {
		const struct tally_entry *sum = &compiles->sums.entries[i];
		struct tally_key key = sum->key;
		struct tally_entry *row;

		row_of[i] = NONE;
		if (!sum->ns)
			continue;
		key.part[0] = line_of_sum(making, i);
		row = key.part[1] == WHY_COMPILE_TORCH ? row_of_op(making, &key) : tally_at(&making->rows, key);
		row->ns += sum->ns;
		row->count += sum->count;
		row_of[i] = (uint32_t)(row - making->rows.entries);
		tally_at(&making->proven, (struct tally_key){{row_of[i]}})->ns += sum->more;
	}
	for (size_t i = 0; i < compiles->next.count; i++) {
		const struct tally_entry *next = &compiles->next.entries[i];
		uint32_t row = row_of[next->key.part[0]];

		if (row != NONE && next->key.part[1] != NONE)
			tally_at(&making->kernels, (struct tally_key){{row, next->key.part[1]}})->count += next->count;
	}
}

static void add_idle(struct making_rows *making)
{
	struct idle *idle = making->idle;

	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);
		const uint32_t *part = charge.what.part;
		struct tally_key key = {{NONE, part[2], part[3], idle_charge_process(idle, &charge)}};

		if (part[1] != WHY_COMPILE)
			continue;
		key.part[0] = culprit_at(making->lines, part[0], NONE).own;
		(part[2] == WHY_COMPILE_TORCH ? row_of_op(making, &key) : tally_at(&making->rows, key))->more +=
			charge.ns;
	}
}

DEFINE_ORDER(by_idle, struct compile_row,
	     most_first(a->idle_ns, b->idle_ns) ?: most_first(a->ns, b->ns) ?: least_first(a->line, b->line)
		     ?: least_first(a->kind, b->kind) ?: least_first(a->what, b->what) ?: least_first(a->process, b->process))

static void name_kernels(struct making_rows *making)
{
	struct compiles *compiles = &making->idle->compiles;
	AUTO_FREE uint64_t *most = xcalloc(compiles->rows.count + 1, sizeof(*most));

	for (size_t i = 0; i < making->kernels.count; i++) {
		const struct tally_entry *kernel = &making->kernels.entries[i];
		struct compile_row *row = &compiles->rows.items[kernel->key.part[0]];

		row->kernels++;
		if (kernel->count > most[kernel->key.part[0]]) {
			most[kernel->key.part[0]] = kernel->count;
			row->kernel = kernel->key.part[1];
		}
	}
}

static uint64_t ns_of_row(struct making_rows *making, size_t index)
{
	const struct tally_entry *row = &making->rows.entries[index];
	uint64_t proven_ns;

	if (row->key.part[1] != WHY_COMPILE_LAUNCH)
		return row->ns;
	proven_ns = tally_at(&making->proven, (struct tally_key){{(uint32_t)index}})->ns;
	return earlier_time(row->ns, later_time(row->more, proven_ns));
}

/* First launches for which no GPU waited and in which nothing compiled, and what turned out to be part of another. */
static void drop_empty_rows(struct compiles *compiles)
{
	size_t count = 0;

	for (size_t i = 0; i < compiles->rows.count; i++) {
		const struct compile_row *row = &compiles->rows.items[i];

		if (!row->ns && !row->idle_ns)
			continue;
		compiles->ns += row->ns;
		compiles->idle_ns += row->idle_ns;
		compiles->rows.items[count++] = *row;
	}
	compiles->rows.count = count;
}

void compiles_finish(struct idle *idle, struct lines *lines)
{
	struct making_rows making = {.idle = idle, .lines = lines};
	struct compiles *compiles = &idle->compiles;

	find_next_places(&making);
	add_sums(&making);
	add_idle(&making);
	for (size_t i = 0; i < making.rows.count; i++) {
		const struct tally_entry *row = &making.rows.entries[i];

		array_push(&compiles->rows, ((struct compile_row){.line = row->key.part[0],
								  .kind = row->key.part[1],
								  .what = row->key.part[2],
								  .process = row->key.part[3],
								  .kernel = NONE,
								  .ns = ns_of_row(&making, i),
								  .count = row->count,
								  .idle_ns = row->more}));
	}
	name_kernels(&making);
	drop_empty_rows(compiles);
	array_sort(&compiles->rows, by_idle);
	tally_free(&making.rows);
	tally_free(&making.kernels);
	tally_free(&making.ops);
	tally_free(&making.proven);
	free(making.next_place);
}
