/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace's own code as the target of a probe. */
#pragma once

#include <stdint.h>

/* Where code of this program is in its file (/proc/self/exe). */
uint64_t own_code_offset(uintptr_t code);
