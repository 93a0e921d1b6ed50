/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the files that PyTorch's compiler wrote and that are on Python stacks, each once and while their process is
 * alive, and puts what they say of the lines that launch into the log: a report needs the files no more.  The same for
 * cells of notebooks, which are in the process's memory alone.
 */
#ifndef GPUTRACE_ATTACH_GENERATED_FILES_H
#define GPUTRACE_ATTACH_GENERATED_FILES_H

#include <stdbool.h>

#include "attach/emit.h"

struct generated_files;

struct generated_files *generated_files_new(attach_emit emit, void *context);

/* Whether generated_files_add has to hear of it.  Any thread may ask. */
bool generated_files_want(const struct gpt_code *code);
void generated_files_add(struct generated_files *files, const struct gpt_code *code);
void generated_files_free(struct generated_files *files);

#endif
