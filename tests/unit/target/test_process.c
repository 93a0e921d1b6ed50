/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What /proc says about processes, also those that try to forge it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "base/path.h"
#include "built_library.h"
#include "target/process.h"

#define TEXT "this very file"

/* A child that runs `prepare` and then waits to be killed. */
static pid_t start_child(void (*prepare)(const void *), const void *argument)
{
	int ready[2];
	char byte = 0;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare(argument);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void take_name(const void *name)
{
	prctl(PR_SET_NAME, name);
}

static void a_name_with_parentheses_does_not_shift_the_fields(void **state)
{
	pid_t child = start_child(take_name, "a) S 1 (b\033[2");
	struct process_info info;

	(void)state;
	assert_int_equal(process_info_read(child, &info), 0);
	assert_string_equal(info.comm, "a) S 1 (b?[2");
	assert_int_equal(info.pid, child);
	assert_int_equal(info.parent, getpid());
	assert_int_equal(info.threads, 1);
	assert_int_equal(info.uid, getuid());
	assert_int_equal(info.mounts, GPT_MOUNTS_SAME);
	assert_int_equal(info.seccomp, 0);
	assert_false(info.zombie);
	process_info_free(&info);
	end_child(child);
}

static void the_start_is_on_the_monotonic_clock(void **state)
{
	uint64_t before = now_ns();
	pid_t child = start_child(NULL, NULL);
	uint64_t after = now_ns(), tick = 20000000; /* two clock ticks */
	struct process_info info;

	(void)state;
	assert_int_equal(process_info_read(child, &info), 0);
	assert_in_range(info.start_ns, before - tick, after + tick);
	process_info_free(&info);
	end_child(child);
}

static void a_command_line_cannot_drive_the_terminal(void **state)
{
	struct process_info info;
	char *cmdline;
	int input[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(input), 0); /* the shell waits for it */
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], STDIN_FILENO);
		execl("/bin/sh", "sh\033]0;x\a", "-c", "read x", "caf\xc3\xa9",
		      "\xc2\x9b"
		      "31m",
		      "line\nend", NULL);
		_exit(1);
	}
	for (int i = 0;; i++) { /* until the exec is done, at most 90 s */
		cmdline = process_cmdline(child);
		if (strstr(cmdline, "read x"))
			break;
		free(cmdline);
		assert_true(i < 9000);
		usleep(10000);
	}
	assert_int_equal(process_info_read(child, &info), 0);
	assert_string_equal(cmdline, "sh?]0;x? -c read x caf\xc3\xa9 ??31m line?end");
	free(cmdline);
	assert_int_equal(info.exe[0], '/');
	process_info_free(&info);
	end_child(child);
	close(input[0]);
	close(input[1]);
}

static void a_zombie_is_known_as_one_and_a_dead_one_is_gone(void **state)
{
	struct process_info info;
	siginfo_t ended;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_info_read(child, &info), 0);
	assert_true(info.zombie);
	process_info_free(&info);
	waitpid(child, NULL, 0);
	assert_int_equal(process_info_read(child, &info), -ESRCH);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* A child whose first thread has ended while another one goes on. */
static pid_t start_headless(void)
{
	pid_t child = fork();
	pthread_t thread;

	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, wait_for_ever, NULL))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	while (process_thread(child) == child)
		usleep(1000);
	return child;
}

static void a_process_whose_first_thread_has_ended_is_known_by_another(void **state)
{
	static const char text[] = TEXT;
	struct mappings mappings = {};
	struct process_info info;
	char copy[sizeof(text)] = "", *cmdline;
	pid_t child = start_headless();
	const struct mapping *mapping;
	struct stat by_map, by_fd;
	int fd;

	(void)state;
	assert_int_equal(process_info_read(child, &info), 0);
	assert_false(info.zombie);
	cmdline = process_cmdline(child);
	assert_true(strstr(cmdline, "test_process") != NULL);
	free(cmdline);
	assert_true(strstr(info.exe, "test_process") != NULL);
	process_info_free(&info);
	assert_int_equal(process_read_memory(child, (uintptr_t)text, copy, sizeof(copy)), 0);
	assert_string_equal(copy, TEXT);
	assert_int_equal(mappings_read(child, &mappings), 0);
	mapping = mappings_at(&mappings, (uintptr_t)wait_for_ever);
	assert_non_null(mapping);
	fd = mapping_open(child, mapping);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &by_fd), 0);
	assert_int_equal(mapping_stat(child, mapping, &by_map), 0);
	assert_int_equal(by_map.st_ino, by_fd.st_ino);
	close(fd);
	mappings_free(&mappings);
	end_child(child);
}

