/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The modules of PyTorch in followed processes.  Sets for the walker which code is torch.nn.Module's __call__, and
 * names the modules that new stacks refer to (GPT_MODULE).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gpt_pystack;
struct processes;
struct process_modules;

/* A stack is in the log whose modules may not be named yet. */
void modules_note_stack(struct processes *processes, const struct gpt_pystack *stack);

/* Looks for PyTorch in processes that have a Python, and names modules; last: names all that were noted. */
void modules_tick(struct processes *processes, uint64_t now_ns, bool last);

/* The walker's code must be set again. */
void process_modules_mark_again(struct process_modules *modules);
void process_modules_forget(struct process_modules **modules);
