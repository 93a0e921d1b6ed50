/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "target/python/python_modules.h"

#include "target/python/python_parts.h"

/* PyFunctionObject.func_code (funcobject.h, cpython/funcobject.h) */
#define FUNCTION_CODE_39 16u
#define FUNCTION_CODE 48u

bool python_module_class_find(const struct python_reader *reader, const struct gpt_python *python,
			      struct python_module_class *out)
{
	const struct gpt_pylayout *layout = reader->layout;
	uint64_t interpreter = python_read_word(reader, python->runtime + layout->runtime_interpreters_head);
	uint64_t type = python_module_global(reader, interpreter, "torch.nn.modules.module", "Module"), function, names;

	out->type = type;
	out->code = 0;
	if (!type)
		return false;
	function = python_dict_get(reader, python_read_word(reader, type + TYPE_DICT), "__call__");
	if (!function)
		return false;
	out->code = python_read_word(
		reader, function + (layout->version < PYTHON_SINCE(10) ? FUNCTION_CODE_39 : FUNCTION_CODE));
	if (!out->code || !python->code_type ||
	    python_read_word(reader, out->code + layout->object_type) != python->code_type)
		return false;
	names = python_read_word(reader, out->code + layout->code_local_names);
	return names && python_is_str(reader, python_read_word(reader, names + layout->tuple_items), "self");
}
