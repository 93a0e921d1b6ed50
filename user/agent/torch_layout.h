/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Where a PyTorch keeps what an observer of its ops has to write and read (ATen/record_function.h), by version. */
#ifndef GPUTRACE_AGENT_TORCH_LAYOUT_H
#define GPUTRACE_AGENT_TORCH_LAYOUT_H

#include <stdint.h>

struct torch_layout {
	uint32_t version; /* major << 16 | minor << 8 */
	/* at::RecordFunctionCallback */
	uint16_t callback_bytes, callback_start, callback_end, callback_probability;
	uint16_t callback_scopes, callback_scope_count;
	/* at::RecordFunction */
	uint16_t op_bytes, op_thread, op_scope, op_sequence, op_inputs;
	uint16_t op_forward_thread, op_handle, op_async, op_debug_handle;
	/* torch::ParamCommsDebugInfo (torch/csrc/distributed/c10d/ParamCommsUtils.hpp); comms_bytes 0: it tells too
	 * little, a member at 0: this version has none */
	uint16_t comms_bytes, comms_kind; /* c10::DebugInfoKind, where that is an enumeration */
	uint16_t comms_group_name, comms_group_description, comms_rank, comms_group_size, comms_name;
	uint16_t comms_in_elements, comms_out_elements, comms_dtype, comms_in_split, comms_out_split;
	uint16_t comms_rank_start, comms_rank_stride, comms_ranks;
	uint16_t comms_async, comms_sequence, comms_point_to_point;
};

/* Of that version (the patch number does not matter), NULL: it is not known. */
const struct torch_layout *torch_layout(unsigned version);

#endif
