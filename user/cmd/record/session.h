/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The record of what was asked for, and on which machine: all that an output needs and no probe reports. */
#pragma once

#include <gputrace/record.h>

#include "cmd/options/options.h"

/* What is traced, in the user's words; the caller frees it. */
char *session_target(const struct options *options);

/* A whole GPT_SESSION record; the caller frees it.  unasked: GPT_SESSION_UNASKED holds; no_sudo: GPT_SESSION_NO_SUDO.
 */
struct gpt_session *session_record(const struct options *options, bool unasked, bool no_sudo);
