/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads gputrace's own log (.gpt) into a model: takes its records apart, checks their lengths, and passes their
 * contents on to the builder.  Knows no table of the model, and no bytes of the log outside a record.
 */
#pragma once

#include "model/model.h"

/*
 * Reads a whole log from fd and joins it.  Returns 0 also for a truncated log (receipt.truncated); -EPROTO: not a
 * gputrace log (*why says what is wrong, a literal), -EMEDIUMTYPE: an unsupported version, other -errno from reading.
 * The caller frees *out with model_free.
 */
int model_build(int fd, struct model **out, const char **why);
