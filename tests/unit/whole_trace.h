/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of trace readers: a model as a trace of one part. */
#pragma once

#include "model/trace.h"

/* A struct trace * that is valid until the end of the block. */
#define WHOLE_TRACE(model) trace_of_model(&(struct trace_of_model){{0}, NULL}, (model))
