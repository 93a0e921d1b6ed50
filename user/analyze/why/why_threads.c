/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/why_threads.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/events/callers.h"
#include "base/library_file.h"
#include "base/distance.h"

/* Activities of a thread that are kept without checking whether they are needed. */
#define ACTIVITIES_KEPT 64u

/* A stream takes this many launches before one has to wait, so no thread is ahead by more. */
#define AHEAD_LAUNCHES 1024u

#define RANKS 8u

void why_threads_init(struct why_threads *threads, const struct model *model)
{
	*threads = (struct why_threads){.count = model->thread_count, .process_count = model->process_count};
	threads->all = xcalloc(model->thread_count, sizeof(*threads->all));
	threads->peers = xcalloc(model->process_count, sizeof(*threads->peers));
	threads->forward = xmalloc(model->process_count * sizeof(*threads->forward));
	threads->latest = xmalloc(model->process_count * sizeof(*threads->latest));
	for (uint32_t i = 0; i < model->process_count; i++)
		threads->forward[i] = threads->latest[i] = NONE;
}

static void free_all(struct why_thread **all, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (all[i])
			array_free(&all[i]->activities);
		free(all[i]);
	}
	free(all);
}

void why_threads_free(struct why_threads *threads)
{
	free_all(threads->all, threads->count);
	free_all(threads->peers, threads->process_count);
	free(threads->forward);
	free(threads->latest);
	array_free(&threads->pieces);
	array_free(&threads->user_frames);
	array_free(&threads->loaders);
	array_free(&threads->awaited);
	array_free(&threads->codes);
	compilers_free(&threads->compilers);
}

static struct why_thread *make_thread(struct why_thread **thread)
{
	if (!*thread) {
		*thread = xcalloc(1, sizeof(**thread));
		(*thread)->op_name = NONE;
	}
	return *thread;
}

struct why_thread *why_thread(struct why_threads *threads, uint32_t thread)
{
	return make_thread(&threads->all[thread]);
}

struct why_thread *why_peers(struct why_threads *threads, uint32_t process)
{
	return make_thread(&threads->peers[process]);
}

/* ---- activities -------------------------------------------------------------------------------------------------- */

static void drop_first(struct why_thread *thread, size_t count)
{
	thread->activities.count -= count;
	memmove(thread->activities.items, thread->activities.items + count,
		thread->activities.count * sizeof(*thread->activities.items));
}

void why_thread_forget(struct why_thread *thread, uint64_t from_ns)
{
	size_t gone = 0;

	if (thread->activities.count < thread->forget_at || !thread->activities.count)
		return;
	while (gone < thread->activities.count && thread->activities.items[gone].until_ns <= from_ns)
		gone++;
	if (gone)
		drop_first(thread, gone);
	thread->forget_at = 2 * thread->activities.count + ACTIVITIES_KEPT;
}

void why_thread_does(struct why_thread *thread, struct why_activity doing)
{
	size_t count = thread->activities.count;

	if (doing.end_ns <= doing.start_ns)
		return;
	if (count >= WHY_DOINGS_MAX) {
		drop_first(thread, count / 2);
		count = thread->activities.count;
	}
	doing.until_ns = doing.end_ns;
	if (count && thread->activities.items[count - 1].until_ns > doing.until_ns)
		doing.until_ns = thread->activities.items[count - 1].until_ns;
	array_push(&thread->activities, doing);
}

/* ---- activities in a gap ----------------------------------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
	const struct why_piece *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->begins != b->begins)
		return a->begins ? 1 : -1;
	return (a->doing > b->doing) - (a->doing < b->doing);
}

/* which: WHY_OF_PEERS, or 0. */
static void add_pieces(struct why_threads *threads, const struct why_thread *thread, uint32_t which, uint64_t from_ns,
		       uint64_t to_ns, unsigned least_rank)
{
	for (size_t i = thread->activities.count; i-- > 0;) {
		const struct why_activity *doing = &thread->activities.items[i];
		uint64_t start = doing->start_ns > from_ns ? doing->start_ns : from_ns;
		uint64_t end = doing->end_ns < to_ns ? doing->end_ns : to_ns;

		if (doing->until_ns <= from_ns)
			break;
		if (end <= start || doing->rank < least_rank)
			continue;
		array_push(&threads->pieces, ((struct why_piece){start, (uint32_t)i | which, true}));
		array_push(&threads->pieces, ((struct why_piece){end, (uint32_t)i | which, false}));
	}
}

/* peers: may be NULL if no piece is of peers. */
static const struct why_activity *activity_of(const struct why_thread *thread, const struct why_thread *peers,
					      uint32_t doing)
{
	return peers && doing & WHY_OF_PEERS ? &peers->activities.items[doing & ~WHY_OF_PEERS]
					     : &thread->activities.items[doing];
}

static void add_rest(struct why_rests *rests, uint64_t from_ns, uint64_t to_ns)
{
	if (rests && to_ns > from_ns)
		array_push(rests, ((struct why_rest){from_ns, to_ns}));
}

