/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects that no variable reaches, as cycles that Python's garbage collector has not found yet: they are only in the
 * collector's lists.
 */
#pragma once

#include "dump/objects/object_graph.h"

/* Adds them to a graph that has all that variables reach, and what they refer to. */
void object_lists_read(struct object_graph *graph);
