/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cgroup paths that were seen, by component: Docker "docker-ID.scope" and "docker/ID", Podman "libpod-ID.scope",
 * containerd "cri-containerd-ID.scope", "nerdctl-ID.scope" and "...:cri-containerd:ID", CRI-O "crio-ID.scope"; LXC
 * "lxc/NAME" and "lxc.payload.NAME", systemd-nspawn "machine-NAME.scope"; pods "podUID" and
 * "kubepods-burstable-podUID.slice".  A container's monitor ("libpod-conmon-ID.scope") is not in it.
 */
#include "target/container.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "target/process.h"

#define ID_DIGITS 64u
#define POD_LEAST 32u /* digits; the uid of a static pod has no dashes */
#define POD_MAX 36u
#define CGROUP_TEXT_MAX 16384u /* of /proc/PID/cgroup: cgroup v1 has a line for each of a dozen hierarchies */

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/* A component of a path. */
struct component {
	const char *at;
	size_t size;
};

static bool component_starts_with(struct component component, const char *text)
{
	size_t size = strlen(text);

	return component.size >= size && !memcmp(component.at, text, size);
}

static struct component drop_first(struct component component, size_t bytes)
{
	return (struct component){component.at + bytes, component.size - bytes};
}

static struct component drop_suffix(struct component component, const char *suffix)
{
	size_t size = strlen(suffix);

	if (component.size > size && !memcmp(component.at + component.size - size, suffix, size))
		component.size -= size;
	return component;
}

static size_t count_digits(struct component component)
{
	size_t count = 0;

	while (count < component.size && isxdigit((unsigned char)component.at[component.size - 1 - count]))
		count++;
	return count;
}

/* The id of the container whose component it is; size 0: of none. */
static struct component id_of(struct component component)
{
	component = drop_suffix(component, ".scope");
	if (memmem(component.at, component.size, "conmon-", 7) || component.size < ID_DIGITS ||
	    count_digits(component) != ID_DIGITS)
		return (struct component){0};
	return drop_first(component, component.size - ID_DIGITS);
}

/* The name of a machine, which has no id; parent: the component before. */
static struct component machine_of(struct component parent, struct component component)
{
	if (parent.size == 3 && component_starts_with(parent, "lxc"))
		return component;
	if (component_starts_with(component, "lxc.payload."))
		return drop_first(component, strlen("lxc.payload."));
	if (component_starts_with(component, "machine-") && drop_suffix(component, ".scope").size < component.size)
		return drop_first(drop_suffix(component, ".scope"), strlen("machine-"));
	return (struct component){0};
}

static size_t count_pod_digits(const char *at, size_t most)
{
	size_t count = 0;

	while (count < most && (isxdigit((unsigned char)at[count]) || at[count] == '-' || at[count] == '_'))
		count++;
	return count;
}

/* The uid of the pod whose component it is; size 0: of none. */
static struct component pod_of(struct component component)
{
	if (!component_starts_with(component, "kubepods") && !component_starts_with(component, "pod"))
		return (struct component){0};
	for (size_t i = 0; i + 3 < component.size; i++) {
		const char *uid = component.at + i + 3;
		size_t left = component.size - i - 3, size = count_pod_digits(uid, left);

		if (!memcmp(component.at + i, "pod", 3) && size >= POD_LEAST && size <= POD_MAX &&
		    (size == left || uid[size] == '.'))
			return (struct component){uid, size};
	}
	return (struct component){0};
}

static char *copy_of(struct component component)
{
	char *text = xmalloc(component.size + 1);

	memcpy(text, component.at, component.size);
	text[component.size] = '\0';
	process_clean_controls(text, component.size);
	return text;
}

/* The next component of a path; false: there is none. */
static bool next_component(const char **at, struct component *out)
{
	while (**at == '/')
		++*at;
	out->at = *at;
	out->size = strcspn(*at, "/");
	*at += out->size;
	return out->size != 0;
}

static void replace_text(char **text, struct component component)
{
	free(*text);
	*text = copy_of(component);
}

/* Finds container and pod in the path. */
static void parse_path(struct process_place *place)
{
	struct component component, parent = {"", 0};
	const char *at = place->cgroup;

	for (; next_component(&at, &component); parent = component) {
		struct component id = id_of(component), machine = machine_of(parent, component);
		struct component pod = pod_of(component);

		if (id.size || machine.size)
			replace_text(&place->container, id.size ? id : machine);
		if (pod.size) {
			replace_text(&place->pod, pod);
			for (char *c = place->pod; *c; c++)
				*c = *c == '_' ? '-' : *c;
		}
	}
}

bool cgroup_has_container(const char *cgroup, const char *wanted)
{
	size_t size = strlen(wanted);
	struct component component;

	if (size < CONTAINER_ID_LEAST || size > ID_DIGITS)
		return false;
	while (next_component(&cgroup, &component)) {
		struct component id = id_of(component);

		if (id.size && !strncasecmp(id.at, wanted, size))
			return true;
	}
	return false;
}

static void begin_place(struct process_place *out)
{
	*out = (struct process_place){xstrdup(""), xstrdup(""), xstrdup(""), xstrdup(""), xstrdup("")};
}

static void parse_line(struct process_place *out, struct component path)
{
	begin_place(out);
	replace_text(&out->cgroup, drop_suffix(path, " (deleted)"));
	parse_path(out);
}

/* How much a line of /proc/PID/cgroup says about where the process is. */
static int rank_of(const struct process_place *place, bool unified)
{
	return *place->container ? 3 : !strcmp(place->cgroup, "/") ? 0 : unified ? 2 : 1;
}

/*
 * A process has a path in each hierarchy.  The one that names a container is taken, as Docker on cgroup v1 leaves the
 * others alone; else the one of cgroup v2, else the first below the root.
 */
void process_place_parse(const char *text, struct process_place *out)
{
	struct component best = {"", 0};
	int most = -1;

	for (const char *end; *text; text = end + (*end == '\n')) {
		struct component path;
		struct process_place place;
		int rank;

		end = text + strcspn(text, "\n");
		path.at = memchr(text, '/', (size_t)(end - text));
		if (!path.at)
			continue;
		path.size = (size_t)(end - path.at);
		parse_line(&place, path);
		rank = rank_of(&place, !strncmp(text, "0::", 3));
		process_place_free(&place);
		if (rank > most) {
			best = path;
			most = rank;
		}
	}
	parse_line(out, best);
}

int process_place_read(pid_t pid, struct process_place *out)
{
	char text[CGROUP_TEXT_MAX];
	ssize_t size = process_read_file(pid, "cgroup", text, sizeof(text));

	if (size < 0)
		return (int)size;
	process_place_parse(text, out);
	return 0;
}

void process_place_free(struct process_place *place)
{
	free(place->cgroup);
	free(place->container);
	free(place->container_name);
	free(place->pod);
	free(place->pod_name);
}
