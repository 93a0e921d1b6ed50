/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of containers and pods, from the files in which the runtimes keep them:
 *
 *	/var/lib/docker/containers/ID/config.v2.json	Docker ("Name": "/web")
 *	/run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json	containerd (annotations)
 *	/run/containers/storage/overlay-containers/ID/userdata/config.json	CRI-O (annotations)
 *	/var/lib/containers/storage/overlay-containers/containers.json	Podman, CRI-O ("id", "names")
 *	~/.local/share/containers/storage/overlay-containers/containers.json	Podman of a user (also vfs-containers)
 *	/var/log/pods/NAMESPACE_NAME_UID/	the kubelet
 *	/var/lib/kubelet/pods/UID/etc-hosts	the kubelet (the last host is the pod)
 */
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json/json.h"
#include "base/read_at.h"
#include "target/container.h"
#include "target/process.h"

#define FILE_MAX (4 << 20) /* bytes; containers.json has a few hundred for each container */

static bool is_unknown(const char *text)
{
	return !*text;
}

static void set_text(char **out, const char *bytes, size_t size)
{
	if (!is_unknown(*out) || !size)
		return;
	free(*out);
	*out = xasprintf("%.*s", (int)size, bytes);
	process_clean_controls(*out, strlen(*out));
}

static void set_json(char **out, const struct json_text *text)
{
	text_buffer buffer = {0};

	json_unescape(&buffer, text);
	set_text(out, buffer.items, buffer.count);
	array_free(&buffer);
}

/* ---- files of runtimes ------------------------------------------------------------------------------------------- */

/* A runtime's, which is root. */
static int open_roots(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Reads the whole of a regular file; false, and it is closed: there is none, or it is too large. */
static bool read_document(int fd, struct json *json)
{
	struct stat stat;

	if (fd < 0)
		return false;
	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) || stat.st_size > FILE_MAX) {
		close(fd);
		return false;
	}
	json_open(json, fd);
	while (json_refill(json, json->buffer) && json->end - json->buffer <= FILE_MAX)
		;
	json->at = json->buffer;
	json->stopped = false;
	return true;
}

/* Calls read for each member of the document, until it returns false. */
static void read_members(struct process_place *place, const char *path,
			 bool (*read)(struct json *json, const struct json_text *key, struct process_place *place))
{
	struct json_text key;
	int fd = open_roots(path);
	bool first = true;
	struct json json;

	if (!read_document(fd, &json))
		return;
	while (!json.error && json_member(&json, &first, &key) && read(&json, &key, place))
		;
	json_close(&json);
	close(fd);
}

static bool read_docker(struct json *json, const struct json_text *key, struct process_place *place)
{
	struct json_text text;

	if (!JSON_IS(key, "Name") || json_peek(json) != '"')
		return json_skip(json);
	if (!json_string(json, &text))
		return false;
	if (JSON_BEGINS(&text, "/"))
		text.bytes++, text.size--;
	set_json(&place->container_name, &text);
	return false;
}

/* Parts of a pod's name, which have annotations of their own. */
struct annotations {
	char *namespace, *name;
};

static char **find_annotation(const struct json_text *key, struct process_place *place, struct annotations *pod)
{
	if (JSON_IS(key, "io.kubernetes.cri.container-name") || JSON_IS(key, "io.kubernetes.container.name") ||
	    JSON_IS(key, "nerdctl/name"))
		return &place->container_name;
	if (JSON_IS(key, "io.kubernetes.cri.sandbox-name") || JSON_IS(key, "io.kubernetes.pod.name"))
		return &pod->name;
	if (JSON_IS(key, "io.kubernetes.cri.sandbox-namespace") || JSON_IS(key, "io.kubernetes.pod.namespace"))
		return &pod->namespace;
	return NULL;
}

static void set_pod(struct process_place *place, const char *namespace, size_t namespace_size, const char *name,
		    size_t size)
{
	AUTO_FREE char *text = xasprintf("%.*s/%.*s", (int)namespace_size, namespace, (int)size, name);

	set_text(&place->pod_name, text, strlen(text));
}

/* The file of the OCI runtime specification, config.json. */
static bool read_oci(struct json *json, const struct json_text *key, struct process_place *place)
{
	struct annotations pod = {xstrdup(""), xstrdup("")};
	struct json_text name, value;
	bool first = true;

	if (JSON_IS(key, "annotations") && json_peek(json) == '{')
		while (json_member(json, &first, &name)) {
			char **out = find_annotation(&name, place, &pod);

			if (json_peek(json) != '"' ? !json_skip(json) : !json_string(json, &value))
				break;
			if (out && json_peek(json))
				set_json(out, &value);
		}
	else
		json_skip(json);
	if (*pod.name && *pod.namespace)
		set_pod(place, pod.namespace, strlen(pod.namespace), pod.name, strlen(pod.name));
	free(pod.name);
	free(pod.namespace);
	return !json->stopped;
}

