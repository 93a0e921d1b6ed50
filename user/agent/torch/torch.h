/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The PyTorch that is loaded in this process: its version, the functions an observer of its ops needs, and the layout
 * of what they take, which is checked against the answers of those functions. */
#ifndef GPUTRACE_AGENT_TORCH_H
#define GPUTRACE_AGENT_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/op_inputs.h"
#include "agent/torch/torch_layout.h"

#define TORCH_CALLBACK_BYTES 40u

/* at::RecordFunctionCallback, which goes by value. */
struct torch_callback {
	uint8_t bytes[TORCH_CALLBACK_BYTES] __attribute__((aligned(8)));
};

struct torch {
	void *handle; /* keeps the library where it is */
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
	struct op_input_types types; /* once torch_inputs_check has found them */
};

enum torch_answer {
	TORCH_NONE,    /* not loaded (yet) */
	TORCH_READY,   /* torch_close it */
	TORCH_REFUSED, /* why says why */
};

/* A symbol of its libraries, and the pointer that gets its address. */
struct torch_symbol {
	void *pointer;
	const char *name;
};

/* False: one of them is not exported. */
bool torch_find(const struct torch *torch, const struct torch_symbol *wanted, size_t count);

/*
 * Of several the first that is known.  Slow where a library is being loaded: it waits until that is initialised.
 * Version and path are set where known.
 */
enum torch_answer torch_open(struct torch *torch, char *why, size_t why_size);
void torch_close(struct torch *torch);

/*
 * Makes an op that does not run, on this thread, and looks whether the library put into it what is known beforehand,
 * and where the layout says.  While a callback is registered: what no one observes is left empty.
 */
bool torch_check(const struct torch *torch, char *why, size_t why_size);

/*
 * The same for what an op's inputs are made of, and how its types are called, which torch->types learns.  False: ops
 * can be observed, their inputs cannot.
 */
bool torch_inputs_check(struct torch *torch, char *why, size_t why_size);

/* What the callback is to see. */
enum torch_scopes {
	TORCH_ALL_SCOPES,
	TORCH_USER_SCOPE, /* what the program names: record_function, and what PyTorch's Python names with it */
};

struct torch_callback torch_callback_make(const struct torch_layout *layout, void *start, void *end, bool needs_inputs,
					  enum torch_scopes scopes);

/* "PyTorch 2.14.1" */
void torch_name(const struct torch *torch, char *name, size_t size);

/* How many PyTorchs are in the process. */
unsigned torch_copies(void);

/* ---- parts of it, for tests ---- */

/* "libtorch_cpu.so.2.14" gives 2 << 16 | 14 << 8; 0: the name has none. */
uint32_t torch_version_of_name(const char *path);

/* The same of a version.py ("__version__ = '1.13.1+cu117'"), with its patch number. */
uint32_t torch_version_of_text(const char *text);

#endif
