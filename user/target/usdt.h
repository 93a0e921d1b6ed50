/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The USDT probes that a file carries (notes of type stapsdt:
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). The notes are not trusted: every length in them
 * is checked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <gputrace/maps.h>

#include "target/image.h"

struct usdt_note {
	const char *provider, *name, *arguments; /* in the section's data */
	uint64_t address, base, semaphore;	 /* as in the note; semaphore 0: none */
};

/*
 * Calls fn for each note in `bytes` of a .note.stapsdt section; stops when fn returns non-zero, and returns that.  Ends
 * without an error at the first note that does not fit.
 */
int usdt_each(const uint8_t *section, size_t bytes, int (*fn)(const struct usdt_note *note, void *context),
	      void *context);

/* The argument `index` of "8@%rax -4@112(%rsp)"; -ENOENT: there is none, -ENOTSUP: its form is not known. */
int usdt_argument(const char *arguments, unsigned index, struct gpt_py_arg *out);