/* An element of containers.json; its names may stand before its id. */
static bool read_stored(struct json *json, struct process_place *place)
{
	struct json_text key, text, name = {0};
	bool first = true, first_name = true, is_it = false;

	while (json_member(json, &first, &key)) {
		if (JSON_IS(&key, "id") && json_peek(json) == '"') {
			if (!json_string(json, &text))
				return false;
			is_it = json_is(&text, place->container, strlen(place->container));
		} else if (JSON_IS(&key, "names") && json_peek(json) == '[') {
			while (json_element(json, &first_name))
				if (json_peek(json) != '"' ? !json_skip(json) : !json_string(json, &name))
					return false;
		} else if (!json_skip(json)) {
			return false;
		}
	}
	if (is_it && name.size)
		set_json(&place->container_name, &name);
	return !json->stopped;
}

/* Takes ownership of the descriptor. */
static void find_stored(struct process_place *place, int fd)
{
	bool first = true;
	struct json json;

	if (!read_document(fd, &json))
		return;
	while (!json.error && json_element(&json, &first) && json_peek(&json) == '{' && read_stored(&json, place))
		;
	json_close(&json);
	close(fd);
}

/* The caller frees it; NULL: /etc/passwd has no such user. */
static char *home_of(unsigned uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry, *found;
	char text[1024], *home = NULL;

	while (file && !home && !fgetpwent_r(file, &entry, text, sizeof(text), &found))
		if (entry.pw_uid == uid)
			home = xstrdup(entry.pw_dir);
	if (file)
		fclose(file);
	return home;
}

/* Podman of a user, in whose slice its containers are. */
static void find_stored_by_user(pid_t pid, struct process_place *place)
{
	static const char user[] = "/user.slice/user-", *const kinds[] = {"overlay", "vfs"};
	AUTO_FREE char *home = NULL;
	char *end;
	unsigned long uid;

	if (strncmp(place->cgroup, user, strlen(user)) != 0)
		return;
	uid = strtoul(place->cgroup + strlen(user), &end, 10);
	home = strncmp(end, ".slice/", strlen(".slice/")) ? NULL : home_of((unsigned)uid);
	for (size_t i = 0; home && i < sizeof(kinds) / sizeof(kinds[0]) && is_unknown(place->container_name); i++) {
		AUTO_FREE char *path =
			xasprintf("%s/.local/share/containers/storage/%s-containers/containers.json", home, kinds[i]);

		find_stored(place, user_open_file(pid, (uid_t)uid, path));
	}
}

/* Containerd has a folder for each of its namespaces: k8s.io, moby, default. */
static void find_containerd(struct process_place *place)
{
	static const char tasks[] = "/run/containerd/io.containerd.runtime.v2.task";
	DIR *folder = opendir(tasks);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		AUTO_FREE char *path = NULL;

		if (entry->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s/%s/config.json", tasks, entry->d_name, place->container);
		read_members(place, path, read_oci);
	}
	if (folder)
		closedir(folder);
}

static void find_container(pid_t pid, struct process_place *place)
{
	AUTO_FREE char *docker = xasprintf("/var/lib/docker/containers/%s/config.v2.json", place->container);
	AUTO_FREE char *crio =
		xasprintf("/run/containers/storage/overlay-containers/%s/userdata/config.json", place->container);

	read_members(place, docker, read_docker);
	find_containerd(place);
	read_members(place, crio, read_oci);
	if (is_unknown(place->container_name))
		find_stored(place, open_roots("/var/lib/containers/storage/overlay-containers/containers.json"));
	if (is_unknown(place->container_name))
		find_stored_by_user(pid, place);
}

/* ---- folders of the kubelet -------------------------------------------------------------------------------------- */

static void find_log_folder(struct process_place *place)
{
	DIR *folder = opendir("/var/log/pods");
	const struct dirent *entry;

	while (folder && is_unknown(place->pod_name) && (entry = readdir(folder))) {
		const char *name = strchr(entry->d_name, '_'), *uid = strrchr(entry->d_name, '_');

		if (name && uid > name && !strcmp(uid + 1, place->pod))
			set_pod(place, entry->d_name, (size_t)(name - entry->d_name), name + 1,
				(size_t)(uid - name - 1));
	}
	if (folder)
		closedir(folder);
}

static void find_hosts(struct process_place *place)
{
	char *path = xasprintf("/var/lib/kubelet/pods/%s/etc-hosts", place->pod), text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int64_t size = fd < 0 ? -1 : read_at(fd, text, sizeof(text) - 1, 0);
	const char *last = NULL;

	if (fd >= 0)
		close(fd);
	free(path);
	if (size <= 0)
		return;
	text[size] = '\0';
	for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (*line && *line != '#')
			last = line;
	if (!last || !(last = strpbrk(last, " \t")))
		return;
	last += strspn(last, " \t");
	set_text(&place->pod_name, last, strcspn(last, " \t"));
}

void process_place_find_names(pid_t pid, struct process_place *place)
{
	if (!is_unknown(place->container))
		find_container(pid, place);
	if (is_unknown(place->pod))
		return;
	if (is_unknown(place->pod_name))
		find_log_folder(place);
	if (is_unknown(place->pod_name))
		find_hosts(place);
}
