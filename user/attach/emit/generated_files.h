/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the files that PyTorch's compiler wrote and that are on Python stacks, each once and while its process is
 * alive, and puts what they say about the launching lines into the log, so that a report does not need the files. Does
 * the same for notebook cells, which are in the process's memory only.
 */
#pragma once

#include <stdbool.h>

#include "attach/emit/emit.h"

struct generated_files;

struct generated_files *generated_files_new(attach_emit emit, void *context);

/* Whether generated_files_add needs this code object. Any thread may ask. */
bool generated_files_want(const struct gpt_code *code);
void generated_files_add(struct generated_files *files, const struct gpt_code *code);
void generated_files_free(struct generated_files *files);
