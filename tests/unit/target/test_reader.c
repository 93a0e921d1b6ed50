/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that does not arrive: no caller waits for it forever, and its process is read again once it has arrived. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/processes.h"
#include "target/process.h"
#include "target/reader.h"

#define PAGE 4096

/* Shared with children: the address of their page, and whether it may arrive. */
struct waiting {
	_Atomic uint64_t page;
	_Atomic bool may_come;
};

static struct waiting *make_waiting(void)
{
	struct waiting *waiting =
		mmap(NULL, sizeof(*waiting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(waiting != MAP_FAILED);
	return waiting;
}

static void __attribute__((noreturn)) have_page_that_waits(struct waiting *waiting)
{
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register area = {.range = {(uintptr_t)page, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_zeropage zero = {.range = {(uintptr_t)page, PAGE}};

	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &area))
		_exit(1);
	waiting->page = (uintptr_t)page;
	while (!waiting->may_come)
		usleep(1000);
	ioctl(faults, UFFDIO_ZEROPAGE, &zero);
	waiting->page = 0;
	for (;;)
		pause();
}

static pid_t start_waiting(struct waiting *waiting)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		have_page_that_waits(waiting);
	while (!waiting->page) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		usleep(1000);
	}
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void memory_that_does_not_come_keeps_no_one(void **state)
{
	struct waiting *waiting = make_waiting();
	pid_t pid = start_waiting(waiting);
	struct reader_silent silent;
	struct process_info info;
	char word[8], ours[8] = "ours", copy[8];

	(void)state;
	assert_int_equal(process_read_memory(pid, waiting->page, word, sizeof(word)), -ETIMEDOUT);
	assert_int_equal(process_read_memory(getpid(), (uintptr_t)ours, copy, sizeof(copy)), 0);
	assert_string_equal(copy, "ours");
	assert_true(reader_next_silent(&silent));
	assert_int_equal(silent.pid, pid);
	assert_false(reader_next_silent(&silent)); /* once */
	assert_int_equal(process_info_read(pid, &info), 0);
	process_info_free(&info);
	end_process(pid);
	readers_end();
	munmap(waiting, sizeof(*waiting));
}

#define FILES 2000

static void open_something(struct reader_area *area)
{
	area->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	area->error = area->fd < 0 ? -errno : 0;
}

static void count_open(struct reader_area *area)
{
	area->bytes = 0;
	for (int fd = 0; fd < FILES; fd++)
		area->bytes += fcntl(fd, F_GETFD) >= 0;
}

static uint64_t run_once(reader_job job)
{
	struct reader *reader;
	uint64_t bytes;

	assert_int_equal(reader_share(getpid(), &reader), 0);
	assert_int_equal(reader_run(reader, job), 0);
	assert_int_equal(reader_area(reader)->error, 0);
	bytes = reader_area(reader)->bytes;
	reader_return(reader);
	return bytes;
}

/*
 * The caller that has the answer asks for the next file while the reader still closes its own descriptor of the last.
 */
static void a_reader_keeps_no_descriptor_of_the_files_that_it_hands_out(void **state)
{
	uint64_t before = run_once(count_open);

	(void)state;
	for (int i = 0; i < FILES; i++)
		run_once(open_something);
	assert_int_equal(run_once(count_open), before);
	readers_end();
}

static void wait_for_ever(struct reader_area *area)
{
	(void)area;
	for (;;)
		pause();
}

/* Gives up a reader of the process; returns how many processes are reported for that. */
static unsigned give_up_reader_of(pid_t pid)
{
	struct reader_silent silent;
	struct reader *reader;
	unsigned named = 0;

	while (reader_next_silent(&silent)) /* left by other tests */
		;
	assert_int_equal(reader_share(pid, &reader), 0);
	assert_int_equal(reader_run(reader, wait_for_ever), -ETIMEDOUT);
	reader_return(reader);
	while (reader_next_silent(&silent))
		named++;
	return named;
}

/* Its memory is locked until it has been taken apart, which takes long where it has no CPU. */
static void a_process_that_exits_is_not_said_to_keep_readers_waiting(void **state)
{
	pid_t lives = fork(), ends;

	(void)state;
	if (!lives)
		for (;;)
			pause();
	ends = fork();
	if (!ends)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)ends, NULL, WEXITED | WNOWAIT), 0); /* it stays, as a zombie */
	assert_true(process_is_exiting(ends));
	assert_false(process_is_exiting(lives));
	assert_int_equal(give_up_reader_of(ends), 0);
	assert_int_equal(give_up_reader_of(lives), 1);
	end_process(lives);
	waitpid(ends, NULL, 0);
	readers_end();
}

