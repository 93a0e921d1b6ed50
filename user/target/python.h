/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the CPython in a process and says how to walk its frames, or why it cannot be walked.  Refuses to
 * guess: a version or a layout that is not known exactly is reported as such.
 */
#ifndef GPUTRACE_TARGET_PYTHON_H
#define GPUTRACE_TARGET_PYTHON_H

#include <gputrace/python.h>

#include "target/process.h"

struct python_info {
	struct gpt_python walk;
	char version[32];	 /* "3.12.1" */
	char *path;		 /* libpython or the executable, in the target's mount namespace */
	dev_t device;		 /* that file, as /proc/PID/maps has it */
	uint64_t inode;		 /* 0: none was found that can be probed */
	uint64_t dealloc_offset; /* file offset of a cheap probe site at code objects' tp_dealloc entry (rdi is the
				  * object there); 0: not found */
	uint64_t bias;		 /* of that file: what to add to a linked address; valid where walk.runtime is not 0 */
	bool free_threaded;
};

/*
 * 0: found and supported. -ENOENT: no interpreter mapped. -ENOTSUP: an interpreter that can never be walked,
 * `why` says which and why (version, free-threaded, no _PyRuntime). -EPROTO: what is in memory is not what its version
 * says, or not yet: it may be starting; `why` says which and why. -EAGAIN: it is there but not initialised yet; `walk`
 * is what its version and file say (runtime 0: not even that), without a check against its state.
 * Free *out with python_info_free in any case.
 */
int python_find(pid_t pid, const struct mappings *mappings, struct python_info *out, char *why, size_t why_size);

/*
 * The same of one file, by its first mapping, whatever its name: an engine that has CPython inside and exports it.
 * before: what was found until now, which stays in *out unless this is better, as extensions may have pulled in a
 * libpython that no one runs.
 */
int python_find_in(pid_t pid, const struct mappings *mappings, const struct mapping *mapping, int before,
		   struct python_info *out, char *why, size_t why_size);
void python_info_free(struct python_info *info);

/* The generated table: layout of a release series ("3.8" .. "3.12"), NULL when not known. */
const struct gpt_pylayout *python_layout(unsigned version /* major << 8 | minor */);

#endif
