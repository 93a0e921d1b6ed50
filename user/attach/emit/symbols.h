/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Symbolises the addresses of native stacks while their process is alive, each address once. */
#pragma once

#include "attach/emit/emit.h"

struct symbols;

struct symbols *symbols_new(attach_emit emit, void *context);
void symbols_add_stack(struct symbols *symbols, const struct gpt_native_stack *stack);
void symbols_forget_process(struct symbols *symbols, uint32_t pid); /* the pid has another program or process */
void symbols_free(struct symbols *symbols);
