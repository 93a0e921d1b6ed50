/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/output/every.h"

#include <errno.h>
#include <inttypes.h>

#include "cmd/process/interrupt.h"
#include "report/why/periods.h"
#include "report/table/text.h"

static uint64_t length_of(const struct model *model)
{
	return model->end_ns > model->start_ns ? model->end_ns - model->start_ns : 0;
}

bool every_can(const struct reading *reading)
{
	const struct options *options = reading->delivery->options;
	const struct model *first = trace_first(reading->trace);
	uint64_t length_ns = first ? length_of(first) : 0;

	if (first && first->schedule.is_there) {
		msg_error("--every %s: only some steps were recorded, and nothing is known of the time between them: "
			  "gputrace report without --every has each cycle of the schedule",
			  options->every_text);
		return false;
	}
	if (length_ns / options->every_ns < EVERY_MOST)
		return true;
	msg_error("--every %s: the trace lasts %s, and at most %u periods are shown: name a longer one, or a part of "
		  "the trace (--from, --to)",
		  options->every_text, number_time(length_ns).text, EVERY_MOST);
	return false;
}

/* --from and --to of the command line are replaced by the period's. */
static int sum_period(struct period *period, const struct reading *whole, uint64_t start_ns, uint64_t from_ns,
		      uint64_t to_ns, const struct report_options *options)
{
	struct options own = *whole->delivery->options;
	struct delivery delivery = *whole->delivery;
	struct reading slice;
	int err = -EIO;

	own.slice.from =
		(struct moment){.kind = MOMENT_SINCE_START, .ns = (int64_t)(from_ns - start_ns), .text = "its start"};
	own.slice.to =
		(struct moment){.kind = MOMENT_SINCE_START, .ns = (int64_t)(to_ns - start_ns), .text = "its end"};
	delivery.options = &own;
	if (!reading_open_slice(&slice, &delivery, whole))
		err = period_look(period, slice.trace, &whole->steps, options);
	reading_close(&slice);
	return err;
}

int every_write(FILE *out, const struct reading *reading, const struct report_options *options)
{
	const struct model *recorded = trace_first(reading->recorded), *first;
	uint64_t every_ns = reading->delivery->options->every_ns, at, end_ns;
	struct periods periods = {0};
	int err = 0;

	if (!recorded)
		return reading->recorded->error;
	periods.start_ns = recorded->start_ns;
	first = trace_first(reading->trace);
	if (!first)
		return reading->trace->error;
	at = first->start_ns;
	end_ns = first->start_ns + length_of(first);
	while (!err && at < end_ns) {
		uint64_t to_ns = end_ns - at > every_ns ? at + every_ns : end_ns;
		struct period period = {0};

		err = is_interrupted() ? -ECANCELED
				       : sum_period(&period, reading, periods.start_ns, at, to_ns, options);
		array_push(&periods.list, period);
		at = to_ns;
	}
	if (!err)
		err = report_write_periods(out, reading->trace, &periods, options);
	periods_free(&periods);
	return err;
}
