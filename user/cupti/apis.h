/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The calls of cuda_api.h by CUPTI's callback ids. */
#ifndef GPUTRACE_CUPTI_APIS_H
#define GPUTRACE_CUPTI_APIS_H

#include <stdint.h>

struct api_row {
	uint8_t domain, class; /* GPT_CLASS_NONE: another id of a call that has its own row */
	uint16_t cbid;
};

/* Every call, its twin, and other ids of them; a cbid of 0 is none. */
extern const struct api_row apis_rows[];
extern const unsigned apis_count;

/* GPT_API() of a callback id, with the table's own number where it is another of the same call. */
uint16_t apis_of(uint32_t domain, uint32_t cbid);

/* enum gpt_api_class of what apis_of gave, NONE: begin or end of a capture; GPT_CLASS_COUNT: none of gputrace's. Not
 * for several threads at once. */
unsigned apis_class(uint16_t api);

/* Bits of enum gpt_api_class: the calls that belong to what must be taken (bits of enum gpt_agent_activity_set). */
uint32_t apis_classes(unsigned activity_sets);

#endif
