/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/serve_work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "cmd/output/output.h"

/* A minute takes some seconds on a slow machine. */
#define SECOND_NS 1000000000ull
#define PATIENCE_NS (60 * SECOND_NS)

/* Below the traced programs. */
#define WORK_NICE 10

int serve_work_open(struct serve_work *work)
{
	void *shared = mmap(NULL, sizeof(*work->sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*work = (struct serve_work){.done = -1};
	if (shared == MAP_FAILED)
		return -errno;
	work->sums = shared;
	return 0;
}

/* ---- in the child ------------------------------------------------------------------------------------------------ */

#define PROFILE_NAME "gputrace-%Y%m%dT%H%M%SZ.pb.gz"
#define PROFILE_PATTERN "gputrace-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]T[0-9][0-9][0-9][0-9][0-9][0-9]Z.pb.gz"

static int is_profile(const struct dirent *entry)
{
	return fnmatch(PROFILE_PATTERN, entry->d_name, 0) == 0;
}

/* By name, which is by time. */
static void remove_old(const struct serve_profiles *profiles)
{
	int folder = open(profiles->folder, O_DIRECTORY | O_CLOEXEC);
	struct dirent **names = NULL;
	int count = folder < 0 ? 0 : scandirat(folder, ".", &names, is_profile, alphasort);

	for (int i = 0; i < count; i++) {
		if ((unsigned)(count - i) > profiles->keep)
			unlinkat(folder, names[i]->d_name, 0);
		free(names[i]);
	}
	free(names);
	if (folder >= 0)
		close(folder);
}

static int write_profile(const struct live_log *live, const struct serve_work *work,
			 const struct serve_profiles *profiles)
{
	time_t end = (time_t)((work->to_ns + (uint64_t)live->wall_offset_ns) / 1000000000);
	AUTO_FREE char *path = NULL;
	struct output output;
	char name[48];
	struct tm utc;
	int err;

	gmtime_r(&end, &utc);
	strftime(name, sizeof(name), PROFILE_NAME, &utc);
	path = xasprintf("%s/%s", profiles->folder, name);
	err = output_open(path, &output);
	if (!err) {
		err = live_log_export(live, work->from_ns, work->to_ns, path, output.fd);
		if (!err)
			err = output_commit(&output);
		output_close(&output);
	}
	if (err)
		msg_error("serve: %s: not written: %s: make that possible (each minute it is tried again), and start "
			  "gputrace again "
			  "if the folder was made anew",
			  path, output_error(err));
	else
		remove_old(profiles);
	return err;
}

#define LOG_FD 3
#define MEMORY_MOST (1u << 30)

/* Freed memory is taken again, from one place: at the start that is memory of large pages, whose faults are few. */
#define ROOM (128u << 20)
#define LARGE_PAGE ((uintptr_t)2 << 20)

static void prepare_memory(void)
{
	void *room;
	uintptr_t first;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, MEMORY_MOST);
	room = malloc(ROOM);
	/* cppcheck-suppress uninitdata ; its address is looked at, not what it holds */
	first = ((uintptr_t)room + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
	if (room)
		(void)madvise((void *)first, ROOM - LARGE_PAGE, MADV_HUGEPAGE);
	free(room);
}

/* It has the log and the three usual descriptors, and ends with the process that started it. */
static _Noreturn void do_work(const struct serve_work *work, int log_fd, const struct serve_profiles *profiles)
{
	struct live_log live;
	int err;

	const struct rlimit memory = {.rlim_cur = MEMORY_MOST, .rlim_max = MEMORY_MOST};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_DATA, &memory);
	(void)setpriority(PRIO_PROCESS, 0, WORK_NICE);
	log_fd = dup2(log_fd, LOG_FD);
	syscall(SYS_close_range, LOG_FD + 1, ~0u, 0);
	prepare_memory();
	live_log_open(&live, log_fd);
	live_log_update(&live);
	err = profiles ? write_profile(&live, work, profiles)
		       : live_log_sums(&live, work->from_ns, work->to_ns, work->sums);
	_exit(err != 0);
}

/* ------------------------------------------------------------------------------------------------------------------ */

bool serve_work_begin(struct serve_work *work, int log_fd, uint64_t from_ns, uint64_t to_ns,
		      const struct serve_profiles *profiles)
{
	work->from_ns = from_ns;
	work->to_ns = to_ns;
	work->until_ns = monotonic_ns() + PATIENCE_NS;
	work->pid = fork();
	if (work->pid == 0)
		do_work(work, log_fd, profiles);
	close(log_fd);
	if (work->pid < 0) {
		work->pid = 0;
		return false;
	}
	work->done = (int)syscall(SYS_pidfd_open, work->pid, 0);
	return true;
}

enum serve_result serve_work_check(struct serve_work *work, uint64_t now_ns)
{
	bool too_long = now_ns >= work->until_ns;
	struct rusage used = {0};
	int status = 0;
	pid_t ended;

	if (too_long)
		kill(work->pid, SIGKILL);
	do
		ended = wait4(work->pid, &status, WNOHANG, &used);
	while (ended < 0 && errno == EINTR);
	if (!ended)
		return SERVE_WORKS;
	if (work->done >= 0)
		close(work->done);
	work->pid = 0;
	work->done = -1;
	work->cpu_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SECOND_NS +
		       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
	return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? SERVE_GOOD : SERVE_BAD;
}
