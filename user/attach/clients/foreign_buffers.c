/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies buffers and keeps the clock; see foreign_buffers.h. */
#include "attach/clients/foreign_buffers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/walk.h>

#include "base/monotonic.h"
#include "cupti/apis.h"
#include "attach/emit/emit.h"
#include "target/process.h"

/* Kineto's buffers are 4 MB (CuptiActivityApi.h), NVIDIA recommends up to 10 MB. */
#define BUFFER_MAX (16u << 20)

/*
 * A process says as often as it likes that a buffer of 16 MB is done. The time for a user's buffers is a quarter of the
 * thread's, and so much at once; 30,000 kernels take some 10 ms.
 */
#define USER_TIME_NS 2000000000ull
#define USER_SHARE 4

/* If the clock's rate changes between two samples, times are off by part of that: NTP changes it by 500 ppm at most. */
#define SAMPLE_NS 250000000ull

/* ---- clock ---------------------------------------------------------------------------------------------------------
 */

/* Kinds that the user did not request, or that gputrace does not understand. */
static uint64_t unwanted_kinds(unsigned activity_sets)
{
	uint64_t unwanted = ~0ull;

	for (unsigned i = 0; i < RECORDS_KINDS; i++)
		if (records_kinds[i].set == GPT_AGENT_SET_COUNT || (activity_sets >> records_kinds[i].set & 1))
			unwanted &= ~(1ull << records_kinds[i].kind);
	if (!(unwanted >> CUPTI_KIND_MEMCPY & 1))
		unwanted &= ~(1ull << CUPTI_KIND_MEMCPY2);
	return unwanted;
}

void foreign_reader_open(struct foreign_reader *reader, unsigned activity_sets, attach_emit emit, void *context)
{
	reader->unfit = tsc_unfit();
	reader->activity_sets = activity_sets;
	reader->time.share = USER_SHARE;
	reader->terms = (struct foreign_terms){.emit = emit,
					       .emit_context = context,
					       .read = process_read_memory,
					       .clock = reader->unfit ? NULL : &reader->clock,
					       .unwanted = unwanted_kinds(activity_sets),
					       .since_ns = monotonic_ns()};
	foreign_reader_tick(reader, reader->terms.since_ns);
}

void foreign_reader_close(struct foreign_reader *reader)
{
	tsc_clock_free(&reader->clock);
	user_budget_free(&reader->time);
	free(reader->copy);
	reader->copy = NULL;
	reader->copy_bytes = 0;
}

void foreign_reader_tick(struct foreign_reader *reader, uint64_t now_ns)
{
	if (!reader->terms.clock || (reader->sampled_ns && now_ns - reader->sampled_ns < SAMPLE_NS))
		return;
	tsc_clock_sample(&reader->clock);
	reader->sampled_ns = now_ns;
}

/* ---- processes -----------------------------------------------------------------------------------------------------
 */

static void keep_sizes(const struct foreign_reader *reader, struct foreign_buffers *buffers,
		       const struct gpt_agent_sizes *sizes)
{
	if (!buffers->records)
		buffers->records = foreign_records_new();
	if (!buffers->records)
		return;
	foreign_records_sizes(buffers->records, sizes->bytes);
	foreign_records_calls(buffers->records, buffers->borrowed ? apis_classes(reader->activity_sets) : 0);
}

void foreign_buffers_record(const struct foreign_reader *reader, struct foreign_buffers *buffers,
			    const struct gpt_agent_batch *batch)
{
	const struct gpt_record *record;
	size_t at = 0;

	while ((record = batch_next(batch, &at))) {
		if (record->type == GPT_AGENT_HELLO && record->size >= sizeof(struct gpt_agent_hello))
			buffers->borrowed = ((const struct gpt_agent_hello *)record)->state == GPT_AGENT_BORROWING;
		if (record->type == GPT_AGENT_SIZES && record->size >= sizeof(struct gpt_agent_sizes))
			keep_sizes(reader, buffers, (const struct gpt_agent_sizes *)record);
	}
}

void foreign_buffers_forget(struct foreign_buffers *buffers)
{
	foreign_records_free(buffers->records);
	*buffers = (struct foreign_buffers){0};
}

/* ---- buffers -------------------------------------------------------------------------------------------------------
 */

