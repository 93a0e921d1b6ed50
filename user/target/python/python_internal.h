/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files that implement python.h; private to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "target/image.h"
#include "target/python/python.h"

struct python_version {
	unsigned major, minor;
	int micro;	/* -1: not known */
	char suffix[8]; /* "", "rc1", "b2", "+" */
	bool early;	/* alpha or beta: layouts could still change after it */
	unsigned hex;	/* PY_VERSION_HEX, 0: not known */
};

/*
 * From Py_Version (3.11 and later), else from the name, else from the text in the image.  -ENOENT: no source gives it.
 * -ENOTSUP: two sources differ, `why` says how.
 */
int python_version_find(const struct image *image, const char *path, struct python_version *out, char *why,
			size_t why_size);

/* Fills in micro from the text in the image where only the name was known; errors as above. */
int python_version_refine(const struct image *image, struct python_version *version, char *why, size_t why_size);

/* "3.12.1", "3.9", "3.13.0rc1" */
void python_version_print(const struct python_version *version, char *text, size_t size);

/* One word of _Py_DebugOffsets: the offset, in a structure, of a member of `bytes` bytes. */
struct python_debug_word {
	uint8_t word, size_word;    /* indices of 64-bit words: the offset, the size of the structure */
	uint8_t bytes;		    /* also the member's alignment */
	uint8_t field_bytes, field; /* the field of struct gpt_pylayout that takes the offset */
};

/* The generated table: the words of a release series, NULL when it has none or is not known. */
const struct python_debug_word *python_debug_words(unsigned version /* major << 8 | minor */, size_t *count);

/*
 * Updates `layout` from the _Py_DebugOffsets at the start of _PyRuntime.  On entry it holds the table's row of this
 * release series, whose other members stay.  -EAGAIN: not readable yet.  -ENOTSUP: free-threaded, and *free_threaded is
 * set.  -EPROTO: the offsets are missing or wrong.  `why` says which.
 */
int python_debug_offsets_apply(pid_t pid, uint64_t runtime, const struct python_version *version,
			       struct gpt_pylayout *layout, bool *free_threaded, char *why, size_t why_size);

/* CPython 3.6: linked address of interp_head, the head of the list of interpreters; -ENOENT. */
int python_head_find(const struct image *image, uint64_t *head);

/* The same from the code of PyInterpreterState_Head, which is linked at `address`; for tests and fuzzing. */
bool python_head_decode(const uint8_t *code, size_t bytes, uint64_t address, uint64_t *head);
