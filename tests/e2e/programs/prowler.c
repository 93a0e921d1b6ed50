/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * prowler SECRET COUNT COMMAND...: starts COMMAND COUNT times, and searches every process that starts after them, as
 * long as its standard input is open: for a file of the host that only root may read (SECRET), for anything of
 * gputrace's that can be written to or changed, for names and namespaces of the host, for a process that it can trace.
 * Prints each finding once, and at the end the number of processes that had the agent's file open. With PROWLER_KILLS
 * in the environment it kills instead, as fast as it can, every process that serves the agent's file.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIDS (1 << 22)
#define AGENT "libgputrace-agent.so"

static bool known[PIDS], met[PIDS];
static unsigned met_count;
static const char *secret;

static void got(pid_t pid, const char *what, const char *detail)
{
	static char printed[256][512];
	char line[512];
	int i = 0;

	snprintf(line, sizeof(line), "%s %s", what, detail);
	for (; i < 256 && printed[i][0]; i++)
		if (!strcmp(printed[i], line))
			return;
	if (i < 256)
		strcpy(printed[i], line);
	printf("got %s (pid %d)\n", line, pid);
}

/* ETXTBSY counts as writable: permission was given, and the text will not stay busy. */
static bool can_write(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == ETXTBSY;
}

static void try_folder(pid_t pid, const char *name)
{
	static const char up[] = "/../../../../../../../../../../..";
	char path[8192];
	int fd;

	for (int ups = 0; ups < 12; ups++) {
		snprintf(path, sizeof(path), "/proc/%d/%s%s%s", pid, name, up + 3 * ups, secret);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		got(pid, "read by", name);
		close(fd);
	}
}

/* Tries every file of a folder of links. */
static void try_links(pid_t pid, const char *folder)
{
	char path[512], target[256];
	struct dirent *entry;
	struct stat file;
	DIR *links;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, folder);
	links = opendir(path);
	while (links && (entry = readdir(links))) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/%d/%s/%s", pid, folder, entry->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = 0;
		if (strstr(target, AGENT) && !met[pid]) {
			met[pid] = true;
			met_count++;
		}
		if (!strcmp(target, "/dev/null") || stat(path, &file))
			continue;
		if (can_write(path))
			got(pid, "write to", target);
		if (!chmod(path, file.st_mode & 07777))
			got(pid, "change", target);
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (S_ISDIR(file.st_mode))
			try_folder(pid, path);
	}
	if (links)
		closedir(links);
}

static const char *const namespaces[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};
#define NAMESPACES (sizeof(namespaces) / sizeof(namespaces[0]))
static ino_t own_namespaces[NAMESPACES];
static dev_t namespace_device;

static void note_own_namespaces(void)
{
	struct stat ours;
	char path[64];

	for (size_t i = 0; i < NAMESPACES; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
		if (stat(path, &ours)) {
			perror(path);
			exit(1);
		}
		own_namespaces[i] = ours.st_ino;
		namespace_device = ours.st_dev;
	}
}

static void try_namespaces(pid_t pid)
{
	struct stat theirs;
	char path[64];

	for (size_t i = 0; i < NAMESPACES; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, namespaces[i]);
		/* If access is denied, stat(2) on Linux 5.10 gives the folder of these links. */
		if (!stat(path, &theirs) && theirs.st_dev == namespace_device && theirs.st_ino != own_namespaces[i])
			got(pid, "namespace", namespaces[i]);
	}
}

static void try_names(pid_t pid)
{
	char path[64], line[4096];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (strchr(line, '/') && strcmp(strchr(line, '/'), "/gputrace-files\n"))
			got(pid, "name", strtok(strchr(line, '/'), "\n"));
	if (maps)
		fclose(maps);
}

static void try_memory(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return;
	got(pid, "trace", "it");
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, &status, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static void look_into(pid_t pid)
{
	char path[64];

	try_links(pid, "fd");
	try_folder(pid, "root");
	try_folder(pid, "cwd");
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (can_write(path))
		got(pid, "write to", "its executable");
	try_links(pid, "map_files");
	try_names(pid);
	try_namespaces(pid);
	try_memory(pid);
}

static void each_process(bool look)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while ((entry = readdir(processes))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && pid < PIDS && !look)
			known[pid] = true;
		else if (pid > 0 && pid < PIDS && !known[pid])
			look_into(pid);
	}
	closedir(processes);
}

/* Pids of recent and imminent processes: proc(5) says which pid was given last. */
#define PIDS_BEHIND 200
#define PIDS_AHEAD 20

/* Checks the name: a new thread of a traced process has a new pid, too. */
static bool is_file_server(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	file = fopen(path, "re");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = 0;
	if (file)
		fclose(file);
	return !strcmp(name, "gputrace-files");
}

static void kill_new(void)
{
	FILE *load = fopen("/proc/loadavg", "re");
	int last = 0;

	if (!load || fscanf(load, "%*f %*f %*f %*s %d", &last) != 1)
		exit(1);
	fclose(load);
	for (pid_t pid = last > PIDS_BEHIND ? last - PIDS_BEHIND : 1; pid < last + PIDS_AHEAD && pid < PIDS; pid++)
		if (!known[pid] && !met[pid] && !kill(pid, 0) && is_file_server(pid) && !kill(pid, SIGKILL)) {
			met[pid] = true;
			met_count++;
			printf("killed %d\n", pid);
		}
}

/* The commands end with this program: they read from its pipe. */
static void start(char **command, int in)
{
	int out[2];
	char byte;

	if (pipe2(out, O_CLOEXEC))
		exit(1);
	if (!fork()) {
		dup2(in, 0);
		dup2(out[1], 1);
		execv(command[0], command);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], &byte, 1) != 1) /* it is ready */
		exit(1);
}

int main(int argc, char **argv)
{
	struct pollfd end = {.fd = 0, .events = POLLIN};
	int in[2];

	if (argc < 4 || pipe2(in, O_CLOEXEC))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	secret = argv[1];
	note_own_namespaces();
	for (int i = atoi(argv[2]); i > 0; i--)
		start(argv + 3, in[0]);
	each_process(false);
	puts("ready");
	while (poll(&end, 1, 0) == 0)
		if (getenv("PROWLER_KILLS"))
			kill_new();
		else
			each_process(true);
	printf("met %u\n", met_count);
	return 0;
}