/* Whether the buffer still has what CUPTI wrote: freed memory is reused from its start. */
static bool is_unchanged(const struct gpt_cupti_done *done, const uint8_t *head, size_t bytes)
{
	static const uint8_t unread[GPT_CUPTI_DONE_HEAD];

	if (bytes > sizeof(done->head))
		bytes = sizeof(done->head);
	return !memcmp(head, done->head, bytes) && memcmp(unread, done->head, sizeof(unread)) != 0;
}

/* Copies the buffer from the process; -errno, -ESTALE if its memory was reused since. */
static int read_buffer(const struct foreign_reader *reader, const struct gpt_cupti_done *done)
{
	uint8_t head[GPT_CUPTI_DONE_HEAD];
	size_t head_bytes = done->bytes < sizeof(head) ? (size_t)done->bytes : sizeof(head);
	int error = process_read_memory((pid_t)done->pid, done->address, reader->copy, done->bytes);

	/* check once more after the copy, which takes a while */
	if (!error)
		error = process_read_memory((pid_t)done->pid, done->address, head, head_bytes);
	if (error)
		return error;
	return is_unchanged(done, reader->copy, head_bytes) && is_unchanged(done, head, head_bytes) ? 0 : -ESTALE;
}

/* Gets the buffer as it was when CUPTI gave it back, into gputrace's memory. */
static int copy_buffer(struct foreign_reader *reader, const struct gpt_cupti_done *done)
{
	if (!done->bytes || done->bytes > BUFFER_MAX)
		return -EMSGSIZE;
	if (done->bytes > reader->copy_bytes) {
		free(reader->copy);
		reader->copy = malloc(done->bytes);
		reader->copy_bytes = reader->copy ? done->bytes : 0;
		if (!reader->copy)
			return -ENOMEM;
	}
	if (done->copied != done->bytes || done->hdr.size - sizeof(*done) < done->bytes)
		return read_buffer(reader, done);
	memcpy(reader->copy, done->data, done->bytes);
	return 0;
}

static void report_loss(struct foreign_reader *reader, struct foreign_buffers *buffers, uint32_t pid, const char *what)
{
	char note[256];

	if (buffers->reported)
		return;
	buffers->reported = true;
	snprintf(note, sizeof(note), "pid %" PRIu32 ": GPU records of another profiler's session are missing: %s", pid,
		 what);
	emit_text(reader->terms.emit, reader->terms.emit_context, GPT_NOTE, pid, note);
}

static const char *explain_error(int error)
{
	switch (error) {
	case -ESTALE:
	case -EFAULT:
		return "it freed a buffer before it could be copied";
	case -EMSGSIZE:
		return "a buffer is larger than any should be";
	default:
		return strerror(-error);
	}
}

static void take_buffer(struct foreign_reader *reader, struct foreign_buffers *buffers,
			const struct gpt_cupti_done *done)
{
	struct foreign_buffer buffer = {.pid = (pid_t)done->pid, .tid = done->tid, .time_ns = done->time_ns};
	struct foreign_result result;
	int error;

	error = copy_buffer(reader, done);
	if (error == -ESRCH)
		return;
	if (error) {
		report_loss(reader, buffers, done->pid, explain_error(error));
		return;
	}
	buffer.data = reader->copy;
	buffer.bytes = done->bytes;
	if (reader->terms.clock)
		tsc_clock_sample(&reader->clock);
	buffer.ticks = tsc_now();
	buffer.wall_ns = clock_ns(CLOCK_REALTIME);
	buffer.wall_offset_ns = (int64_t)(buffer.wall_ns - monotonic_ns());
	result = foreign_buffer_convert(buffers->records, &reader->terms, &buffer);
	if (result.left)
		report_loss(reader, buffers, done->pid, "of a kind that is not known");
	else if (result.unknown)
		report_loss(reader, buffers, done->pid, "their times are of a clock that is not known");
	else if (result.unconverted)
		report_loss(reader, buffers, done->pid, reader->unfit);
}

void foreign_buffers_take(struct foreign_reader *reader, struct foreign_buffers *buffers, uid_t uid,
			  const struct gpt_cupti_done *done)
{
	uint64_t now_ns = monotonic_ns();

	if (!buffers->records) /* no agent: the call of a record is unknown */
		return;
	if (reader->fair && user_budget_used(&reader->time, uid, now_ns) >= USER_TIME_NS) {
		report_loss(reader, buffers, done->pid,
			    "its user's buffers have taken more than their part of the time");
		return;
	}
	take_buffer(reader, buffers, done);
	user_budget_charge(&reader->time, uid, now_ns, monotonic_ns() - now_ns);
}
