/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads _Py_DebugOffsets, with which CPython 3.13 and later describe themselves to tools (struct _Py_DebugOffsets,
 * Include/internal/pycore_runtime.h).  The process wrote them, so every one is checked against the size of the
 * structure it points into.
 */
#include "target/python_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COOKIE "xdebugpy"

/* Indices of 64-bit words in 3.13's struct. */
enum {
	WORD_COOKIE = 0,
	WORD_VERSION = 1,
	WORD_FREE_THREADED = 2,
	WORD_RUNTIME_SIZE = 3,
	WORD_INTERPRETER_SIZE = 6,
	WORD_THREAD_SIZE = 19,
	WORD_FRAME_SIZE = 28,
	WORD_CODE_SIZE = 34,
	WORD_OBJECT_SIZE = 44,
	WORD_BYTES_SIZE = 64,
	WORD_UNICODE_SIZE = 67,
	WORD_COUNT = 73,
};

#define STRUCT_BYTES_MAX (16u << 20) /* _PyRuntimeState, the largest, has 0.4 MB in 3.13 */

static const struct {
	uint8_t word, size_word;
	uint8_t field, field_bytes; /* in struct gpt_pylayout */
} fields[] = {
#define FIELD(word, size_word, name)                                                                                   \
	{                                                                                                              \
		word, size_word, offsetof(struct gpt_pylayout, name), sizeof(((struct gpt_pylayout *)0)->name)         \
	}
	FIELD(5, WORD_RUNTIME_SIZE, runtime_interpreters_head),
	FIELD(8, WORD_INTERPRETER_SIZE, interp_next),
	FIELD(9, WORD_INTERPRETER_SIZE, interp_threads_head),
	FIELD(21, WORD_THREAD_SIZE, ts_next),
	FIELD(22, WORD_THREAD_SIZE, ts_interp),
	FIELD(23, WORD_THREAD_SIZE, ts_frame),
	FIELD(24, WORD_THREAD_SIZE, ts_thread_id),
	FIELD(25, WORD_THREAD_SIZE, ts_native_thread_id),
	FIELD(26, WORD_THREAD_SIZE, ts_datastack_chunk),
	FIELD(29, WORD_FRAME_SIZE, frame_back),
	FIELD(30, WORD_FRAME_SIZE, frame_code),
	FIELD(31, WORD_FRAME_SIZE, frame_instr),
	FIELD(32, WORD_FRAME_SIZE, frame_localsplus),
	FIELD(33, WORD_FRAME_SIZE, frame_owner),
	FIELD(35, WORD_CODE_SIZE, code_filename),
	FIELD(36, WORD_CODE_SIZE, code_name),
	FIELD(37, WORD_CODE_SIZE, code_qualname),
	FIELD(38, WORD_CODE_SIZE, code_linetable),
	FIELD(39, WORD_CODE_SIZE, code_first_line),
	FIELD(43, WORD_CODE_SIZE, code_instructions),
	FIELD(45, WORD_OBJECT_SIZE, object_type),
	FIELD(65, WORD_BYTES_SIZE, var_size),
	FIELD(66, WORD_BYTES_SIZE, bytes_data),
	FIELD(68, WORD_UNICODE_SIZE, str_state),
	FIELD(69, WORD_UNICODE_SIZE, str_length),
	FIELD(70, WORD_UNICODE_SIZE, str_ascii_data),
#undef FIELD
};

static int apply_fields(const uint64_t words[WORD_COUNT], struct gpt_pylayout *layout)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint64_t value = words[fields[i].word], size = words[fields[i].size_word];
		uint64_t limit = fields[i].field_bytes == sizeof(uint16_t) ? GPT_PY_ABSENT : UINT32_MAX;

		if (size > STRUCT_BYTES_MAX || value >= size || value >= limit)
			return -ERANGE;
		/* Little-endian: the low bytes come first. */
		memcpy((char *)layout + fields[i].field, &value, fields[i].field_bytes);
	}
	return 0;
}

int python_debug_offsets_apply(pid_t pid, uint64_t runtime, const struct python_version *version,
			       struct gpt_pylayout *layout, bool *free_threaded, char *why, size_t why_size)
{
	uint64_t words[WORD_COUNT];
	int64_t id_from_head = (int64_t)layout->interp_next_unique_id - (int64_t)layout->interp_threads_head;

	if (process_read_memory(pid, runtime, words, sizeof(words)))
		return -EAGAIN;
	if (memcmp(&words[WORD_COOKIE], COOKIE, sizeof(words[WORD_COOKIE]))) {
		snprintf(why, why_size, "has no debug offsets at _PyRuntime");
		return -ENOTSUP;
	}
	if (words[WORD_VERSION] != version->hex) {
		snprintf(why, why_size, "has debug offsets of another version (%#llx)",
			 (unsigned long long)words[WORD_VERSION]);
		return -ENOTSUP;
	}
	*free_threaded = words[WORD_FREE_THREADED] != 0;
	if (*free_threaded) {
		snprintf(why, why_size, "is a free-threaded build, which is not supported yet");
		return -ENOTSUP;
	}
	if (apply_fields(words, layout)) {
		snprintf(why, why_size, "has debug offsets that make no sense");
		return -ENOTSUP;
	}
	/* The counter is a neighbour of the list's head in struct pythreads (pycore_interp.h). */
	layout->interp_next_unique_id = (__u32)((int64_t)layout->interp_threads_head + id_from_head);
	return 0;
}
