/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log of gputrace's own (.gpt) read into a model: takes its records apart, checks their lengths and says to the
 * builder what they say.  Knows no table of the model and no byte of the log outside of a record.
 */
#ifndef GPUTRACE_INPUT_GPT_H
#define GPUTRACE_INPUT_GPT_H

#include "model/model.h"

/*
 * Reads a whole log from fd and joins it.  Returns 0 also for a log that was truncated short (receipt.truncated);
 * -EPROTO: not a gputrace log (*why says what is wrong, a literal), -EMEDIUMTYPE: a version we do not read,
 * other -errno from reading.  The caller frees *out with model_free.
 */
int model_build(int fd, struct model **out, const char **why);

#endif
