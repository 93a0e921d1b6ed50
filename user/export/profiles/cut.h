/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reduces a profile with too many different stacks for its viewer: the smallest ones become part of those above them.
 */
#pragma once

#include "export/profiles/profile.h"

/*
 * Leaves at most `most` nodes, and one more.  Drops frames, with all below them, that have less than a certain share of
 * each value; the share is the smallest that suffices.  A dropped frame's values go to its parent, or to a node
 * "[smaller stacks]" if it has none.  Sums stay the same.  Returns the number of dropped nodes; nothing may be added
 * afterwards.
 */
size_t profile_cut(struct profile *profile, size_t most);
