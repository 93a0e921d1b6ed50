/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Starts and ends the process that calls NVML (nvml/program.c).  Its program is a part of gputrace's own file and is
 * executed from memory.  docs/security.md says what it may do, and which libraries it loads.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "nvml/feed.h"

struct nvml_process_of {
	pid_t pid;  /* 0: none */
	int socket; /* -1; else what it sends */
};

/*
 * libraries: paths and names to try, NULL at the end; library_path: its LD_LIBRARY_PATH, NULL: none.  -errno: it cannot
 * be started.
 */
int nvml_process_start(const char *const *libraries, const char *library_path, struct nvml_process_of *process);

/*
 * One message into `message`: 1; 0: none now; -EPIPE: it has ended, and all that it sent was received.  A message of
 * another size is not of this program: its kind is 0.
 */
int nvml_process_receive(const struct nvml_process_of *process, struct nvml_message *message);

/* Kills it, and waits for its end, but not for long: it may be in a call of the driver. */
void nvml_process_end(struct nvml_process_of *process);

/* The libraries of this machine, to be tried in that order; ends with NULL. */
const char *const *nvml_libraries(void);

/* The kernel has NVIDIA's driver, whose library may still be missing in a container. */
bool nvml_driver_loaded(void);
