/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/thread_costs.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/attach_state.h"
#include "base/monotonic.h"
#include "base/order.h"

#define WINDOW_NS 1000000000ull

/* Measuring takes at most one part in this many of the time: there may be many threads. */
#define TIME_SHARE 20u

#define AT_ONCE 1024u

DEFINE_ORDER(by_tid, struct thread_paid, least_first(a->tid, b->tid))

struct measurement {
	struct thread_costs *costs;
	double entry_ns;    /* the way into a program, on average since the last time */
	uint64_t window_ns; /* 0: nothing is compared */
	struct thread_cost most;
};

static void compare_thread(struct measurement *made, const struct gpt_thread_state *state,
			   const struct thread_paid *now)
{
	const struct thread_paid *before =
		made->costs->paid.count
			? bsearch(now, made->costs->paid.items, made->costs->paid.count, sizeof(*now), by_tid)
			: NULL;
	double ns = (double)now->ns, runs = (double)now->runs;

	if (before && before->from_ns == now->from_ns) {
		ns -= (double)before->ns;
		runs -= (double)before->runs;
	}
	ns = (ns + runs * made->entry_ns) * (double)WINDOW_NS / (double)made->window_ns;
	if (ns > (double)made->most.ns)
		made->most = (struct thread_cost){.ns = (uint64_t)ns, .pid = state->pid, .tid = now->tid};
}

static void take_threads(struct measurement *made, const uint32_t *tids, const struct gpt_thread_state *states,
			 uint32_t count, struct thread_costs *next)
{
	for (uint32_t i = 0; i < count; i++) {
		struct thread_paid now = {.tid = tids[i],
					  .from_ns = states[i].paid_from_ns,
					  .ns = states[i].paid_ns,
					  .runs = states[i].paid_runs};

		if (!now.runs)
			continue;
		if (made->window_ns)
			compare_thread(made, &states[i], &now);
		array_push(&next->paid, now);
	}
}

static void read_threads(struct measurement *made, int map)
{
	uint32_t *tids = xmalloc(AT_ONCE * sizeof(*tids)), from, to, count;
	struct gpt_thread_state *states = xmalloc(AT_ONCE * sizeof(*states));
	struct thread_costs next = {};
	bool begun = false;
	int error;

	do {
		count = AT_ONCE;
		error = bpf_map_lookup_batch(map, begun ? &from : NULL, &to, tids, states, &count, NULL);
		if (!error || error == -ENOENT) /* -ENOENT: these are the last ones */
			take_threads(made, tids, states, count, &next);
		from = to;
		begun = true;
	} while (!error);
	array_free(&made->costs->paid);
	made->costs->paid.items = next.paid.items;
	made->costs->paid.count = next.paid.count;
	made->costs->paid.capacity = next.paid.capacity;
	array_sort(&made->costs->paid, by_tid);
	free(tids);
	free(states);
}

static void measure_threads(struct measurement *made, struct attach *attach, uint64_t now_ns)
{
	struct cost_entries entries = costs_sum_entries(attach);
	struct thread_costs *costs = made->costs;
	uint64_t runs = entries.runs - costs->entries.runs, begin_ns = monotonic_ns();

	made->entry_ns = runs ? (entries.ns - costs->entries.ns) / (double)runs : 0;
	costs->entries = entries;
	read_threads(made, bpf_map__fd(attach->programs.bpf->maps.threads));
	costs->measured_ns = now_ns;
	costs->took_ns = monotonic_ns() - begin_ns;
}

void thread_costs_begin(struct thread_costs *costs, struct attach *attach, uint64_t now_ns)
{
	struct measurement made = {.costs = costs};

	measure_threads(&made, attach, now_ns);
}

bool thread_costs_measure(struct thread_costs *costs, struct attach *attach, uint64_t now_ns, struct thread_cost *most)
{
	struct measurement made = {.costs = costs, .window_ns = now_ns - costs->measured_ns};

	if (made.window_ns < WINDOW_NS || made.window_ns < costs->took_ns * TIME_SHARE)
		return false;
	measure_threads(&made, attach, now_ns);
	*most = made.most;
	return true;
}

void thread_costs_free(struct thread_costs *costs)
{
	array_free(&costs->paid);
}
