/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When the recording begins: what was asked for, and what is said about it. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "attach/emit/emit.h"
#include "base/msg.h"
#include "capture/clock.h"
#include "cmd/record/recording.h"

#define SECOND_NS 1000000000
#define CLOCK_TEXT 32

/* A file begins at most so long before its counts are asked for: the time of a segment, and of a slow disk. */
#define HISTORY_NS (600 * 1000000000ull)

/* "14:30:00.000", in local time. */
static const char *clock_text(int64_t wall_ns, char text[CLOCK_TEXT])
{
	time_t seconds = (time_t)(wall_ns / SECOND_NS);
	struct tm local;
	size_t length;

	localtime_r(&seconds, &local);
	length = strftime(text, CLOCK_TEXT, "%H:%M:%S", &local);
	snprintf(text + length, CLOCK_TEXT - length, ".%03d", (int)(wall_ns / 1000000 % 1000));
	return text;
}

void recording_rotate(struct recording *recording)
{
	const struct options *options = recording->options;
	struct rotation_options rotation;

	recording->history = history_new(HISTORY_NS);
	recording->rotated = rotated_files_new(recording->file.output.path, options->rotate.keep, recording->history);
	rotation = rotated_files_options(recording->rotated, options->rotate.bytes, options->rotate.span_ns);
	log_writer_rotate(recording->log, &rotation);
}

int recording_plan_start(struct recording *recording)
{
	const struct start_at *start_at = &recording->options->start_at;
	char now_text[CLOCK_TEXT];
	struct gpt_clock now;
	uint64_t past_ns;

	clock_sample(&now);
	recording->start = (struct start_request){
		.kind = recording->options->command ? START_WITH_COMMAND : START_WHEN_READY, .set_up_ns = now.mono_ns};
	past_ns = start_at_resolve(start_at, now.mono_ns, now.wall_offset_ns, &recording->start);
	if (!past_ns)
		return 0;
	msg_error("--start-at %s: that was %.1f s ago, it is %s now: name a later moment, a time from now (+5s) or a "
		  "multiple (/10s)",
		  start_at->text, (double)past_ns / SECOND_NS,
		  clock_text((int64_t)now.mono_ns + now.wall_offset_ns, now_text));
	return -EINVAL;
}

void recording_say_waits(void *context, const struct start *start)
{
	char text[CLOCK_TEXT];
	struct gpt_clock now;

	clock_sample(&now);
	msg_info("the recording begins at %s, in %.1f s (Ctrl-C ends the wait)",
		 clock_text(start_moment_wall(start), text),
		 start->at_ns > now.mono_ns ? (double)(start->at_ns - now.mono_ns) / SECOND_NS : 0.0);
	(void)context; /* a callback has one */
}

/* Says it now, and has it in the log. */
static void log_note(struct recording *recording, const char *text)
{
	emit_text(recording_emit, recording, GPT_NOTE, 0, text);
	msg_warn("%s", text);
}

void recording_say_late(struct recording *recording, const struct start *start)
{
	const char *asked = recording->options->start_at.text;
	char text[256], at[CLOCK_TEXT];

	if (!asked)
		return;
	if (start->stepped_ns) {
		snprintf(text, sizeof(text),
			 "--start-at %s: the wall clock was set by %+.3f s while gputrace waited: the recording began "
			 "at %s by the clock as it is now",
			 asked, (double)start->stepped_ns / SECOND_NS,
			 clock_text(start_moment_wall(start) + (int64_t)start->late_ns, at));
		log_note(recording, text);
	}
	if (start->skipped) {
		snprintf(text, sizeof(text),
			 "--start-at %s: set-up was not ready in time: the recording began at a later multiple, %s",
			 asked, clock_text(start_moment_wall(start), at));
		log_note(recording, text);
	} else if (start->late_ns && start->ready_ns > start->at_ns) {
		snprintf(text, sizeof(text),
			 "--start-at %s: set-up was ready %.3f s after that: the recording began then", asked,
			 (double)start->late_ns / SECOND_NS);
		log_note(recording, text);
	}
}

void recording_say_not_begun(struct recording *recording)
{
	const struct options *options = recording->options;
	const char *who = options->command ? options->command[0] : "what was to be recorded";

	switch (recording->result.reason) {
	case GPT_END_INTERRUPTED:
		msg_error("--start-at %s: interrupted before that: nothing is recorded; without --start-at the "
			  "recording begins at once",
			  options->start_at.text);
		break;
	case GPT_END_TARGETS_GONE:
		msg_error("--start-at %s: %s ended before that: nothing is recorded; name an earlier moment",
			  options->start_at.text, who);
		break;
	default:
		recording_say_end(recording);
		break;
	}
}
