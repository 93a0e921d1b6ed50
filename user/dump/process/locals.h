/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Local variables of a frame, as short safe text. */
#pragma once

#include "dump/process/python.h"

/* A str object as safe text of at most `most` characters, and at most 1024; NULL: no str. */
const char *python_text(struct python_look *look, uint64_t object, unsigned most);

/* Fills in the variables of a frame that have a value. */
void locals_read(struct python_look *look, const struct raw_frame *raw, struct dump_frame *frame);

/* The value of a frame's variable, 0: no such variable, or not set. */
uint64_t locals_find(struct python_look *look, const struct raw_frame *raw, const char *name);

/* A value as text; NULL: there is none. */
const char *locals_value(struct python_look *look, uint64_t object);

/* tp_name of an object's type, "": not readable; `name` has TYPE_NAME_BYTES. */
#define TYPE_NAME_BYTES 65
void object_type_name(struct python_look *look, uint64_t object, char *name);