static void one_whose_memory_has_come_is_read_again(void **state)
{
	struct waiting *waiting = make_waiting();
	pid_t pid = start_waiting(waiting);
	uint64_t page = waiting->page;
	char word[8] = "not yet";
	int error;

	(void)state;
	assert_int_equal(process_read_memory(pid, page, word, sizeof(word)), -ETIMEDOUT);
	waiting->may_come = true;
	while (waiting->page)
		usleep(1000);
	/* until the reader that waited has ended */
	while ((error = process_read_memory(pid, page, word, sizeof(word))) == -ETIMEDOUT)
		usleep(1000);
	assert_int_equal(error, 0);
	assert_string_equal(word, "");
	end_process(pid);
	readers_end();
	munmap(waiting, sizeof(*waiting));
}

struct notes {
	unsigned it, others;
	uint32_t latest_of_others;
};

static void count_note(void *context, const struct gpt_record *record)
{
	const struct gpt_text *note = (const struct gpt_text *)record;
	struct notes *notes = context;

	if (strstr(note->text, "is left alone: it keeps readers of memory or files waiting")) {
		notes->it++;
	} else {
		assert_non_null(
			strstr(note->text, "is left alone: others of its user keep readers of memory or files"));
		notes->others++;
		if (!notes->latest_of_others)
			notes->latest_of_others = note->pid; /* the latest one comes first */
	}
}

static void all_processes_of_a_user_together_are_waited_for_only_so_long(void **state)
{
	struct waiting *waiting[8];
	pid_t pids[8], free_one = fork();
	struct reader_silent silent;
	struct notes notes = {0};
	char word[8];

	(void)state;
	if (!free_one)
		for (;;)
			pause();
	while (reader_next_silent(&silent)) /* left by other tests */
		;
	for (int i = 0; i < 8; i++) {
		waiting[i] = make_waiting();
		pids[i] = start_waiting(waiting[i]);
		assert_int_equal(process_read_memory(pids[i], waiting[i]->page, word, sizeof(word)), -ETIMEDOUT);
	}
	/* so a process of this user that would answer is not asked either, but is reported */
	assert_int_equal(process_read_memory(free_one, (uintptr_t)word, word, sizeof(word)), -ETIMEDOUT);
	processes_report_silent(&(struct processes){.emit = count_note, .emit_context = &notes});
	assert_int_equal(notes.it + notes.others, 9);
	assert_true(notes.it >= 1 && notes.others >= 1);
	assert_int_equal(notes.latest_of_others, free_one);
	for (int i = 0; i < 8; i++)
		end_process(pids[i]);
	end_process(free_one);
	readers_end();
}

static void forget_silent(void)
{
	struct reader_silent silent;

	while (reader_next_silent(&silent))
		;
}

static void be_killed(struct reader_area *area)
{
	area->steps++;
	kill(getpid(), SIGKILL);
}

/* As a filter of system calls that gputrace itself runs under, by which reading memory kills the reader. */
static void be_filtered(struct reader_area *area)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	area->steps++;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	(void)getppid();
}

/* Runs a job for this process itself; sets how many readers have begun it. */
static int run_job(reader_job job, uint64_t *begun)
{
	struct reader *reader;
	int error = reader_share(getpid(), &reader);

	assert_int_equal(error, 0);
	reader_area(reader)->steps = 0;
	error = reader_run(reader, job);
	*begun = reader_area(reader)->steps;
	reader_return(reader);
	return error;
}

/* No process has made it wait: none is blamed, and it is read as before. */
static void a_reader_that_was_killed_is_no_fault_of_the_process(void **state)
{
	struct reader_silent silent;
	char ours[8] = "ours", copy[8];
	uint64_t begun;

	(void)state;
	forget_silent();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run_job(be_killed, &begun), -EIO);
		assert_int_equal(begun, 1);
	}
	assert_int_equal(process_read_memory(getpid(), (uintptr_t)ours, copy, sizeof(copy)), 0);
	assert_string_equal(copy, "ours");
	assert_false(reader_next_silent(&silent));
	readers_end();
}

/* Another reader would be killed for the same, each time with an entry in the system's log. */
static void what_a_filter_kills_a_reader_for_is_not_tried_again(void **state)
{
	struct reader_silent silent;
	uint64_t begun;

	(void)state;
	forget_silent();
	assert_int_equal(run_job(be_filtered, &begun), -EPERM);
	assert_int_equal(begun, 1);
	assert_int_equal(run_job(be_filtered, &begun), -EPERM);
	assert_int_equal(begun, 0);
	assert_false(reader_next_silent(&silent));
	readers_end();
}

int main(void)
{
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_keeps_no_descriptor_of_the_files_that_it_hands_out),
		cmocka_unit_test(memory_that_does_not_come_keeps_no_one),
		cmocka_unit_test(a_process_that_exits_is_not_said_to_keep_readers_waiting),
		cmocka_unit_test(one_whose_memory_has_come_is_read_again),
		cmocka_unit_test(a_reader_that_was_killed_is_no_fault_of_the_process),
		cmocka_unit_test(what_a_filter_kills_a_reader_for_is_not_tried_again),
		cmocka_unit_test(all_processes_of_a_user_together_are_waited_for_only_so_long),
	};

	if (faults < 0) {
		print_message("userfaultfd(2) is not for this user: nothing is tested\n");
		return 0;
	}
	close(faults);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
