/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The PyTorch loaded in this process: its version, the functions that an observer of its ops needs, and the layout of
 * their arguments, which is checked against the results of those functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/op_inputs.h"
#include "agent/torch/torch_layout.h"

#define TORCH_CALLBACK_BYTES 40u

/* at::RecordFunctionCallback, passed by value. */
struct torch_callback {
	uint8_t bytes[TORCH_CALLBACK_BYTES] __attribute__((aligned(8)));
};

struct torch {
	void *handle; /* keeps the library loaded */
	char path[512];
	uint32_t version; /* as gpt_agent_ops */
	const struct torch_layout *layout;
	uint64_t (*add)(struct torch_callback callback);
	void (*remove)(uint64_t handle);
	const char *(*name)(const void *op);
	uint64_t (*thread)(void);
	void (*construct)(void *op, uint8_t scope);
	void (*destroy)(void *op);
	void (*set_async)(void *op);
	struct op_input_types types; /* set by torch_inputs_check */
};

enum torch_answer {
	TORCH_NONE,    /* not loaded (yet) */
	TORCH_READY,   /* to be closed by torch_close */
	TORCH_REFUSED, /* why says why */
};

/* A symbol of PyTorch's libraries, and the pointer that gets its address. */
struct torch_symbol {
	void *pointer;
	const char *name;
};

/* False: one of them is not exported. */
bool torch_find(const struct torch *torch, const struct torch_symbol *wanted, size_t count);

/*
 * Opens the first supported PyTorch of the process. Slow while a library is being loaded: waits until it is
 * initialised. Sets version and path where known.
 */
enum torch_answer torch_open(struct torch *torch, char *why, size_t why_size);
void torch_close(struct torch *torch);

/*
 * Constructs an op on this thread, without running it, and checks that the library stored the expected values where the
 * layout says. Needs a registered callback: PyTorch leaves unobserved ops empty.
 */
bool torch_check(const struct torch *torch, char *why, size_t why_size);

/*
 * The same for the structures of an op's inputs; fills torch->types with the names of dtypes. False: ops can be
 * observed, but not their inputs.
 */
bool torch_inputs_check(struct torch *torch, char *why, size_t why_size);

/* Which ops the callback sees. */
enum torch_scopes {
	TORCH_ALL_SCOPES,
	TORCH_USER_SCOPE, /* ops named by the program with record_function, and by PyTorch's own Python code */
};

struct torch_callback torch_callback_make(const struct torch_layout *layout, void *start, void *end, bool needs_inputs,
					  enum torch_scopes scopes);

/* "PyTorch 2.14.1" */
void torch_name(const struct torch *torch, char *name, size_t size);

/* The number of PyTorch copies in the process. */
unsigned torch_copies(void);

/* ---- parts of it, for tests ---- */

/* "libtorch_cpu.so.2.14" gives 2 << 16 | 14 << 8; 0: the name has none. */
uint32_t torch_version_of_name(const char *path);

/* The same from the text of a version.py ("__version__ = '1.13.1+cu117'"), with the patch number. */
uint32_t torch_version_of_text(const char *text);
