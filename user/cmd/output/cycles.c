/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/output/cycles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "cmd/options/format.h"

DEFINE_ORDER(compare_numbers, uint32_t, least_first(*a, *b))

static void add_cycles(struct cycles *cycles, const struct step_track *track)
{
	uint32_t last = 0;

	for (size_t i = 0; i < track->list.count; i++) {
		if (track->list.items[i].cycle != last)
			array_push(&cycles->list, track->list.items[i].cycle);
		last = track->list.items[i].cycle;
	}
}

/* Sorts the numbers and removes duplicates. */
static void put_in_order(struct cycles *cycles)
{
	uint32_t *numbers = cycles->list.items;
	size_t kept = 0;

	sort_items(numbers, cycles->list.count, sizeof(*numbers), compare_numbers);
	for (size_t i = 0; i < cycles->list.count; i++)
		if (!kept || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	cycles->list.count = kept;
}

/* Of --prove-cost the report is one of all windows, as it compares them. */
static bool is_report_of_proof(const struct reading *reading, const struct options *options)
{
	const struct model *first = trace_first(reading->recorded);
	bool is_report = options->subcommand == SUBCOMMAND_RECORD || options->subcommand == SUBCOMMAND_REPORT;

	return first && first->schedule.windows_ms && is_report && !options_replace_report(options);
}

bool cycles_find(struct cycles *cycles, const struct reading *reading)
{
	const struct options *options = reading->delivery->options;

	if (is_report_of_proof(reading, options) || options->every_ns ||
	    (!reading->steps.scheduled && !options->schedule.active) || options_want_steps(options) ||
	    options->slice.from.kind || options->slice.to.kind)
		return false;
	cycles->are_wanted = true;
	cycles->seen = reading->steps.seen;
	cycles->first = reading->steps.schedule_first;
	cycles->captured = reading->steps.captured || options->schedule.by == GPT_STEP_BY_CAPTURE;
	for (size_t i = 0; i < reading->steps.tracks.count; i++)
		add_cycles(cycles, &reading->steps.tracks.items[i]);
	put_in_order(cycles);
	return true;
}

bool cycles_are_missed(const struct delivery *delivery)
{
	const struct options *options = delivery->options;

	for (size_t i = 0; i < options->outputs.list.count; i++)
		if (format_path_is_per_cycle(options->outputs.list.items[i])) {
			msg_error("%s: %%c is the number of a cycle, and no cycle of a schedule was asked for or "
				  "recorded: leave it out of the name",
				  options->outputs.list.items[i]);
			return true;
		}
	return false;
}

static enum exit_code say_none(const struct cycles *cycles, const struct delivery *delivery)
{
	const char *name = delivery->log_name ? delivery->log_name : "the trace";

	if (cycles->captured)
		msg_warn("%s: no call of cudaProfilerStart was seen, so that nothing was recorded", name);
	else if (!cycles->seen)
		msg_warn("%s: no step was seen, so that none was recorded; --step says what marks steps", name);
	else
		msg_warn("%s: ended after %" PRIu64 " steps; the first to be recorded is the one after %" PRIu64
			 ", so that none was",
			 name, cycles->seen, cycles->first);
	return EXIT_INCOMPLETE;
}

enum exit_code cycles_check(const struct cycles *cycles, const struct delivery *delivery)
{
	const struct options *options = delivery->options;

	if (!cycles->list.count)
		return say_none(cycles, delivery);
	if (cycles->list.count > 1 && delivery->report && options->report_format) {
		msg_error("--format %s: there are %zu cycles of a schedule, with a report each: --cycle chooses one",
			  options->format, cycles->list.count);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < options->outputs.list.count && cycles->list.count > 1; i++) {
		const char *path = options->outputs.list.items[i];
		struct format format;

		if (format_path_is_per_cycle(path) || format_path_is_folder(path) ||
		    (format_by_path(path, &format) && !format.writer))
			continue;
		msg_error("%s: there are %zu cycles of a schedule: %%c in the name makes a file for each, --cycle "
			  "chooses "
			  "one",
			  path, cycles->list.count);
		return EXIT_FAILED;
	}
	return EXIT_GOOD;
}

struct options cycles_options(const struct options *all, uint32_t cycle)
{
	struct options options = *all;

	memset(&options.outputs, 0, sizeof(options.outputs));
	for (size_t i = 0; i < all->outputs.list.count; i++)
		array_push(&options.outputs.list, format_path_for_cycle(all->outputs.list.items[i], cycle));
	options.slice.cycle = cycle;
	options.step.request = (struct step_request){0};
	return options;
}

void cycles_options_free(struct options *options)
{
	for (size_t i = 0; i < options->outputs.list.count; i++)
		free((void *)(uintptr_t)options->outputs.list.items[i]);
	array_free(&options->outputs.list);
}
