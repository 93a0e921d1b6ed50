/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Kernel names, each kept once and numbered.  Compared by content, never by address: CUPTI's pointers go stale when a
 * module is unloaded (until 13.4 Update 1).  Bounded; used by the agent's thread alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NAMES_MAX 65536u	   /* different names */
#define NAMES_BYTES (16u << 20)	   /* bytes of all texts */
#define NAMES_PAIR_MAX 4096u	   /* bytes of both texts of a pair; if longer, the second is left out */
#define NAMES_TEXT_MAX (16u << 10) /* bytes of one name; longer ones are truncated and counted as dropped */

struct names {
	struct name_slot *slots; /* open addressing */
	char *text;
	uint32_t count, used;
	uint32_t first_id; /* first id of this session: ids are never reused in a process; 1 unless set later */
	uint64_t seed;	   /* of the hash: not 0 where another process chooses the texts */
};

struct name {
	uint32_t id; /* 0: no room */
	uint32_t bytes;
	const char *text; /* not terminated */
	bool fresh;	  /* seen for the first time */
	bool truncated;
};

/* Reserves the memory (pages are touched only as names arrive); false: out of memory.  names_clear keeps ids unique. */
bool names_open(struct names *names);
void names_clear(struct names *names);
void names_close(struct names *names);

/* A text; or a text, a NUL and a second text.  second: NULL where there is none. */
struct name names_intern_pair(struct names *names, const char *text, const char *second);