static void find_pieces(struct why_threads *threads, const struct why_thread *thread, const struct why_thread *peers,
			uint64_t from_ns, uint64_t to_ns, unsigned least_rank)
{
	threads->pieces.count = 0;
	add_pieces(threads, thread, 0, from_ns, to_ns, least_rank);
	if (peers)
		add_pieces(threads, peers, WHY_OF_PEERS, from_ns, to_ns, least_rank);
	array_sort(&threads->pieces, by_time);
}

void why_thread_uses(struct why_thread *thread, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < thread->wait_count; i++) {
		struct why_wait *wait = &thread->waits[i];
		uint64_t start = later_time(wait->start_ns, from_ns), end = earlier_time(wait->end_ns, to_ns);

		wait->taken_ns += end > start ? end - start : 0;
	}
}

uint64_t why_thread_pieces(struct why_threads *threads, struct why_thread *thread, const struct why_thread *peers,
			   uint64_t from_ns, uint64_t to_ns, unsigned least_rank, why_take *take, void *context,
			   struct why_rests *rests)
{
	unsigned open[RANKS] = {0};
	uint32_t outermost[RANKS] = {0};
	uint64_t sum = 0, at = from_ns;

	if (to_ns <= from_ns)
		return 0;
	find_pieces(threads, thread, peers, from_ns, to_ns, least_rank);
	for (size_t i = 0; i < threads->pieces.count; i++) {
		const struct why_piece *piece = &threads->pieces.items[i];
		unsigned rank = activity_of(thread, peers, piece->doing)->rank, top = RANKS;

		while (top-- > 0 && !open[top])
			;
		if (top < RANKS && piece->time_ns > at) {
			take(context, activity_of(thread, peers, outermost[top])->key, at, piece->time_ns);
			why_thread_uses(thread, at, piece->time_ns);
			sum += piece->time_ns - at;
		} else {
			add_rest(rests, at, piece->time_ns);
		}
		at = piece->time_ns;
		if (piece->begins && !open[rank]++)
			outermost[rank] = piece->doing;
		else if (!piece->begins)
			open[rank]--;
	}
	add_rest(rests, at, to_ns);
	return sum;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

void why_thread_waits(struct why_thread *thread, uint64_t start_ns, uint64_t end_ns, struct tally_key key)
{
	start_ns = later_time(start_ns, thread->waited_until_ns);
	if (end_ns <= start_ns)
		return;
	thread->waited_until_ns = end_ns;
	if (thread->wait_count == WHY_WAITS)
		memmove(thread->waits, thread->waits + 1, --thread->wait_count * sizeof(*thread->waits));
	thread->waits[thread->wait_count++] =
		(struct why_wait){.start_ns = start_ns, .end_ns = end_ns, .launches = thread->launches, .key = key};
}

/*
 * Waits since the launch that ended the gap before count together.  If there were none since, those that counted for
 * that gap count on, as far as time is left in them.
 */
uint64_t why_thread_leads(struct why_thread *thread, const struct why_gap *gap, uint64_t ns, why_take *take,
			  void *context)
{
	size_t count = thread->wait_count;
	uint64_t sum = 0;

	while (count && thread->waits[count - 1].start_ns >= gap->launch_ns)
		count--;
	if (count && thread->waits[count - 1].start_ns >= thread->latest_gap_ns)
		thread->group_from_ns = thread->latest_gap_ns;
	thread->latest_gap_ns = gap->launch_ns;
	while (count-- > 0 && sum < ns && thread->waits[count].start_ns >= thread->group_from_ns) {
		struct why_wait *wait = &thread->waits[count];
		uint64_t start = later_time(wait->start_ns, gap->first_ns),
			 end = earlier_time(wait->end_ns, gap->from_ns);
		uint64_t before_ns = end > start ? end - start : 0;
		uint64_t all_ns = wait->end_ns > start ? wait->end_ns - start : 0, lead;

		if (thread->launches > wait->launches + AHEAD_LAUNCHES || all_ns <= wait->taken_ns)
			continue;
		lead = earlier_time(earlier_time(before_ns, all_ns - wait->taken_ns), ns - sum);
		if (!lead)
			continue;
		if (take) {
			take(context, wait->key, 0, lead);
			wait->taken_ns += lead;
		}
		sum += lead;
	}
	return sum;
}

void why_thread_calls(struct why_thread *thread, const struct model_call *call, uint32_t place)
{
	thread->launches += call_is_work(call);
	thread->recent[thread->recent_count++ % WHY_RECENT] =
		(struct why_recent){.start_ns = call->start_ns, .place = place, .work = call_is_work(call)};
}

const struct why_recent *why_thread_before(const struct why_thread *thread, uint64_t start_ns, bool work)
{
	uint64_t kept = thread->recent_count < WHY_RECENT ? thread->recent_count : WHY_RECENT;

	for (uint64_t i = 0; i < kept; i++) {
		const struct why_recent *recent = &thread->recent[(thread->recent_count - 1 - i) % WHY_RECENT];

		if (recent->start_ns < start_ns && (recent->work || !work))
			return recent;
	}
	return NULL;
}

/* ---- whose code -------------------------------------------------------------------------------------------------- */

enum { NOT_ASKED, USERS, LIBRARYS, LOADERS };

#define STACK_NOT_ASKED (CALLER_UNSEEN - 1)

/* PyTorch's file has no other function of that name. */
static bool is_loader(const struct model_code *code)
{
	static const char file[] = "torch/utils/data/dataloader.py", name[] = "__next__";
	size_t length = strlen(code->file), end = sizeof(file) - 1;
	const char *plain = strrchr(code->name, '.');

	if (length < end || strcmp(code->file + length - end, file) != 0 ||
	    (length > end && code->file[length - end - 1] != '/'))
		return false;
	return !strcmp(plain ? plain + 1 : code->name, name);
}

static uint8_t owner_of(struct why_threads *threads, const struct model *model, uint32_t frame)
{
	uint32_t code = model->frames[frame].code;

	while (threads->codes.count <= code)
		array_push(&threads->codes, NOT_ASKED);
	if (threads->codes.items[code] == NOT_ASKED && is_loader(&model->codes[code]))
		threads->codes.items[code] = LOADERS;
	else if (threads->codes.items[code] == NOT_ASKED)
		threads->codes.items[code] = file_is_library(model->codes[code].file) ? LIBRARYS : USERS;
	return threads->codes.items[code];
}

static uint32_t find_user_frame(struct why_threads *threads, const struct model *model, uint32_t stack)
{
	for (uint32_t i = 0; i < model->stacks[stack].depth; i++) {
		uint32_t frame = model->stack_frames[model->stacks[stack].first + i];

		if (owner_of(threads, model, frame) == USERS)
			return frame;
	}
	return NONE;
}

uint32_t why_user_frame(struct why_threads *threads, const struct model *model, uint32_t stack, uint32_t otherwise)
{
	uint32_t *frame;

	if (!stack_has_frames(model, stack))
		return otherwise;
	while (threads->user_frames.count <= stack)
		array_push(&threads->user_frames, STACK_NOT_ASKED);
	frame = &threads->user_frames.items[stack];
	if (*frame == STACK_NOT_ASKED)
		*frame = find_user_frame(threads, model, stack);
	return *frame == NONE ? otherwise : *frame;
}

static struct why_loader find_loader(struct why_threads *threads, const struct model *model, uint32_t stack)
{
	struct why_loader loader = {.code = NONE, .caller = NONE};
	enum why_loads loads = WHY_LOADS_UNKNOWN;

