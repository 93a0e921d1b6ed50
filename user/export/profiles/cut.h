/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A profile with too many different stacks for who shows it: the smallest ones become part of those above them. */
#ifndef GPUTRACE_PROFILE_CUT_H
#define GPUTRACE_PROFILE_CUT_H

#include "export/profiles/profile.h"

/*
 * Leaves at most `most` nodes, and one more: frames, with all below them, that are less than some share of each value
 * go, the share as small as does it.  Their values are their parent's then; of those without a parent they are of a
 * node of its own, "[smaller stacks]".  Sums stay the same.  Returns how many nodes went; nothing is added afterwards.
 */
size_t profile_cut(struct profile *profile, size_t most);

#endif
