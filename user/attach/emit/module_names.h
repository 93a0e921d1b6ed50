/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of the modules of PyTorch that a process's stacks refer to, for GPT_MODULE.  The root of a module is the
 * outermost module of its stack, or a module that has that root in its own tree.
 */
#pragma once

#include "attach/emit/emit.h"
#include "target/python/python_modules.h"

struct module_names;

struct module_names *module_names_new(attach_emit emit, void *context);
void module_names_free(struct module_names *names);

/* Takes the modules of a new stack. */
void module_names_note(struct module_names *names, const struct gpt_pystack *stack);

/*
 * Names the modules noted since, as far as there is time, unless the class is not known or reading has taken more than
 * its share of time; `last`: also then, and with more time.  Returns false if what the stacks have are no modules at
 * all: the code that is marked passes something else as `self`.
 */
bool module_names_work(struct module_names *names, const struct python_reader *reader,
		       const struct python_module_class *class, bool last);

/*
 * Checks whether the named modules are what they were.  True: another module has the address of one of them; what is
 * known is forgotten, and the generation of the process's modules has grown.
 */
bool module_names_check(struct module_names *names, const struct python_reader *reader,
			const struct python_module_class *class);

uint32_t module_names_generation(const struct module_names *names);
