/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Where the agent's batches go. */
#pragma once

#include "cupti/batch.h"

/* For batch.send: to the collector, if it listens. */
void batch_to_collector(struct batch *batch);