struct census {
	unsigned self, children, kernel;
	pid_t child;
};

static int count_process(pid_t pid, void *context)
{
	struct census *census = context;

	census->self += pid == getpid();
	census->children += pid == census->child;
	census->kernel += pid == 2; /* kthreadd */
	return 0;
}

static int stop_at_first(pid_t pid, void *context)
{
	(void)context;
	return pid;
}

static void every_process_is_visited_once_and_kernel_threads_are_not(void **state)
{
	struct census census = {.child = start_child(NULL, NULL)};

	(void)state;
	assert_int_equal(process_each(count_process, &census), 0);
	assert_int_equal(census.self, 1);
	assert_int_equal(census.children, 1);
	if (process_in_initial_pid_namespace())
		assert_int_equal(census.kernel, 0);
	assert_true(process_each(stop_at_first, NULL) > 0);
	end_child(census.child);
}

static const struct mapping *mapping_at(const struct mappings *mappings, const void *address)
{
	for (size_t i = 0; i < mappings->list.count; i++)
		if (mappings->list.items[i].start == (uintptr_t)address)
			return &mappings->list.items[i];
	return NULL;
}

static void *map_file(const char *path)
{
	int fd = open_file(path);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	assert_true(at != MAP_FAILED);
	close(fd);
	return at;
}

static void assert_text_behind(pid_t pid, const struct mapping *mapping)
{
	char text[sizeof(TEXT)] = "";
	int fd = mapping_open(pid, mapping);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, strlen(TEXT)), strlen(TEXT));
	assert_string_equal(text, TEXT);
	close(fd);
}

