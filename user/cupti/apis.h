/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The calls of cuda_api.h, looked up by CUPTI's callback ids. */
#pragma once

#include <stdint.h>

struct api_row {
	uint8_t domain, class; /* GPT_CLASS_NONE: an alias of a call that has its own row */
	uint16_t cbid;
};

/* Every call, its twin, and aliases of both; rows with cbid 0 are empty. */
extern const struct api_row apis_rows[];
extern const unsigned apis_count;

/* The GPT_API() number of a callback id; an alias gives the number of the call itself. */
uint16_t apis_of(uint32_t domain, uint32_t cbid);

/*
 * The enum gpt_api_class of a number from apis_of. NONE: starts or ends a capture; GPT_CLASS_COUNT: a call that
 * gputrace does not follow. Not thread-safe.
 */
unsigned apis_class(uint16_t api);

/*
 * The call classes that the activity sets need: bits of enum gpt_api_class, from bits of enum gpt_agent_activity_set.
 */
uint32_t apis_classes(unsigned activity_sets);
