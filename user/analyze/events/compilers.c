/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/events/compilers.h"

#include <string.h>

#include "analyze/events/callers.h"

struct compiling_function {
	const char *file, *name;
	enum compiler compiler;
};

/*
 * PyTorch 2.0 to 2.15, Triton 2.0 to 3.9, Numba.  Inductor's compile_fx_inner also compiles a backward pass, when it
 * runs for the first time.  precompile: what Inductor's workers have compiled is read or, without workers, compiled.
 */
static const struct compiling_function functions[] = {
	{"triton/compiler/compiler.py", "compile", COMPILER_TRITON},
	{"triton/compiler.py", "compile", COMPILER_TRITON}, /* 2.0 */
	{"triton/runtime/jit.py", "_do_compile", COMPILER_TRITON},
	{"torch/_inductor/compile_fx.py", "compile_fx", COMPILER_INDUCTOR},
	{"torch/_inductor/compile_fx.py", "compile_fx_inner", COMPILER_INDUCTOR},
	{"torch/_inductor/runtime/triton_heuristics.py", "precompile", COMPILER_INDUCTOR},
	{"torch/_inductor/triton_heuristics.py", "precompile", COMPILER_INDUCTOR},   /* up to 2.3 */
	{"torch/_inductor/triton_ops/autotune.py", "precompile", COMPILER_INDUCTOR}, /* 2.0 */
	{"torch/_dynamo/convert_frame.py", "_compile", COMPILER_DYNAMO},
	{"numba/cuda/dispatcher.py", "compile", COMPILER_NUMBA},
};

void compilers_free(struct compilers *compilers)
{
	array_free(&compilers->of_code);
	array_free(&compilers->of_stack);
}

/* Whether that is the path, or its end from a folder on. */
static bool ends_in(const char *path, const char *end)
{
	size_t length = strlen(path), most = strlen(end);

	return length >= most && !strcmp(path + length - most, end) &&
	       (length == most || path[length - most - 1] == '/');
}

static enum compiler find_by_code(const struct model_code *code)
{
	const char *dot = strrchr(code->name, '.'), *name = dot ? dot + 1 : code->name;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name) && ends_in(code->file, functions[i].file))
			return functions[i].compiler;
	return COMPILER_NONE;
}

static enum compiler compiler_of_code(struct compilers *compilers, const struct model *model, uint32_t code)
{
	while (compilers->of_code.count <= code)
		array_push(&compilers->of_code, 0);
	if (!compilers->of_code.items[code])
		compilers->of_code.items[code] = (uint8_t)(find_by_code(&model->codes[code]) + 1);
	return (enum compiler)(compilers->of_code.items[code] - 1);
}

static enum compiler find_by_stack(struct compilers *compilers, const struct model *model, uint32_t stack)
{
	enum compiler found = COMPILER_NONE;

	for (uint32_t i = 0; found == COMPILER_NONE && i < model->stacks[stack].depth; i++)
		found = compiler_of_code(compilers, model,
					 model->frames[model->stack_frames[model->stacks[stack].first + i]].code);
	return found;
}

enum compiler compiler_at(struct compilers *compilers, const struct model *model, uint32_t place)
{
	if (place >= CALLER_NO_FRAME || !stack_has_frames(model, place))
		return COMPILER_NONE;
	while (compilers->of_stack.count <= place)
		array_push(&compilers->of_stack, 0);
	if (!compilers->of_stack.items[place])
		compilers->of_stack.items[place] = (uint8_t)(find_by_stack(compilers, model, place) + 1);
	return (enum compiler)(compilers->of_stack.items[place] - 1);
}

const char *compiler_name(enum compiler compiler)
{
	static const char *const names[] = {"", "Triton", "Inductor", "Dynamo", "Numba"};

	return names[compiler];
}
