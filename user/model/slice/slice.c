/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides for each event whether it belongs to a slice; see slice.h. */
#include "model/slice/slice.h"

struct slice slice_of_process(const struct slice *slice, uint32_t process)
{
	struct slice own = *slice;

	if (!slice->spans)
		return own;
	own.from_ns = slice->spans[process].from_ns;
	own.to_ns = slice->spans[process].to_ns;
	own.spans = NULL;
	return own;
}

static bool is_in_span(const struct slice *slice, uint32_t process, uint64_t time_ns)
{
	if (slice->spans)
		return time_ns >= slice->spans[process].from_ns && time_ns < slice->spans[process].to_ns;
	return time_ns >= slice->from_ns && time_ns < slice->to_ns;
}

/* The same of what no process did. */
static bool is_between(const struct slice *slice, uint64_t time_ns)
{
	return time_ns >= slice->from_ns && time_ns < slice->to_ns;
}

static bool begins_before_end(const struct slice *slice, uint32_t process, uint64_t time_ns)
{
	return time_ns < (slice->spans ? slice->spans[process].to_ns : slice->to_ns);
}

static bool has_process(const struct slice *slice, uint32_t process)
{
	return !slice->processes || slice->processes[process];
}

/* Whether the thread was requested. */
static bool is_named(const struct slice *slice, const struct model *model, uint32_t thread)
{
	return has_process(slice, model->threads[thread].process) && (!slice->threads || slice->threads[thread]);
}

bool slice_has_thread(const struct slice *slice, const struct model *model, uint32_t thread)
{
	return is_named(slice, model, thread) && (slice->device == NONE || slice->givers[thread]);
}

void slice_find_givers(uint32_t device, const struct model *part, bool *givers)
{
	for (uint32_t i = part->gpu_in_part.from; i < in_part_end(&part->gpu_in_part, part->gpu_count); i++)
		if (part->gpu[i].device == device && part->gpu[i].call != NONE)
			givers[part->calls[part->gpu[i].call].thread] = true;
}

bool slice_has_call(const struct slice *slice, const struct model *part, const struct model_call *call)
{
	if (!is_in_span(slice, part->threads[call->thread].process, call->start_ns) ||
	    !is_named(slice, part, call->thread))
		return false;
	if (slice->device == NONE)
		return true;
	for (uint32_t op = call->first_gpu; op != NONE; op = part->gpu[op].next)
		if (part->gpu[op].device == slice->device)
			return true;
	return !call->gpu_count && slice->givers[call->thread];
}

/* Whether the slice has the call (NONE: not known) or process of an event, regardless of time. */
static bool has_caller(const struct slice *slice, const struct model *part, uint32_t call, uint32_t process)
{
	if (!has_process(slice, process))
		return false;
	return !slice->threads || (call != NONE && slice->threads[part->calls[call].thread]);
}

static bool has_gpu(const struct slice *slice, const struct model *part, const struct model_gpu *op)
{
	if ((slice->device != NONE && op->device != slice->device) || !has_caller(slice, part, op->call, op->process))
		return false;
	if (op->end_ns && (!slice->by_launch || op->call == NONE))
		return is_in_span(slice, op->process, op->start_ns);
	return op->call != NONE ? is_in_span(slice, op->process, part->calls[op->call].start_ns) : !slice->from_ns;
}

bool slice_is_crossed_by(const struct slice *slice, const struct model *part, const struct model_gpu *op)
{
	uint64_t from_ns = slice->spans ? slice->spans[op->process].from_ns : slice->from_ns;
	uint64_t to_ns = slice->spans ? slice->spans[op->process].to_ns : slice->to_ns;

	return !slice->by_launch && op->start_ns < from_ns && op->end_ns > from_ns && from_ns < to_ns &&
	       (slice->device == NONE || op->device == slice->device) && has_caller(slice, part, op->call, op->process);
}

/* Whether the slice has a thread, by the system's number; 0: no thread. */
static bool has_tid(const struct slice *slice, const struct model *part, uint32_t process, uint32_t tid)
{
	if (!has_process(slice, process))
		return false;
	if (!slice->threads && slice->device == NONE)
		return true;
	return any_of(part->thread_count, i,
		      part->threads[i].process == process && (!tid || part->threads[i].tid == tid) &&
			      slice_has_thread(slice, part, i));
}

