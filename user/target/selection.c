/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "target/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "target/container.h"
#include "target/process.h"

#define COMM_MAX 15 /* TASK_COMM_LEN - 1, include/linux/sched.h */
#define CGROUP_ROOT "/sys/fs/cgroup"

int selection_add(struct selection *selection, enum selection_kind kind, const char *text)
{
	for (;; text++) {
		size_t size = strcspn(text, ",");

		if (!size)
			return -EINVAL;
		array_push(&selection->values[kind], xasprintf("%.*s", (int)size, text));
		text += size;
		if (!*text)
			return 0;
	}
}

void selection_free(struct selection *selection)
{
	for (size_t kind = 0; kind < SELECTION_KINDS; kind++) {
		array_free_items(&selection->values[kind]);
	}
}

bool selection_is_empty(const struct selection *selection)
{
	return !any_of(SELECTION_KINDS, kind, selection->values[kind].count);
}

char *selection_text(const struct selection *selection)
{
	static const char *const names[SELECTION_KINDS] = {[SELECTION_COMM] = "name",
							   [SELECTION_USER] = "user",
							   [SELECTION_CGROUP] = "cgroup",
							   [SELECTION_CONTAINER] = "container",
							   [SELECTION_POD] = "pod"};
	char *text = xstrdup("processes with CUDA");
	const char *before = " of";

	for (size_t kind = 0; kind < SELECTION_KINDS; kind++)
		for (size_t i = 0; i < selection->values[kind].count; i++) {
			char *longer = i ? xasprintf("%s or %s", text, selection->values[kind].items[i])
					 : xasprintf("%s%s %s %s", text, before, names[kind],
						     selection->values[kind].items[i]);

			free(text);
			text = longer;
			before = ",";
		}
	return text;
}

static bool fits_pattern(const char *pattern, const char *text)
{
	return *text && fnmatch(pattern, text, 0) == 0;
}

/* The kernel keeps no more of a name. */
static bool fits_comm(const char *value, const char *comm)
{
	return fits_pattern(value, comm) ||
	       (strlen(value) > COMM_MAX && !strncmp(value, comm, COMM_MAX) && strlen(comm) == COMM_MAX);
}

static bool fits_cgroup(const char *value, const char *cgroup)
{
	size_t size;

	if (!strncmp(value, CGROUP_ROOT "/", sizeof(CGROUP_ROOT)))
		value += sizeof(CGROUP_ROOT) - 1;
	if (fits_pattern(value, cgroup))
		return true;
	size = strlen(value);
	while (size && value[size - 1] == '/')
		size--;
	return *cgroup && !strncmp(value, cgroup, size) && (!cgroup[size] || cgroup[size] == '/');
}

static bool fits_container(const char *value, const struct process_facts *facts)
{
	return fits_pattern(value, facts->container_name) || fits_pattern(value, facts->container) ||
	       cgroup_has_container(facts->cgroup, value);
}

static bool fits_pod(const char *value, const struct process_facts *facts)
{
	const char *slash = strchr(facts->pod_name, '/');

	return fits_pattern(value, facts->pod_name) || fits_pattern(value, facts->pod) ||
	       (slash && fits_pattern(value, slash + 1));
}

bool selection_value_fits(enum selection_kind kind, const char *value, const struct process_facts *facts)
{
	switch (kind) {
	case SELECTION_COMM:
		return fits_comm(value, facts->comm);
	case SELECTION_USER:
		return facts->uid != UINT32_MAX && strtoul(value, NULL, 10) == facts->uid;
	case SELECTION_CGROUP:
		return fits_cgroup(value, facts->cgroup);
	case SELECTION_CONTAINER:
		return fits_container(value, facts);
	case SELECTION_POD:
		return fits_pod(value, facts);
	case SELECTION_KINDS:
		break;
	}
	return false;
}

static bool fits_kind(const struct selection *selection, enum selection_kind kind, const struct process_facts *facts)
{
	return any_of(selection->values[kind].count, i,
		      selection_value_fits(kind, selection->values[kind].items[i], facts)) ||
	       !selection->values[kind].count;
}

bool selection_fits(const struct selection *selection, const struct process_facts *facts)
{
	for (enum selection_kind kind = 0; kind < SELECTION_KINDS; kind++)
		if (!fits_kind(selection, kind, facts))
			return false;
	return true;
}

static bool fits_place(const struct selection *selection, pid_t pid)
{
	bool named = selection->values[SELECTION_CONTAINER].count || selection->values[SELECTION_POD].count;
	struct process_facts facts;
	struct process_place place;
	bool fits;

	if (process_place_read(pid, &place))
		return false;
	facts = (struct process_facts){.cgroup = place.cgroup};
	fits = fits_kind(selection, SELECTION_CGROUP, &facts);
	if (fits && named) {
		process_place_find_names(pid, &place);
		facts.container = place.container;
		facts.container_name = place.container_name;
		facts.pod = place.pod;
		facts.pod_name = place.pod_name;
		fits = fits_kind(selection, SELECTION_CONTAINER, &facts) && fits_kind(selection, SELECTION_POD, &facts);
	}
	process_place_free(&place);
	return fits;
}

bool selection_fits_process(const struct selection *selection, pid_t pid)
{
	bool placed = selection->values[SELECTION_CGROUP].count || selection->values[SELECTION_CONTAINER].count ||
		      selection->values[SELECTION_POD].count;
	struct process_facts facts = {.uid = UINT32_MAX};
	struct process_owner owner;
	char comm[COMM_MAX + 1];

	if (selection_is_empty(selection))
		return true;
	process_name(pid, comm, sizeof(comm));
	facts.comm = comm;
	if (selection->values[SELECTION_USER].count && !process_owner(pid, &owner))
		facts.uid = owner.uid;
	return fits_kind(selection, SELECTION_COMM, &facts) && fits_kind(selection, SELECTION_USER, &facts) &&
	       (!placed || fits_place(selection, pid));
}
