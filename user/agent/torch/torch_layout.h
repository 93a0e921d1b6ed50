/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Offsets in PyTorch's structures that an observer of ops reads and writes, by version: in the op itself
 * (ATen/record_function.h) and in its inputs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct torch_layout {
	uint32_t version; /* major << 16 | minor << 8 */
	bool old_strings; /* built with the pre-C++11 std::string (_GLIBCXX_USE_CXX11_ABI=0): PyPI's up to 2.6 */
	/* at::RecordFunctionCallback */
	uint16_t callback_bytes, callback_start, callback_end, callback_probability;
	uint16_t callback_scopes, callback_scope_count, callback_needs_inputs;
	/* at::RecordFunction */
	uint16_t op_bytes, op_thread, op_scope, op_sequence, op_inputs;
	uint16_t op_forward_thread, op_handle, op_async, op_debug_handle;
	/*
	 * torch::ParamCommsDebugInfo (torch/csrc/distributed/c10d/ParamCommsUtils.hpp); comms_bytes 0: it has too
	 * little data; a member at 0: absent in this version
	 */
	uint16_t comms_bytes, comms_kind; /* c10::DebugInfoKind, where that is an enumeration */
	uint16_t comms_group_name, comms_group_description, comms_rank, comms_group_size, comms_name;
	uint16_t comms_in_elements, comms_out_elements, comms_dtype, comms_in_split, comms_out_split;
	uint16_t comms_rank_start, comms_rank_stride, comms_ranks;
	uint16_t comms_async, comms_sequence, comms_point_to_point;
	/* c10::IValue; tags of the kinds that are read */
	uint16_t value_bytes, value_payload, value_tag;
	uint16_t tag_none, tag_tensor, tag_double, tag_complex, tag_int, tag_bool, tag_list;
	uint16_t tag_symint, tag_symfloat, tag_symbool;
	uint16_t complex_value; /* in ComplexHolder */
	/* c10::detail::ListImpl: a vector of IValues, and a pointer to their common c10::Type */
	uint16_t list_values, list_type, type_kind, kind_tensor;
	/*
	 * c10::TensorImpl; up to tensor_inline_dims dimensions are inline, more are behind a pointer: sizes, then
	 * strides
	 */
	uint16_t tensor_dims, tensor_inline, tensor_inline_dims, tensor_type, tensor_keys;
	uint16_t tensor_symbolic, symbolic_bit;
	uint64_t keys_nested, keys_unstrided; /* bits of DispatchKeySet */
	/*
	 * caffe2::detail::TypeMetaData: pointer to the characters of its name, and their number; the number of types of
	 * c10::ScalarType, two of them, and the undefined one
	 */
	uint16_t type_bytes, type_name, type_name_bytes, types, type_float, type_long, type_undefined;
};

/* The layout of that version (ignoring the patch number); NULL: unknown version. */
const struct torch_layout *torch_layout(unsigned version, bool old_strings);
