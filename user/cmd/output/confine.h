/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command that only reads files confines itself before it opens the first one.  If a hostile file takes it over, it
 * can write only into the folders of its outputs and temporary files, execute nothing, and reach no other process by
 * TCP, abstract socket or signal.  By Landlock, as far as the kernel has it (Linux 5.13 and later).
 */
#pragma once

#include "cmd/options/options.h"

/* Confines the calling thread and those that it starts, for good; it may write where the options' outputs are.  False:
 * it is not confined. */
bool confine_reader(const struct options *options);

/* The version of the kernel's Landlock; 0: it has none, or a filter forbids it. */
long confine_version(void);
