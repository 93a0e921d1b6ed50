/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the CPython in a process and says how to walk its frames, or why it cannot be walked.  It does not guess: a
 * version or a layout that is not known exactly is refused.
 */
#pragma once

#include <gputrace/python.h>

#include "target/process.h"

struct python_info {
	struct gpt_python walk;
	char version[32];	 /* "3.12.1" */
	char *path;		 /* libpython or the executable, in the target's mount namespace */
	dev_t device;		 /* of that file, as in /proc/PID/maps */
	uint64_t inode;		 /* 0: no file was found that can be probed */
	uint64_t dealloc_offset; /* file offset of a cheap probe site at the entry of code objects' tp_dealloc (rdi is
				  * the object there); 0: not found */
	uint64_t bias;		 /* load bias of that file; valid when walk.runtime is not 0 */
	bool free_threaded;
};

/*
 * 0: found and supported.  -ENOENT: no interpreter is mapped.  -ENOTSUP: an interpreter that can never be walked;
 * `why` says which and why (version, free-threaded, no _PyRuntime).  -EPROTO: its memory does not have the layout of
 * its version, or not yet, as it may be starting; `why` says which and why.  -EAGAIN: not initialised yet; `walk` is
 * filled in from version and file (runtime 0: not even that), and not checked against the interpreter's state.
 * Free *out with python_info_free in any case.
 */
int python_find(pid_t pid, const struct mappings *mappings, struct python_info *out, char *why, size_t why_size);

/*
 * The same for one file of any name, by its first mapping: an engine that embeds CPython and exports it.
 * before: the result so far, which stays in *out unless this one is better: extensions may have pulled in a libpython
 * that nothing runs.
 */
int python_find_in(pid_t pid, const struct mappings *mappings, const struct mapping *mapping, int before,
		   struct python_info *out, char *why, size_t why_size);
void python_info_free(struct python_info *info);

/* The generated table: layout of a release series ("3.8" .. "3.12"), NULL when not known. */
const struct gpt_pylayout *python_layout(unsigned version /* major << 8 | minor */);
