/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the layout of the PyTorch with whose headers it is compiled (see generate), as comments in the assembly: so
 * PyTorch's libraries are not needed for linking.  Every number comes from offsetof; compile with -fno-access-control.
 */
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <type_traits>

using Callback = at::RecordFunctionCallback;
using Op = at::RecordFunction;
using Step = at::StepCallbacks;

using Value = c10::IValue;
using List = c10::detail::ListImpl;
using Complex = c10::ivalue::ComplexHolder;
using Tensor = c10::TensorImpl;
using Sizes = c10::impl::SizesAndStrides;
using TypeData = caffe2::detail::TypeMetaData;

#define NUMBER(name, value) asm volatile("\n#LAYOUT " #name " %c0" : : "i"(value))
#define IN_STEP(member) (offsetof(Op, step_callbacks_) + offsetof(Step, member))

/* The offset of a member that some versions lack; then 0, where the vtable pointer is. */
#define IF_THERE(type, member)                                                                                         \
	([]<typename T>(T *) constexpr -> size_t {                                                                     \
		if constexpr (requires(T t) { t.member; })                                                             \
			return offsetof(T, member);                                                                    \
		else                                                                                                   \
			return 0;                                                                                      \
	}(static_cast<type *>(nullptr)))

/* The kind is an enumeration up to 2.12, since then an object with a symbol of its own (0 here). */
template <typename Kind> constexpr unsigned comms_kind()
{
	if constexpr (std::is_enum_v<Kind>)
		return static_cast<unsigned>(Kind::PARAM_COMMS_INFO);
	else
		return 0;
}

/* A collective's debug information.  Before 2.11 it has too little to be of use. */
template <typename Comms> void comms()
{
	if constexpr (requires(Comms c) { c.pgName_; c.groupRanks_; }) {
		using Names = decltype(Comms::pgName_);
		/* libstdc++ stores the elements of a tuple in reverse order */
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

/* std::string_view of libstdc++, which begins with the length; up to 2.5 PyTorch's own, which ends with it. */
template <typename Name> constexpr size_t name_text()
{
	if constexpr (requires(Name name) { name.begin_; })
		return offsetof(Name, begin_);
	else
		return sizeof(size_t);
}

void layout()
{
	NUMBER(callback_bytes, sizeof(Callback));
	NUMBER(callback_start, offsetof(Callback, start_));
	NUMBER(callback_end, offsetof(Callback, end_));
	NUMBER(callback_probability, offsetof(Callback, sampling_prob_));
	NUMBER(callback_scopes, offsetof(Callback, scopes_));
	NUMBER(callback_scope_count, sizeof(Callback::scopes_));
	NUMBER(callback_needs_inputs, offsetof(Callback, needs_inputs_));
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
	NUMBER(value_bytes, sizeof(Value));
	NUMBER(value_payload, offsetof(Value, payload));
	NUMBER(value_tag, offsetof(Value, tag));
	NUMBER(tag_none, (unsigned)Value::Tag::None);
	NUMBER(tag_tensor, (unsigned)Value::Tag::Tensor);
	NUMBER(tag_double, (unsigned)Value::Tag::Double);
	NUMBER(tag_complex, (unsigned)Value::Tag::ComplexDouble);
	NUMBER(tag_int, (unsigned)Value::Tag::Int);
	NUMBER(tag_bool, (unsigned)Value::Tag::Bool);
	NUMBER(tag_list, (unsigned)Value::Tag::GenericList);
	NUMBER(complex_value, offsetof(Complex, val));
	NUMBER(list_values, offsetof(List, list));
	NUMBER(list_type, offsetof(List, elementType));
	NUMBER(type_kind, offsetof(c10::Type, kind_));
	NUMBER(kind_tensor, (unsigned)c10::TypeKind::TensorType);
	NUMBER(tensor_dims, offsetof(Tensor, sizes_and_strides_) + offsetof(Sizes, size_));
	NUMBER(tensor_inline, offsetof(Tensor, sizes_and_strides_) + offsetof(Sizes, inlineStorage_));
	NUMBER(tensor_inline_dims, C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE);
	NUMBER(tensor_type, offsetof(Tensor, data_type_));
	NUMBER(tensor_keys, offsetof(Tensor, key_set_));
	NUMBER(keys_nested, c10::DispatchKeySet(c10::DispatchKey::NestedTensor).raw_repr());
	NUMBER(keys_unstrided, (c10::sparse_ks | c10::sparse_csr_ks | c10::mkldnn_ks).raw_repr());
	NUMBER(type_bytes, sizeof(TypeData));
	NUMBER(type_name, offsetof(TypeData, name_) + name_text<decltype(TypeData::name_)>());
	NUMBER(type_name_bytes, offsetof(TypeData, name_) + sizeof(size_t) - name_text<decltype(TypeData::name_)>());
	NUMBER(types, c10::NumScalarTypes);
	NUMBER(type_float, (unsigned)c10::ScalarType::Float);
	NUMBER(type_long, (unsigned)c10::ScalarType::Long);
	NUMBER(type_undefined, (unsigned)c10::ScalarType::Undefined);
}

/* A bit has no offset: generate takes byte and bit from the instruction that sets it. */
extern "C" void set_tensor_symbolic(Tensor *tensor)
{
	tensor->has_symbolic_sizes_strides_ = true;
}

/* Versions without SymBool, in which other tags follow: SymFloat's number stands in. */
template <typename Tag> constexpr unsigned tag_symbool()
{
	if constexpr (requires { Tag::SymBool; })
		return (unsigned)Tag::SymBool;
	else
		return (unsigned)Tag::SymFloat;
}

void symbolic_tags()
{
	NUMBER(tag_symint, (unsigned)Value::Tag::SymInt);
	NUMBER(tag_symfloat, (unsigned)Value::Tag::SymFloat);
	NUMBER(tag_symbool, (tag_symbool<Value::Tag>()));
}
