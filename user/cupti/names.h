/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Kernel names, each once: a number for every text.  By content, never by address: CUPTI's pointers go stale
 * when a module is unloaded (until 13.4 Update 1).  Bounded; used by the agent's thread alone.
 */
#ifndef GPUTRACE_CUPTI_NAMES_H
#define GPUTRACE_CUPTI_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define NAMES_MAX 65536u	   /* different names */
#define NAMES_BYTES (16u << 20)	   /* of text in all */
#define NAMES_PAIR_MAX 4096u	   /* of a text and its second one; of longer ones the second is left out */
#define NAMES_TEXT_MAX (16u << 10) /* of one name; longer ones are truncated and counted as dropped */

struct names {
	struct name_slot *slots; /* open addressing */
	char *text;
	uint32_t count, used;
	uint32_t first_id; /* of this session: ids are never used twice in a process; 1 unless set after names_open */
};

struct name {
	uint32_t id; /* 0: no room */
	uint32_t bytes;
	const char *text; /* not terminated */
	bool fresh;	  /* seen for the first time */
	bool truncated;
};

/* Reserves the memory (touched only as names come); false: there is none. names_clear keeps ids unique. */
bool names_open(struct names *names);
void names_clear(struct names *names);
void names_close(struct names *names);

struct name names_intern(struct names *names, const char *text);

/* The same of a text with a second one after it, which begins after a 0; NULL: none. */
struct name names_intern_pair(struct names *names, const char *text, const char *second);

#endif
