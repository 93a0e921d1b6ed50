/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Python functions that are open in each thread of another tool's file, and the stacks that they form; also stacks
 * that the file holds as such.  A frame is a function, a file and a line; lines that the file lacks are unknown.
 */
#pragma once

#include "input/rows/rows.h"
#include "model/builder.h"

struct foreign_file;
struct row_stacks;

struct row_stacks *row_stacks_new(const struct foreign_file *file);
void row_stacks_free(struct row_stacks *stacks);

/* One pass, for one builder, which gets functions, code and stacks. */
void row_stacks_begin(struct row_stacks *stacks);
void row_stacks_enter(struct row_stacks *stacks, struct builder *builder, const struct row_function *function);
void row_stacks_leave(struct row_stacks *stacks, struct builder *builder, const struct row *row);
void row_stacks_end(struct row_stacks *stacks, struct builder *builder, uint64_t end_ns);

/* The key of the stack of open functions when a row begins; 0: none. */
uint64_t row_stacks_find(struct row_stacks *stacks, struct builder *builder, const struct row *row);

/*
 * The same, but only of functions that last as long as the row: the function that enters a `with` returns before it
 * ends.
 */
uint64_t row_stacks_around(struct row_stacks *stacks, struct builder *builder, const struct row *row);

/*
 * For a row without functions of its own, on a thread of PyTorch's engine: the stack of the call to the engine that the
 * thread works for.  Known only if exactly one thread of the process is inside such a call; 0: not known.
 */
uint64_t row_stacks_backward(struct row_stacks *stacks, struct builder *builder, const struct row *row);

/* The key of a stack that the file holds as such, for a process. */
uint64_t row_stacks_own(struct row_stacks *stacks, struct builder *builder, uint32_t pid, uint32_t stack);