/* has_sync and so on: by its time, and what its row of MODEL_EVENTS says. */
#define PROCESS_OF_CALL(part, event) ((event)->process)
#define PROCESS_OF_TID(part, event) ((event)->process)
#define PROCESS_OF_CALL_OR_TID(part, event) ((event)->process)
#define PROCESS_OF_THREAD(part, event) ((part)->threads[(event)->thread].process)
#define HAS_BY_CALL(slice, part, event)                                                                                \
	(has_caller(slice, part, (event)->call, (event)->process) &&                                                   \
	 ((slice)->device == NONE || (event)->device == (slice)->device))
#define HAS_BY_TID(slice, part, event) has_tid(slice, part, (event)->process, (event)->tid)
#define HAS_BY_CALL_OR_TID(slice, part, event)                                                                         \
	((event)->call != NONE ? slice_has_thread(slice, part, (part)->calls[(event)->call].thread)                    \
			       : HAS_BY_TID(slice, part, event))
#define HAS_BY_THREAD(slice, part, event) slice_has_thread(slice, part, (event)->thread)
#define IS_AT_CALL is_in_span
#define IS_AT_TID is_in_span
#define IS_AT_CALL_OR_TID is_in_span
#define IS_AT_THREAD is_in_span
#define PROCESS_OF_LOOP PROCESS_OF_THREAD
#define IS_AT_LOOP begins_before_end /* also what was read before the slice, in a wait that goes on into it */
#define HAS_BY_LOOP(slice, part, event)                                                                                \
	(has_process(slice, PROCESS_OF_LOOP(part, event)) && HAS_BY_THREAD(slice, part, event))
#define PROCESS_OF_DEVICE(part, event) NONE
#define IS_AT_DEVICE(slice, process, time_ns) is_between(slice, time_ns)
#define HAS_BY_DEVICE(slice, part, event) ((slice)->device == NONE || (event)->device == (slice)->device)
#define HAS(one, many, time, timing, record, slicing)                                                                  \
	static bool has_##one(const struct slice *slice, const struct model *part, const struct model_##one *one)      \
	{                                                                                                              \
		return IS_AT_##slicing(slice, PROCESS_OF_##slicing(part, one), one->time) &&                           \
		       HAS_BY_##slicing(slice, part, one);                                                             \
	}
MODEL_JOINED_EVENTS(HAS)
#undef HAS

#define has_call slice_has_call

void slice_mark(const struct slice *slice, const struct model *part, struct keep *keep)
{
#define MARK(one, many, ...)                                                                                           \
	for (uint32_t i = part->many##_in_part.from; i < in_part_end(&part->many##_in_part, part->one##_count); i++)   \
		if (has_##one(slice, part, &part->many[i]))                                                            \
			keep->many.marks[i] = KEEP_IN_PART;
	MODEL_EVENTS(MARK)
#undef MARK
}

bool slice_cut_span(const struct slice *slice, bool is_last, struct model_span *span)
{
	bool of_interpreter = span->kind == MODEL_SPAN_GC || span->kind == MODEL_SPAN_IMPORT;

	if (span->start_ns >= slice->to_ns || (span->start_ns < slice->from_ns && span->end_ns <= slice->from_ns))
		return false;
	/* its end was not read, so it may have ended long ago */
	if (of_interpreter && span->truncated && span->start_ns < slice->read_from_ns)
		return false;
	if (span->start_ns < slice->from_ns)
		span->start_ns = slice->from_ns;
	if (span->end_ns > slice->to_ns && (!span->open || is_last)) {
		span->end_ns = slice->to_ns;
		span->truncated = true;
	}
	span->open = span->open && !is_last;
	return true;
}

bool slice_has_torch_memory(const struct slice *slice, const struct model *part, const struct model_torch_memory *event)
{
	return is_in_span(slice, part->threads[event->thread].process, event->time_ns) &&
	       slice_has_thread(slice, part, event->thread);
}

bool slice_cut_op(const struct slice *slice, struct model_op *op)
{
	if (op->start_ns >= slice->to_ns || (op->start_ns < slice->from_ns && op->end_ns <= slice->from_ns) ||
	    (op->truncated && op->start_ns < slice->read_from_ns))
		return false;
	if (op->start_ns < slice->from_ns)
		op->start_ns = slice->from_ns;
	if (op->end_ns > slice->to_ns) {
		op->end_ns = slice->to_ns;
		op->truncated = true;
	}
	return true;
}
