/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the PyTorch says whose headers it is compiled with (see generate), as comments in the assembly: nothing of
 * PyTorch has to be there to link with.  Every number comes from offsetof; compile with -fno-access-control.
 */
#include <ATen/record_function.h>

#include <cstddef>

using Callback = at::RecordFunctionCallback;
using Op = at::RecordFunction;
using Step = at::StepCallbacks;

#define NUMBER(name, value) asm volatile("\n#LAYOUT " #name " %c0" : : "i"(value))
#define IN_STEP(member) (offsetof(Op, step_callbacks_) + offsetof(Step, member))

void layout()
{
	NUMBER(callback_bytes, sizeof(Callback));
	NUMBER(callback_start, offsetof(Callback, start_));
	NUMBER(callback_end, offsetof(Callback, end_));
	NUMBER(callback_probability, offsetof(Callback, sampling_prob_));
	NUMBER(callback_scopes, offsetof(Callback, scopes_));
	NUMBER(callback_scope_count, sizeof(Callback::scopes_));
	NUMBER(op_bytes, sizeof(Op));
	NUMBER(op_thread, IN_STEP(thread_id_));
	NUMBER(op_scope, IN_STEP(scope_));
	NUMBER(op_sequence, offsetof(Op, sequence_nr_));
	NUMBER(op_inputs, offsetof(Op, inputs_));
	NUMBER(op_forward_thread, offsetof(Op, fwd_thread_id_));
	NUMBER(op_handle, offsetof(Op, handle_));
	NUMBER(op_async, offsetof(Op, is_async_));
	NUMBER(op_debug_handle, offsetof(Op, debug_handle_));
}
