/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slices of Python functions, if every call was traced. */
#include "timeline/members.h"
#include "timeline/python_slices.h"

/* The entry of a function that was open at the end of the previous part; NULL: it is new. */
static const struct open_function *find_remembered(struct traced_slices *traced, const struct python_thread *thread,
						   const struct model_span *call)
{
	if (!call->continued)
		return NULL;
	for (size_t i = traced->remembered; i < thread->functions.count; i++)
		if (thread->functions.items[i].number == call->number) {
			traced->remembered = i + 1;
			return &thread->functions.items[i];
		}
	return NULL;
}

/* Finds the parent by nesting in time: at equal times ends come before starts. */
static struct open_function open_function(struct traced_slices *traced, struct python_slices *slices, uint32_t thread,
					  const struct model_span *call)
{
	const struct open_function *before = find_remembered(traced, &slices->threads[thread], call);
	struct open_function function = {.number = call->number};

	while (traced->open.count && traced->open.items[traced->open.count - 1].end_ns < call->end_ns)
		traced->open.count--;
	if (before)
		function = *before;
	else
		function.id = ++slices->last_id;
	if (!before && traced->open.count)
		function.parent = traced->open.items[traced->open.count - 1].id;
	function.end_ns = call->end_ns;
	array_push(&traced->open, function);
	return function;
}

/* Replaces the previous part's open functions by this one's. */
static void remember_open(struct traced_slices *traced, struct python_thread *thread)
{
	thread->functions.count = 0;
	for (size_t i = 0; i < traced->kept.count; i++)
		array_push(&thread->functions, traced->kept.items[i]);
}

bool traced_slices_next(struct traced_slices *traced, struct python_slices *slices, const struct model *model,
			uint32_t thread, bool last, struct python_slice *slice)
{
	const struct model_thread *of = &model->threads[thread];

	while (traced->next < of->pycalls) {
		const struct model_span *call = &model->pycalls[of->first_pycall + traced->next++];
		struct open_function function = open_function(traced, slices, thread, call);

		if (call->open && !last) {
			array_push(&traced->kept, function);
			continue;
		}
		*slice = (struct python_slice){
			.start_ns = call->start_ns,
			.end_ns = span_end(model, call),
			.id = function.id,
			.parent = function.parent,
			.code = call->code,
			.module = NONE,
			.end_unseen = call->truncated || call->open,
		};
		return true;
	}
	remember_open(traced, &slices->threads[thread]);
	return false;
}

void traced_slices_free(struct traced_slices *traced)
{
	array_free(&traced->open);
	array_free(&traced->kept);
}
