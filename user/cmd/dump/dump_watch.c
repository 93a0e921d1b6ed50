/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace dump --when: looks from time to time, and prints what dump prints once a process hangs. */
#include "cmd/dump/dump_looks.h"

#include <poll.h>

#include "base/monotonic.h"
#include "cmd/process/interrupt.h"
#include "dump/watch.h"

#define MS 1000000ull
#define LOOKS_A_LIMIT 8	  /* this often within the time of a hang ... */
#define PAUSE_MIN_MS 250  /* ... but with at least this pause, */
#define PAUSE_MAX_MS 5000 /* and at most this one */

struct watching {
	const struct options *options;
	struct watch watch;
	bool any;	     /* a hang was seen */
	enum exit_code code; /* not EXIT_GOOD: it failed */
};

static uint64_t pause_ms(const struct options *options)
{
	uint64_t ms = options->hang_ns / LOOKS_A_LIMIT / MS;

	if (ms < PAUSE_MIN_MS)
		return PAUSE_MIN_MS;
	return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

/* Whether all processes that were named, or found, have ended. */
static bool have_all_ended(const look_list *looks, size_t named)
{
	return every_of(named, i, looks->items[i].process->refused);
}

static void say_hang(const struct watching *watching, pid_t pid, enum watch_state state)
{
	double limit_s = (double)watching->options->hang_ns / 1e9;

	if (state == WATCH_AT_LINE)
		msg_info("pid %d: runs, or waits in a CUDA call, at the same lines for %g s", (int)pid,
			 limit_s * WATCH_RUNS_TIMES);
	else
		msg_info("pid %d: has not got on for %g s", (int)pid, limit_s);
}

/* The graph of waits and the ranks rest on which threads move: the watch has seen more of that than two looks do. */
static void settle_moves(const struct watching *watching, const look_list *looks, const pid_t *pids, size_t count,
			 uint64_t now_ns)
{
	for (size_t i = 0; i < count; i++)
		if (watch_state_of(&watching->watch, looks, pids[i], watching->options->hang_ns, now_ns) == WATCH_STILL)
			watch_settle(looks, pids[i]);
}

/* Takes a whole look, which may show that a process gets on after all; prints it if one hangs. */
static void look_closely(struct watching *watching, const pid_t *pids, size_t count)
{
	look_list looks = {0};
	struct graph graph;
	rank_list ranks;
	uint64_t now_ns;
	bool hangs = false;

	dump_looks_start(&looks, watching->options, watching->options->locals ? LOOK_LOCALS : LOOK_ALL);
	looks_finish(&looks);
	peers_find(&looks);
	watch_take(&watching->watch, &looks, now_ns = monotonic_ns());
	watch_say_since(&watching->watch, &looks);
	settle_moves(watching, &looks, pids, count, now_ns);
	graph_make(&graph, &looks);
	ranks_find(&ranks, &looks);
	for (size_t i = 0; i < count; i++) {
		enum watch_state state =
			watch_state_of(&watching->watch, &looks, pids[i], watching->options->hang_ns, now_ns);
		bool one = state != WATCH_GETS_ON && watch_is_hang(&looks, &graph, &ranks, pids[i], state);

		if (state != WATCH_GETS_ON)
			watch_judged(&watching->watch, pids[i], one, now_ns);
		if (one)
			say_hang(watching, pids[i], state);
		hangs |= one;
	}
	if (hangs && dump_looks_print(watching->options, &looks, &graph, &ranks))
		watching->code = EXIT_FAILED;
	watching->any |= hangs;
	array_free(&ranks);
	graph_free(&graph);
	looks_free(&looks);
}

static void look_at(struct watching *watching, const look_list *looks, size_t named)
{
	AUTO_FREE pid_t *pids = xcalloc(named + 1, sizeof(*pids));
	uint64_t now_ns = monotonic_ns();
	bool any = false;

	watch_take(&watching->watch, looks, now_ns);
	for (size_t i = 0; i < named; i++) {
		pids[i] = looks->items[i].process->pid;
		any |= watch_state_of(&watching->watch, looks, pids[i], watching->options->hang_ns, now_ns) !=
		       WATCH_GETS_ON;
	}
	if (any)
		look_closely(watching, pids, named);
}

/* Fails if there is nothing to watch. */
static void check_first(struct watching *watching, const look_list *looks, size_t named)
{
	for (size_t i = 0; i < named; i++)
		if (looks->items[i].process->silent)
			msg_warn("pid %d: %s; until it can be read, no hang of it is seen",
				 (int)looks->items[i].process->pid, looks->items[i].process->no_python);
	if (named && !have_all_ended(looks, named))
		return;
	if (named)
		msg_error("pid %d: %s", (int)looks->items[0].process->pid, looks->items[0].process->refused);
	else
		dump_say_none(watching->options);
	watching->code = EXIT_FAILED;
}

/* False: nothing is left to watch, or the watch is over. */
static bool look_again(struct watching *watching, bool is_first)
{
	look_list looks = {0};
	size_t named = dump_looks_start(&looks, watching->options, LOOK_STACKS);
	bool goes_on = named != 0;

	looks_finish(&looks);
	if (is_first)
		check_first(watching, &looks, named);
	else if (watching->options->pids.list.count)
		goes_on = !have_all_ended(&looks, named);
	if (goes_on && watching->code == EXIT_GOOD)
		look_at(watching, &looks, named);
	looks_free(&looks);
	return goes_on && watching->code == EXIT_GOOD && (!watching->any || watching->options->keeps_on);
}

enum exit_code dump_watch(const struct options *options)
{
	struct watching watching = {.options = options};
	struct pollfd stop = {.events = POLLIN};
	bool is_first = true;

	interrupt_watch();
	stop.fd = interrupt()->fd;
	while (look_again(&watching, is_first)) {
		if (is_first)
			msg_info("watching; a hang of %g s prints what each thread waits for (Ctrl-C ends)",
				 (double)options->hang_ns / 1e9);
		is_first = false;
		poll(&stop, 1, (int)pause_ms(options));
		if (is_interrupted())
			break;
	}
	watch_free(&watching.watch);
	if (watching.code != EXIT_GOOD)
		return watching.code;
	if (!watching.any)
		msg_info(is_interrupted() ? "no hang was seen" : "no hang was seen; what was watched has ended");
	return watching.any ? EXIT_STANDS_STILL : EXIT_GOOD;
}
