/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads _Py_DebugOffsets, with which CPython 3.13 and later describe themselves to tools (pycore_runtime.h in 3.13,
 * pycore_debug_offsets.h since).  The meaning of each word differs by series, see python_debug_words.c.  The words are
 * not trusted: each offset is checked against the size of its structure.
 */
#include "target/python/python_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target/python/python_parts.h"

#define COOKIE "xdebugpy"

/* The first words are the same in every series. */
enum {
	WORD_COOKIE,
	WORD_VERSION,
	WORD_FREE_THREADED,
	WORDS_MAX = 96, /* the last word used is number 93, in 3.15 */
};

#define STRUCT_BYTES_MAX (16u << 20) /* _PyRuntimeState, the largest, has 0.4 MB in 3.13 */

/* 0: every offset is aligned, its member lies within the structure, and it fits into its field of the layout. */
static int apply_words(const uint64_t words[WORDS_MAX], const struct python_debug_word *list, size_t count,
		       struct gpt_pylayout *layout)
{
	for (size_t i = 0; i < count; i++) {
		const struct python_debug_word *at = &list[i];
		uint64_t limit = at->field_bytes == sizeof(uint16_t) ? GPT_PY_ABSENT : UINT32_MAX, value, size;

		if (at->word >= WORDS_MAX || at->size_word >= WORDS_MAX)
			return -ERANGE;
		value = words[at->word];
		size = words[at->size_word];
		if (size > STRUCT_BYTES_MAX || value > size || size - value < at->bytes || value >= limit ||
		    value % at->bytes)
			return -ERANGE;
		/* Little-endian: the low bytes come first. */
		memcpy((char *)layout + at->field, &value, at->field_bytes);
	}
	return 0;
}

/* Whether a str's head, which is read as a whole, has the members that are taken from it. */
static bool has_str_head(const struct gpt_pylayout *layout)
{
	return layout->str_ascii_data <= PYTHON_STR_HEAD_MAX && layout->str_state + 4u <= layout->str_ascii_data &&
	       layout->str_length + 8u <= layout->str_ascii_data && layout->object_type + 8u <= layout->str_ascii_data;
}

/* Whether all offsets are within reach of the walker and of gputrace dump; no CPython has larger ones. */
static bool is_walkable(const struct gpt_pylayout *layout)
{
	return layout->ts_frame <= GPT_PY_THREAD_BYTES_MAX - 8 && layout->ts_thread_id <= GPT_PY_THREAD_BYTES_MAX - 8 &&
	       layout->ts_next <= GPT_PY_THREAD_BYTES_MAX - 8 && layout->ts_interp <= GPT_PY_THREAD_BYTES_MAX - 8 &&
	       layout->ts_datastack_chunk <= GPT_PY_THREAD_BYTES_MAX - 24 &&
	       layout->frame_localsplus <= GPT_PY_FRAME_BYTES_MAX && layout->frame_back < layout->frame_localsplus &&
	       layout->frame_code < layout->frame_localsplus && layout->frame_instr < layout->frame_localsplus &&
	       layout->frame_owner < layout->frame_localsplus;
}

int python_debug_offsets_apply(pid_t pid, uint64_t runtime, const struct python_version *version,
			       struct gpt_pylayout *layout, bool *free_threaded, char *why, size_t why_size)
{
	uint64_t words[WORDS_MAX];
	int64_t id_from_head = (int64_t)layout->interp_next_unique_id - (int64_t)layout->interp_threads_head;
	size_t count = 0;
	const struct python_debug_word *list = python_debug_words(layout->version, &count);

	if (process_read_memory(pid, runtime, words, sizeof(words)))
		return -EAGAIN;
	if (memcmp(&words[WORD_COOKIE], COOKIE, sizeof(words[WORD_COOKIE]))) {
		snprintf(why, why_size, "has no debug offsets at _PyRuntime");
		return -EPROTO;
	}
	if (words[WORD_VERSION] != version->hex) {
		snprintf(why, why_size, "has debug offsets of another version (%#llx)",
			 (unsigned long long)words[WORD_VERSION]);
		return -EPROTO;
	}
	*free_threaded = words[WORD_FREE_THREADED] != 0;
	if (*free_threaded) {
		snprintf(why, why_size, "is a free-threaded build, which is not supported");
		return -ENOTSUP;
	}
	if (!list || apply_words(words, list, count, layout) || !is_walkable(layout) || !has_str_head(layout) ||
	    (int64_t)layout->interp_threads_head + id_from_head < 0) {
		snprintf(why, why_size, "has debug offsets that make no sense");
		return -EPROTO;
	}
	/* The counter is a neighbour of the list's head in struct pythreads (pycore_interp.h). */
	layout->interp_next_unique_id = (__u32)((int64_t)layout->interp_threads_head + id_from_head);
	return 0;
}