static void a_mapping_has_the_name_of_its_file_however_odd(void **state)
{
	char *folder = make_folder(), *path = xasprintf("%s/a name\nwith \\134 it (deleted", folder);
	struct mappings mappings;
	const struct mapping *mapping;
	struct stat st;
	void *at;

	(void)state;
	write_text(path, TEXT);
	at = map_file(path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(mappings_read(getpid(), &mappings), 0);
	mapping = mapping_at(&mappings, at);
	assert_non_null(mapping);
	assert_string_equal(mapping->path, path);
	assert_int_equal(mapping->end - mapping->start, 4096);
	assert_int_equal(mapping->inode, st.st_ino);
	assert_true(mapping->readable && !mapping->writable && !mapping->executable && !mapping->deleted);
	assert_text_behind(getpid(), mapping);
	munmap(at, 4096);
	mappings_free(&mappings);
	free(path);
	remove_folder(folder);
}

static void a_replaced_file_is_opened_as_it_was_mapped(void **state)
{
	char *folder = make_folder(), *path = xasprintf("%s/library.so", folder);
	struct mappings mappings;
	const struct mapping *mapping;
	void *at;

	(void)state;
	if (geteuid()) {
		print_message("needs root: /proc/PID/map_files\n");
		skip();
	}
	write_text(path, TEXT);
	at = map_file(path);
	assert_int_equal(unlink(path), 0);
	write_text(path, "another file ..");
	assert_int_equal(mappings_read(getpid(), &mappings), 0);
	mapping = mapping_at(&mappings, at);
	assert_non_null(mapping);
	assert_true(mapping->deleted);
	assert_string_equal(mapping->path, path);
	assert_text_behind(getpid(), mapping);
	munmap(at, 4096);
	mappings_free(&mappings);
	free(path);
	remove_folder(folder);
}

/* The fallback goes by name, so it must notice that the name now belongs to another file. */
static void another_file_of_the_same_name_is_refused(void **state)
{
	char *folder = make_folder(), *path = xasprintf("%s/library.so", folder);
	struct mappings mappings;
	struct mapping unknown;
	void *at;

	(void)state;
	write_text(path, TEXT);
	at = map_file(path);
	assert_int_equal(mappings_read(getpid(), &mappings), 0);
	unknown = *mapping_at(&mappings, at);
	unknown.end += 4096; /* not in map_files: as if the mapping had been split since */
	assert_text_behind(getpid(), &unknown);
	unknown.inode++;
	assert_int_equal(mapping_open(getpid(), &unknown), -ESTALE);
	munmap(at, 4096);
	mappings_free(&mappings);
	free(path);
	remove_folder(folder);
}

static void anonymous_memory_and_devices_are_not_opened(void **state)
{
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *device = map_file("/dev/zero");
	struct mappings mappings;

	(void)state;
	assert_int_equal(mappings_read(getpid(), &mappings), 0);
	for (size_t i = 0; i < mappings.list.count; i++) {
		const struct mapping *mapping = &mappings.list.items[i];

		if (mapping->inode == 0) {
			assert_string_equal(mapping->path, "");
			assert_int_equal(mapping_open(getpid(), mapping), -ENOENT);
		}
	}
	assert_true(mapping_open(getpid(), mapping_at(&mappings, device)) < 0);
	mappings_free(&mappings);
	munmap(memory, 4096);
	munmap(device, 4096);
}

/* Mounts a file system over `folder` that only this process sees, and maps a file in it. */
static void map_in_own_namespace(const void *folder)
{
	char *path = xasprintf("%s/library.so", (const char *)folder);

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", folder, "tmpfs", 0, NULL))
		_exit(1);
	write_text(path, TEXT);
	map_file(path);
}

static void a_file_of_another_mount_namespace_is_opened(void **state)
{
	char *folder = make_folder(), *path = xasprintf("%s/library.so", folder);
	struct mappings mappings;
	unsigned found = 0;
	pid_t child;

	(void)state;
	if (geteuid()) {
		print_message("needs root: a mount namespace\n");
		skip();
	}
	child = start_child(map_in_own_namespace, folder);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(mappings_read(child, &mappings), 0);
	for (size_t i = 0; i < mappings.list.count; i++) {
		struct mapping mapping = mappings.list.items[i];

		if (strcmp(mapping.path, path))
			continue;
		assert_text_behind(child, &mapping);
		mapping.end += 4096; /* also by its name in the process's root */
		assert_text_behind(child, &mapping);
		found++;
	}
	assert_int_equal(found, 1);
	end_child(child);
	mappings_free(&mappings);
	free(path);
	remove_folder(folder);
}

/* Makes `folder` its root and changes to another user. */
static void live_in(const void *folder)
{
	if (chroot(folder) || chdir("/") || setuid(1234) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
}

static void write_in(const char *folder, const char *name, mode_t mode)
{
	char *path = xasprintf("%s/%s", folder, name);

	write_text(path, TEXT);
	assert_int_equal(chmod(path, mode), 0);
	free(path);
}

static void link_in(const char *folder, const char *name, const char *to)
{
	char *path = xasprintf("%s/%s", folder, name);

	assert_int_equal(symlink(to, path), 0);
	free(path);
}

static int try_to_open(pid_t pid, const char *path)
{
	int fd = process_open_file(pid, path);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void a_file_is_opened_by_its_name_within_the_root_of_its_process(void **state)
{
	char *folder = make_folder(), *fifo = xasprintf("%s/fifo", folder);
	pid_t child;

	(void)state;
	if (geteuid()) {
		print_message("needs root: another root directory\n");
		skip();
	}
	write_in(folder, "everybodys", 0644);
	write_in(folder, "roots", 0640);
	link_in(folder, "to_it", "/everybodys");
	link_in(folder, "to_the_hosts", "/etc/passwd");
	link_in(folder, "up", "../../../../../../../etc/passwd");
	assert_int_equal(mkfifo(fifo, 0666), 0);
	child = start_child(live_in, folder);
	assert_int_equal(try_to_open(child, "/everybodys"), 0);
	assert_int_equal(try_to_open(child, "/to_it"), 0);
	assert_int_equal(try_to_open(child, "/to_the_hosts"), -ENOENT);
	assert_int_equal(try_to_open(child, "/up"), -ENOENT);
	assert_int_equal(try_to_open(child, "/../../etc/passwd"), -ENOENT);
	assert_int_equal(try_to_open(child, "/roots"), -EACCES);
	assert_int_equal(try_to_open(getpid(), fifo), -ENOEXEC);
	end_child(child);
	assert_true(try_to_open(child, "/everybodys") < 0);
	free(fifo);
	remove_folder(folder);
}

static const char in_memory[] = "what the other process holds";

static void memory_is_read_whole_or_not_at_all(void **state)
{
	pid_t child = start_child(NULL, NULL);
	char copy[sizeof(in_memory)], two_pages[8192];
	char *last = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(process_read_memory(child, (uintptr_t)in_memory, copy, sizeof(copy)), 0);
	assert_string_equal(copy, in_memory);
	assert_int_equal(process_read_memory(child, 0, copy, sizeof(copy)), -EFAULT);
	munmap(last + 4096, 4096);
	assert_int_equal(process_read_memory(getpid(), (uintptr_t)last, two_pages, sizeof(two_pages)), -EFAULT);
	munmap(last, 4096);
	end_child(child);
	assert_int_equal(process_read_memory(child, (uintptr_t)in_memory, copy, sizeof(copy)), -ESRCH);
	assert_int_equal(mappings_read(child, &(struct mappings){0}), -ESRCH);
}

/* More pieces than one system call takes; each third one cannot be read, also because its end is not mapped. */
static void pieces_that_cannot_be_read_spoil_no_other(void **state)
{
	enum { COUNT = 3000, BYTES = sizeof(in_memory) };
	struct process_piece *pieces = xcalloc(COUNT, sizeof(*pieces));
	char *copies = xcalloc(COUNT, BYTES);
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	(void)state;
	munmap(page + 4096, 4096);
	child = start_child(NULL, NULL);
	for (int i = 0; i < COUNT; i++)
		pieces[i] = (struct process_piece){i % 3   ? (uintptr_t)in_memory
						   : i % 2 ? 0
							   : (uintptr_t)page + 4096 - BYTES / 2,
						   BYTES};
	assert_int_equal(process_read_pieces(child, pieces, COUNT, copies), 0);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(pieces[i].bytes, i % 3 ? BYTES : 0);
		if (i % 3)
			assert_string_equal(copies + (size_t)i * BYTES, in_memory);
	}
	end_child(child);
	pieces[0] = (struct process_piece){(uintptr_t)in_memory, BYTES};
	assert_int_equal(process_read_pieces(child, pieces, 1, copies), -ESRCH);
	munmap(page, 4096);
	free(copies);
	free(pieces);
}

/* The first and the last byte of each mapping belong to it, and what lies between two of them to none. */
static void the_mapping_at_an_address_is_found_and_none_in_a_gap(void **state)
{
	struct mappings mappings;
	unsigned gaps = 0;

	(void)state;
	assert_int_equal(mappings_read(getpid(), &mappings), 0);
	assert_true(mappings.list.count > 4);
	for (size_t i = 0; i < mappings.list.count; i++) {
		const struct mapping *mapping = &mappings.list.items[i];
		bool last = i + 1 == mappings.list.count;

		assert_ptr_equal(mappings_at(&mappings, mapping->start), mapping);
		assert_ptr_equal(mappings_at(&mappings, mapping->end - 1), mapping);
		if (!last && mapping->end == mapping[1].start)
			continue;
		assert_null(mappings_at(&mappings, mapping->end));
		gaps++;
	}
	assert_true(gaps > 1);
	assert_null(mappings_at(&mappings, 0));
	assert_null(mappings_at(&(struct mappings){0}, 1));
	mappings_free(&mappings);
}

static bool is_chosen(const char *path)
{
	return !strcmp(path_base(path), "chosen.so");
}

/* What only reads a library, as a debugger or a tool that lists symbols does, does not use it. */
static void a_process_has_a_library_only_where_it_can_execute_it(void **state)
{
	char *folder = make_folder(), *path = xasprintf("%s/chosen.so", folder);
	void *at;

	(void)state;
	write_text(path, TEXT);
	assert_false(mappings_have(getpid(), is_chosen));
	at = map_file(path);
	assert_false(mappings_have(getpid(), is_chosen));
	assert_int_equal(mprotect(at, 4096, PROT_READ | PROT_WRITE), 0);
	assert_false(mappings_have(getpid(), is_chosen));
	assert_int_equal(mprotect(at, 4096, PROT_READ | PROT_EXEC), 0);
	assert_true(mappings_have(getpid(), is_chosen));
	assert_int_equal(unlink(path), 0); /* as an update of the library does */
	assert_true(mappings_have(getpid(), is_chosen));
	munmap(at, 4096);
	assert_false(mappings_have(getpid(), is_chosen));
	free(path);
	remove_folder(folder);
}

/* A user mounts by fusermount where they may write, and chooses the folder's name and the source (fsname=). */
static void a_user_s_names_do_not_make_a_mount_root_s(void **state)
{
	static const char own[] = "36 25 0:44 / /mnt rw,nosuid shared:1 - fuse.sshfs host: rw,user_id=0,group_id=0\n",
			  host[] = "36 25 0:44 / /mnt rw - virtiofs share rw",
			  user[] = "36 25 0:44 / /home/u rw - fuse.x host: rw,user_id=1000,group_id=0,max_read=1",
			  folder[] = "36 25 0:44 / /home/a,user_id=0,b rw - fuse.x x rw,user_id=1000,group_id=0",
			  root[] = "36 25 0:44 /a,user_id=0,b /home/u rw - fuse.x x rw,user_id=1000,group_id=0",
			  source[] = "36 25 0:44 / /home/u rw - fuse.x a,user_id=0,b rw,user_id=1000,group_id=0",
			  kind[] = "36 25 0:44 / /home/u rw - fuse.a,user_id=0,b x rw,user_id=1000,group_id=0",
			  virtual[] = "36 25 0:44 / /home/u rw - fuse.virtiofs virtiofs rw,user_id=1000,group_id=0";
	dev_t device = makedev(0, 44);

	assert_true(mount_is_served_by_root(own, device));
	assert_true(mount_is_served_by_root(host, device));
	assert_false(mount_is_served_by_root(own, makedev(0, 45)));
	assert_false(mount_is_served_by_root(user, device));
	assert_false(mount_is_served_by_root(folder, device));
	assert_false(mount_is_served_by_root(root, device));
	assert_false(mount_is_served_by_root(source, device));
	assert_false(mount_is_served_by_root(kind, device));
	assert_false(mount_is_served_by_root(virtual, device));
	assert_false(mount_is_served_by_root("", device));
	assert_false(mount_is_served_by_root("36 25 0:44 / /mnt rw -", device));
	assert_false(mount_is_served_by_root("36 25 0:44 / /mnt rw - ", device));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_with_parentheses_does_not_shift_the_fields),
		cmocka_unit_test(the_start_is_on_the_monotonic_clock),
		cmocka_unit_test(a_command_line_cannot_drive_the_terminal),
		cmocka_unit_test(a_zombie_is_known_as_one_and_a_dead_one_is_gone),
		cmocka_unit_test(a_process_whose_first_thread_has_ended_is_known_by_another),
		cmocka_unit_test(every_process_is_visited_once_and_kernel_threads_are_not),
		cmocka_unit_test(a_mapping_has_the_name_of_its_file_however_odd),
		cmocka_unit_test(a_replaced_file_is_opened_as_it_was_mapped),
		cmocka_unit_test(another_file_of_the_same_name_is_refused),
		cmocka_unit_test(anonymous_memory_and_devices_are_not_opened),
		cmocka_unit_test(a_file_of_another_mount_namespace_is_opened),
		cmocka_unit_test(a_file_is_opened_by_its_name_within_the_root_of_its_process),
		cmocka_unit_test(memory_is_read_whole_or_not_at_all),
		cmocka_unit_test(pieces_that_cannot_be_read_spoil_no_other),
		cmocka_unit_test(the_mapping_at_an_address_is_found_and_none_in_a_gap),
		cmocka_unit_test(a_process_has_a_library_only_where_it_can_execute_it),
		cmocka_unit_test(a_user_s_names_do_not_make_a_mount_root_s),
	};

	return cmocka_run_group_tests_name("target/process", tests, NULL, NULL);
}
