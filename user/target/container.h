/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a process runs: its cgroup, and the container and pod that the cgroup's path names.  The path is the kernel's;
 * names of containers and pods are what the container runtimes and the kubelet have written about them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Texts are never NULL; "": not known, or not in one. Free with process_place_free. */
struct process_place {
	char *cgroup;	      /* path below the cgroup root that gputrace sees: /system.slice/docker-3f2a....scope */
	char *container;      /* the innermost one: 64 hexadecimal digits, or the name of a machine (LXC, nspawn) */
	char *container_name; /* as `docker ps` or `crictl ps` has it */
	char *pod;	      /* its uid, with dashes */
	char *pod_name;	      /* "namespace/name", or "name" where only the kubelet's folder is readable */
};

/* Everything but the two names. 0 or -errno */
int process_place_read(pid_t pid, struct process_place *out);

/* The same from the text of /proc/PID/cgroup (cgroups(7)). */
void process_place_parse(const char *text, struct process_place *out);

/* Finds the two names (container_names.c): in files below /run, /var/lib and /var/log, which mostly only root may read.
 */
void process_place_find_names(pid_t pid, struct process_place *place);
void process_place_free(struct process_place *place);

/*
 * Whether one of the containers in a cgroup's path has this id: a process of a container within a container is in both.
 * wanted: CONTAINER_ID_LEAST to 64 hexadecimal digits, the first of the id.
 */
#define CONTAINER_ID_LEAST 4
bool cgroup_has_container(const char *cgroup, const char *wanted);
