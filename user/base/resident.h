/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that this process has. */
#pragma once

#include <stdint.h>

/* As VmRSS in /proc/self/status: all of it, also what it shares; 0: not known. */
uint64_t resident_bytes(void);
