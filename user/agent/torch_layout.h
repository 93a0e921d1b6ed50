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
};

/* Of that version (the patch number does not matter), NULL: it is not known. */
const struct torch_layout *torch_layout(unsigned version);

#endif
