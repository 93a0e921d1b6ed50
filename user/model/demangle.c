/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The only user of libiberty's demangler. */
#include "model/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
	text_buffer *text;
	jmp_buf too_long;
};

static void take_piece(const char *piece, size_t size, void *opaque)
{
	struct output *output = opaque;
	text_buffer *text = output->text;

	/*
	 * libiberty has no way to stop a print that has begun, and an output of 2^n bytes would never end.  Its
	 * callback interface keeps everything on the stack, so nothing leaks when longjmp() leaves it; except for an
	 * identifier of Rust that is not ASCII, at most four times the name's bytes.
	 */
	if (size > DEMANGLE_OUTPUT_MAX - text->count)
		longjmp(output->too_long, 1);
	text_append(text, piece, size);
}

/* "_Z": C++, "_R": Rust (since 1.37 on request, since 2025 by default) */
static bool has_prefix(const char *mangled)
{
	return mangled[0] == '_' && (mangled[1] == 'Z' || mangled[1] == 'R');
}

bool demangle(const char *mangled, size_t size, text_buffer *out)
{
	char name[DEMANGLE_INPUT_MAX + 1];
	struct output output = {.text = out};

	out->count = 0;
	if (size < 3 || size > DEMANGLE_INPUT_MAX || !has_prefix(mangled) || memchr(mangled, 0, size))
		return false;
	memcpy(name, mangled, size);
	name[size] = 0;
	if (setjmp(output.too_long))
		return false;
	if (name[1] == 'R')
		return rust_demangle_callback(name, 0, take_piece, &output) != 0;
	/* its own limit would refuse every name above 1,024 bytes, and CUTLASS kernels have longer ones */
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, take_piece, &output) !=
	       0;
}