	for (uint32_t i = 0; i < model->stacks[stack].depth; i++) {
		uint32_t frame = model->stack_frames[model->stacks[stack].first + i];
		uint8_t who = owner_of(threads, model, frame);

		if (loader.code == NONE && loads == WHY_LOADS_UNKNOWN)
			loads = why_loads_in(&model->codes[model->frames[frame].code]);
		if (who == LOADERS && loader.code == NONE)
			loader =
				(struct why_loader){.code = model->frames[frame].code, .caller = frame, .loads = loads};
		else if (who == USERS && loader.code != NONE)
			return (struct why_loader){.code = loader.code, .caller = frame, .loads = loads};
	}
	return loader;
}

struct why_loader why_loader(struct why_threads *threads, const struct model *model, uint32_t stack)
{
	struct why_loader *loader;

	if (!stack_has_frames(model, stack))
		return (struct why_loader){.code = NONE};
	while (threads->loaders.count <= stack)
		array_push(&threads->loaders, (struct why_loader){.code = STACK_NOT_ASKED});
	loader = &threads->loaders.items[stack];
	if (loader->code == STACK_NOT_ASKED)
		*loader = find_loader(threads, model, stack);
	return *loader;
}

static enum why_awaited find_awaited(struct why_threads *threads, const struct model *model, uint32_t stack)
{
	enum why_awaited awaited = WHY_AWAITED_UNKNOWN;

	for (uint32_t i = 0; i < model->stacks[stack].depth; i++) {
		uint32_t frame = model->stack_frames[model->stacks[stack].first + i];

		if (owner_of(threads, model, frame) == USERS ||
		    !why_awaited_in(&model->codes[model->frames[frame].code], &awaited))
			break;
	}
	return awaited;
}

enum why_awaited why_awaited(struct why_threads *threads, const struct model *model, uint32_t stack)
{
	uint8_t *awaited;

	if (stack >= CALLER_NO_FRAME || !stack_has_frames(model, stack))
		return WHY_AWAITED_UNKNOWN;
	while (threads->awaited.count <= stack)
		array_push(&threads->awaited, 0);
	awaited = &threads->awaited.items[stack];
	if (!*awaited)
		*awaited = (uint8_t)(find_awaited(threads, model, stack) + 1);
	return (enum why_awaited)(*awaited - 1);
}
