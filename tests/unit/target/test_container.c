/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cgroup paths of container runtimes, files with the names of containers, and the choice of processes by both. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/container.h"
#include "target/selection.h"

#define ID "3f2a9c0011223344556677889900aabbccddeeff00112233445566778899aabb"
#define OTHER "77777777777777777777777777777777777777777777777777777777777777aa"
#define POD "0a1b2c3d-1111-2222-3333-444455556666"
#define POD_UNDERSCORES "0a1b2c3d_1111_2222_3333_444455556666"

static void assert_place(const char *text, const char *cgroup, const char *container, const char *pod)
{
	struct process_place place;

	process_place_parse(text, &place);
	assert_string_equal(place.cgroup, cgroup);
	assert_string_equal(place.container, container);
	assert_string_equal(place.pod, pod);
	process_place_free(&place);
}

/* The path alone, on cgroup v2. */
static void assert_path(const char *path, const char *container, const char *pod)
{
	char text[512];

	snprintf(text, sizeof(text), "0::%s\n", path);
	assert_place(text, path, container, pod);
}

static void containers_are_known_by_their_cgroup(void **state)
{
	assert_path("/system.slice/docker-" ID ".scope", ID, "");
	assert_path("/docker/" ID, ID, "");
	assert_path("/machine.slice/libpod-" ID ".scope/container", ID, "");
	assert_path("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID, "");
	assert_path("/system.slice/nerdctl-" ID ".scope", ID, "");
	assert_path("/default/" ID, ID, "");
	assert_path("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_UNDERSCORES
		    ".slice/cri-containerd-" ID ".scope",
		    ID, POD);
	assert_path("/kubepods/besteffort/pod" POD "/" ID, ID, POD);
	assert_path("/kubepods.slice/kubepods-pod" POD_UNDERSCORES ".slice/crio-" ID ".scope", ID, POD);
	assert_path("/system.slice/containerd.service/kubepods-besteffort-pod" POD_UNDERSCORES
		    ".slice:cri-containerd:" ID,
		    ID, POD);
	assert_path("/kubepods/pod0123456789abcdef0123456789abcdef/" ID, ID, "0123456789abcdef0123456789abcdef");
	assert_path("/lxc/web/init.scope", "web", "");
	assert_path("/lxc.payload.web/system.slice/ssh.service", "web", "");
	assert_path("/machine.slice/machine-deb12.scope/payload", "deb12", "");
	assert_path("/docker/" OTHER "/docker/" ID, ID, "");
}

static void other_cgroups_are_no_containers(void **state)
{
	assert_path("/", "", "");
	assert_path("/user.slice/user-1000.slice/session-3.scope", "", "");
	assert_path("/system.slice/libpod-conmon-" ID ".scope", "", "");
	assert_path("/system.slice/crio-conmon-" ID ".scope", "", "");
	assert_path("/job_3f2a9c/step_0", "", "");
	assert_path("/docker/" ID "0", "", "");
	assert_path("/kubepods/podcast-0123456789abcdefghijklmnopqrstuv", "", "");
	assert_place("", "", "", "");
	assert_place("no line of that kind", "", "", "");
	assert_place("0::/gone/docker-" ID ".scope (deleted)\n", "/gone/docker-" ID ".scope", ID, "");
	assert_place("0::/a\x1b[2J\n", "/a?[2J", "", "");
}

static void the_hierarchy_that_names_a_container_counts(void **state)
{
	assert_place("12:pids:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/system.slice/containerd.service\n",
		     "/docker/" ID, ID, "");
	assert_place("9:name=systemd:/\n4:memory:/jobs/7\n0::/\n", "/jobs/7", "", "");
	assert_place("4:memory:/jobs/7\n0::/user.slice\n", "/user.slice", "", "");
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	char part[512];
	FILE *file;

	for (const char *at = path + 1; (at = strchr(at, '/')); at++) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		assert_true(mkdir(part, 0755) == 0 || errno == EEXIST);
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_names_of(const char *cgroup, const char *container_name, const char *pod_name)
{
	struct process_place place;

	process_place_parse(cgroup, &place);
	process_place_find_names(getpid(), &place);
	assert_string_equal(place.container_name, container_name);
	assert_string_equal(place.pod_name, pod_name);
	process_place_free(&place);
}

static void assert_names(const char *container, const char *pod, const char *container_name, const char *pod_name)
{
	char text[512];

	snprintf(text, sizeof(text), "0::%s%s/%s\n", *pod ? "/kubepods/pod" : "", pod, container);
	assert_names_of(text, container_name, pod_name);
}

#define VFS "/run/home/.local/share/containers/storage/vfs-containers/containers.json"
#define OVERLAY "/run/home/.local/share/containers/storage/overlay-containers/containers.json"

/* What a user puts there may lead to a device, which root's open would start, or to what only root may read. */
static void check_that_links_of_a_user_lead_nowhere(const char *cgroup)
{
	static const char secret[] = "/run/secret.json";

	write_file(secret, "[{\"id\":\"" ID "\",\"names\":[\"secret\"]}]");
	assert_int_equal(unlink(VFS), 0);
	assert_int_equal(symlink(secret, VFS), 0);
	assert_names_of(cgroup, "", "");
	assert_int_equal(unlink(VFS), 0);
	assert_int_equal(mkfifo(VFS, 0666), 0);
	assert_int_equal(chown(VFS, 4242, 4242), 0);
	assert_names_of(cgroup, "", "");
	assert_int_equal(unlink(VFS), 0);
}

/* The file is as Podman 4.3.1 writes it for a user. */
static void check_names_of_a_user_s_podman(void)
{
	static const char cgroup[] =
		"0::/user.slice/user-4242.slice/user@4242.service/user.slice/libpod-" ID ".scope/container\n";

	write_file("/run/passwd", "root:x:0:0:root:/root:/bin/sh\nu:x:4242:4242::/run/home:/bin/sh\n");
	assert_int_equal(mount("/run/passwd", "/etc/passwd", NULL, MS_BIND, NULL), 0);
	assert_names_of(cgroup, "", "");
	write_file(VFS, "[{\"id\":\"" ID
			"\",\"names\":[\"web\"],\"image\":\"\",\"metadata\":\"{\\\"name\\\":\\\"no\\\"}\"}]");
	assert_int_equal(chown(VFS, 4242, 4242), 0);
	assert_names_of(cgroup, "web", "");
	check_that_links_of_a_user_lead_nowhere(cgroup);
	write_file(OVERLAY, "[{\"id\":\"" ID "\",\"names\":[\"trainer\"]}]");
	assert_int_equal(chown(OVERLAY, 4242, 4242), 0);
	assert_names_of(cgroup, "trainer", "");
	assert_names_of("0::/user.slice/user-4243.slice/user.slice/libpod-" ID ".scope\n", "", "");
	assert_names_of("0::/user.slice/user-4242x/libpod-" ID ".scope\n", "", "");
}

static void check_names(void)
{
	static const char *const covered[] = {"/run", "/var"};
	const char *stored = "/var/lib/containers/storage/overlay-containers/containers.json";

	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	for (size_t i = 0; i < sizeof(covered) / sizeof(covered[0]); i++)
		assert_int_equal(mount("none", covered[i], "tmpfs", 0, NULL), 0);
	assert_names(ID, POD, "", "");
	check_names_of_a_user_s_podman();
	write_file("/var/lib/docker/containers/" ID "/config.v2.json",
		   "{\"State\":{\"Name\":\"no\"},\"Name\":\"/web\",\"Config\":{\"Hostname\":\"h\"}}");
	assert_names(ID, "", "web", "");
	write_file(stored, "[{\"names\":[\"other\"],\"id\":\"" OTHER "\"},{\"id\":\"x\",\"names\":[\"y\"]}]");
	assert_names(OTHER, "", "other", "");
	write_file(stored, "[{\"id\":");
	assert_names(OTHER, "", "", "");
	write_file("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" OTHER "/config.json",
		   "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"trainer\",\"n\":3,"
		   "\"io.kubernetes.cri.sandbox-name\":\"job-7\",\"io.kubernetes.cri.sandbox-namespace\":\"ml\"}}");
	assert_names(OTHER, POD, "trainer", "ml/job-7");
	write_file("/var/lib/kubelet/pods/" POD "/etc-hosts", "# kubelet\n127.0.0.1\tlocalhost\n10.0.0.7\tjob-8\n");
	assert_names(ID, POD, "web", "job-8");
	assert_int_equal(mkdir("/var/log", 0755), 0);
	assert_int_equal(mkdir("/var/log/pods", 0755), 0);
	assert_int_equal(mkdir("/var/log/pods/ml_job-8_" POD, 0755), 0);
	assert_names(ID, POD, "web", "ml/job-8");
}

static void names_come_from_the_files_of_runtimes(void **state)
{
	int status;
	pid_t child;

	if (geteuid())
		skip();
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (unshare(CLONE_NEWNS))
			_exit(2);
		check_names();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

static const struct process_facts facts = {.comm = "pt_data_worker_",
					   .uid = 1000,
					   .cgroup = "/kubepods/pod" POD "/" ID,
					   .container = ID,
					   .container_name = "trainer",
					   .pod = POD,
					   .pod_name = "ml/job-7"};

static void assert_fits(bool fits, enum selection_kind kind, const char *value)
{
	assert_int_equal(selection_value_fits(kind, value, &facts), fits);
}

static void values_fit_what_they_name(void **state)
{
	assert_fits(true, SELECTION_COMM, "pt_data_worker_");
	assert_fits(true, SELECTION_COMM, "pt_data_worker_7");
	assert_fits(true, SELECTION_COMM, "pt_*");
	assert_fits(false, SELECTION_COMM, "pt_data");
	assert_fits(true, SELECTION_USER, "1000");
	assert_fits(false, SELECTION_USER, "100");
	assert_fits(true, SELECTION_CGROUP, "/kubepods");
	assert_fits(true, SELECTION_CGROUP, "/kubepods/");
	assert_fits(true, SELECTION_CGROUP, "/sys/fs/cgroup/kubepods");
	assert_fits(true, SELECTION_CGROUP, "*/pod0a1b*");
	assert_fits(false, SELECTION_CGROUP, "/kube");
	assert_fits(true, SELECTION_CONTAINER, "3f2a");
	assert_fits(true, SELECTION_CONTAINER, "3F2A9C");
	assert_fits(true, SELECTION_CONTAINER, ID);
	assert_fits(true, SELECTION_CONTAINER, "train*");
	assert_fits(false, SELECTION_CONTAINER, "3f2");
	assert_fits(false, SELECTION_CONTAINER, "2a9c");
	assert_fits(true, SELECTION_POD, "job-7");
	assert_fits(true, SELECTION_POD, "ml/job-7");
	assert_fits(true, SELECTION_POD, POD);
	assert_fits(false, SELECTION_POD, "ml");
}

static void unknown_facts_fit_nothing(void **state)
{
	const struct process_facts unknown = {"", UINT32_MAX, "", "", "", "", ""};

	for (enum selection_kind kind = 0; kind < SELECTION_KINDS; kind++)
		assert_false(selection_value_fits(kind, "*", &unknown));
	assert_false(selection_value_fits(SELECTION_CGROUP, "/", &unknown));
	assert_false(selection_value_fits(SELECTION_USER, "4294967295", &unknown));
}

static void of_one_kind_any_and_of_several_all_must_fit(void **state)
{
	struct selection selection = {0};
	char *text;

	assert_true(selection_fits(&selection, &facts));
	assert_int_equal(selection_add(&selection, SELECTION_USER, "5,1000"), 0);
	assert_int_equal(selection_add(&selection, SELECTION_POD, "job-7"), 0);
	assert_true(selection_fits(&selection, &facts));
	text = selection_text(&selection);
	assert_string_equal(text, "processes with CUDA of user 5 or 1000, pod job-7");
	free(text);
	assert_int_equal(selection_add(&selection, SELECTION_COMM, "python"), 0);
	assert_false(selection_fits(&selection, &facts));
	assert_int_equal(selection_add(&selection, SELECTION_COMM, "a,,b"), -EINVAL);
	assert_int_equal(selection_add(&selection, SELECTION_COMM, ""), -EINVAL);
	selection_free(&selection);
}

/* This very process. */
static void live_processes_are_chosen(void **state)
{
	struct selection selection = {0};
	char uid[16];

	assert_true(selection_fits_process(&selection, getpid()));
	snprintf(uid, sizeof(uid), "%u", getuid());
	assert_int_equal(selection_add(&selection, SELECTION_USER, uid), 0);
	assert_int_equal(selection_add(&selection, SELECTION_COMM, "test_container"), 0);
	assert_true(selection_fits_process(&selection, getpid()));
	assert_int_equal(selection_add(&selection, SELECTION_POD, "none"), 0);
	assert_false(selection_fits_process(&selection, getpid()));
	selection_free(&selection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_are_known_by_their_cgroup),
		cmocka_unit_test(other_cgroups_are_no_containers),
		cmocka_unit_test(the_hierarchy_that_names_a_container_counts),
		cmocka_unit_test(names_come_from_the_files_of_runtimes),
		cmocka_unit_test(values_fit_what_they_name),
		cmocka_unit_test(unknown_facts_fit_nothing),
		cmocka_unit_test(of_one_kind_any_and_of_several_all_must_fit),
		cmocka_unit_test(live_processes_are_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
