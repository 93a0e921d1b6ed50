/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The CUPTI and the CUDA runtime that a process has mapped, and their versions by file name. */
#pragma once

#include <stdint.h>

#define MAPPED_PATH_BYTES 512u /* including the NUL; a longer path counts as none */

struct mapped_files {
	char cupti[2][MAPPED_PATH_BYTES]; /* "" none; a second one may belong to another CUDA major */
	char cudart[MAPPED_PATH_BYTES];
};

/* Finds them in the text of /proc/PID/maps; called with one line at a time. */
void mapped_files_line(struct mapped_files *files, const char *line);

/* The major and minor in a file name, as CUDA counts: "libcudart.so.12.4.127" gives 12040; 0: none. */
uint32_t cuda_version_of_name(const char *path, const char *library);

/* Into MAPPED_PATH_BYTES; "" where it is too long. */
void mapped_path_copy(char *to, const char *from);
