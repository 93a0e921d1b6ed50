/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the PyTorch says whose headers it is compiled with (see generate), as comments in the assembly: nothing of
 * PyTorch has to be there to link with.  Every number comes from offsetof; compile with -fno-access-control.
 */
#include <ATen/record_function.h>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

#include <cstddef>
#include <type_traits>

using Callback = at::RecordFunctionCallback;
using Op = at::RecordFunction;
using Step = at::StepCallbacks;

#define NUMBER(name, value) asm volatile("\n#LAYOUT " #name " %c0" : : "i"(value))
#define IN_STEP(member) (offsetof(Op, step_callbacks_) + offsetof(Step, member))

/* Of several versions: a member that one does not have is at 0, where the table of virtual functions is. */
#define IF_THERE(type, member)                                                                                         \
	([]<typename T>(T *) constexpr -> size_t {                                                                     \
		if constexpr (requires(T t) { t.member; })                                                             \
			return offsetof(T, member);                                                                    \
		else                                                                                                   \
			return 0;                                                                                      \
	}(static_cast<type *>(nullptr)))

/* An enumeration up to 2.12; from then on an object with a symbol of its own (0 here). */
template <typename Kind> constexpr unsigned comms_kind()
{
	if constexpr (std::is_enum_v<Kind>)
		return static_cast<unsigned>(Kind::PARAM_COMMS_INFO);
	else
		return 0;
}

/* What a collective tells of itself.  Before 2.11 it tells too little to be of use. */
template <typename Comms> void comms()
{
	if constexpr (requires(Comms c) { c.pgName_; c.groupRanks_; }) {
		using Names = decltype(Comms::pgName_);
		/* libstdc++ has the elements of a tuple in reverse order */
		static_assert(sizeof(Names) == 2 * sizeof(std::string));

		NUMBER(comms_bytes, sizeof(Comms));
		NUMBER(comms_kind, comms_kind<c10::DebugInfoKind>());
		NUMBER(comms_group_name, offsetof(Comms, pgName_) + sizeof(std::string));
		NUMBER(comms_group_description, offsetof(Comms, pgName_));
		NUMBER(comms_rank, offsetof(Comms, rank_));
		NUMBER(comms_group_size, offsetof(Comms, worldSize_));
		NUMBER(comms_name, offsetof(Comms, collectiveName_));
		NUMBER(comms_in_elements, offsetof(Comms, inMessageNelems_));
		NUMBER(comms_out_elements, offsetof(Comms, outMessageNelems_));
		NUMBER(comms_dtype, offsetof(Comms, dType_));
		NUMBER(comms_in_split, offsetof(Comms, inputSplitSizes_));
		NUMBER(comms_out_split, offsetof(Comms, outputSplitSizes_));
		NUMBER(comms_rank_start, offsetof(Comms, globalRankStart_));
		NUMBER(comms_rank_stride, offsetof(Comms, globalRankStride_));
		NUMBER(comms_ranks, offsetof(Comms, groupRanks_));
		NUMBER(comms_async, IF_THERE(Comms, isAsynchronizedOp_));
		NUMBER(comms_sequence, IF_THERE(Comms, sequenceNumber_));
		NUMBER(comms_point_to_point, IF_THERE(Comms, isP2P_));
	}
}

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
	comms<torch::ParamCommsDebugInfo>();
}
