/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creates mounts that are in no namespace; uses system calls by number, as glibc before 2.36 has no functions for them.
 */
#include "attach/inject/read_only.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* include/uapi/linux/mount.h, which cannot be included beside sys/mount.h; all since Linux 5.2. */
#define TREE_CLONE 1U
#define MOVE_FROM_EMPTY 0x04U
#define MOVE_TO_EMPTY 0x40U
#define CONTEXT_CLOEXEC 1U
#define CONTEXT_SET_FLAG 0U
#define CONTEXT_SET_STRING 1U
#define CONTEXT_CREATE 6U
#define CONTEXT_RECONFIGURE 7U
#define MOUNT_NOSUID_NODEV 0x06U
#define MOUNT_RDONLY 0x01U
/* Since Linux 5.12, the same number on all machines; struct mount_attr of the same header. */
#define SYS_SETATTR 442
struct mount_attributes {
	uint64_t set, clear, propagation, userns_fd;
};

#define BUSY_TRIES 2000 /* 1 ms apart, each takes 0.1 ms: with many injections an execve is always near */

/* ---- a file on an existing file system -----------------------------------------------------------------------------
 */

/* Keeps what the mount forbids already. */
static unsigned long mount_flags(int folder)
{
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
	struct statvfs files;

	if (!fstatvfs(folder, &files) && files.f_flag & ST_NOEXEC)
		flags |= MS_NOEXEC;
	return flags;
}

struct reopening {
	const char *folder, *name;
	int fd; /* the descriptor to replace */
};

/*
 * Runs in a child with gputrace's descriptor table and a mount namespace of its own; makes only system calls, as
 * gputrace may have other threads.
 */
static int reopen_file(const struct reopening *file)
{
	int place = -1, tree = -1, opened = -1, error = 0;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return errno;
	place = open(file->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	tree = (int)syscall(SYS_open_tree, place, "", AT_EMPTY_PATH | TREE_CLONE | O_CLOEXEC);
	if (tree < 0 || syscall(SYS_move_mount, tree, "", place, "", MOVE_FROM_EMPTY | MOVE_TO_EMPTY) || fchdir(tree) ||
	    mount(NULL, ".", NULL, mount_flags(place), NULL)) {
		error = errno;
		goto cleanup;
	}
	opened = openat(tree, file->name, O_RDONLY | O_CLOEXEC);
	if (opened < 0 || dup3(opened, file->fd, O_CLOEXEC) < 0)
		error = errno;
cleanup:
	close(opened);
	close(tree);
	close(place);
	return error;
}

/* Opens the file through a clone of the mount that is in no namespace and is made read-only there. */
static int reopen_nowhere(const struct reopening *file)
{
	const struct mount_attributes read_only = {.set = MOUNT_RDONLY | MOUNT_NOSUID_NODEV};
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, file->folder, TREE_CLONE | O_CLOEXEC), opened = -1, error = 0;

	if (tree < 0)
		return -errno;
	if (syscall(SYS_SETATTR, tree, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)))
		error = -errno;
	if (!error)
		opened = openat(tree, file->name, O_RDONLY | O_CLOEXEC);
	if (!error && (opened < 0 || dup3(opened, file->fd, O_CLOEXEC) < 0))
		error = -errno;
	if (opened >= 0)
		close(opened);
	close(tree);
	return error;
}

/*
 * Before Linux 5.12 only a mount in a namespace can be made read-only: a child has a namespace for it. When that ends
 * the mount is in no namespace, and lives as long as files opened through it.
 */
static void replace_by_read_only(const struct reopening *file)
{
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);

	if (!child)
		_exit(reopen_file(file));
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

int read_only_open(const char *path)
{
	struct reopening file;
	char folder[PATH_MAX];
	char *slash;
	int fd;

	if (!realpath(path, folder))
		return -errno;
	fd = open(folder, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	slash = strrchr(folder, '/');
	*slash = 0;
	file = (struct reopening){.folder = slash > folder ? folder : "/", .name = slash + 1, .fd = fd};
	if (reopen_nowhere(&file))
		replace_by_read_only(&file);
	return fd;
}

bool read_only_is(int fd)
{
	struct statvfs files;

	return !fstatvfs(fd, &files) && files.f_flag & ST_RDONLY;
}

/* ---- a file system of its own ---------------------------------------------------------------------------------------
 */

#define PROGRAM_ADDRESS 0x400000UL

struct program {
	Elf64_Ehdr header;
	Elf64_Phdr text;
	uint8_t code[16];
};

/* Written by hand: an interpreter and libraries would be files of the host in a process that must have none. */
static const struct program program = {
	.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		   .e_type = ET_EXEC,
#if defined(__x86_64__)
		   .e_machine = EM_X86_64,
#else
		   .e_machine = EM_AARCH64,
#endif
		   .e_version = EV_CURRENT,
		   .e_entry = PROGRAM_ADDRESS + offsetof(struct program, code),
		   .e_phoff = offsetof(struct program, text),
		   .e_ehsize = sizeof(Elf64_Ehdr),
		   .e_phentsize = sizeof(Elf64_Phdr),
		   .e_phnum = 1},
	.text = {.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_vaddr = PROGRAM_ADDRESS,
		 .p_filesz = sizeof(struct program),
		 .p_memsz = sizeof(struct program),
		 .p_align = 4096},
#if defined(__x86_64__)
	.code = {0x31, 0xff, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05, 0xf4}, /* exit_group(0); hlt */
#else
	.code = {0, 0, 0x80, 0xd2, 0xc8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4}, /* the same: mov x0; mov x8, 94; svc */
#endif
};

static int write_program(int folder)
{
	int file = openat(folder, READ_ONLY_PROGRAM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555), error = 0;

	if (file < 0)
		return -errno;
	if (write(file, &program, sizeof(program)) != sizeof(program) || fchmod(file, 0555))
		error = -errno;
	close(file);
	/* So far its owner could write: the user of gputrace may have other capabilities than root's. */
	if (!error && fchmodat(folder, ".", 0555, 0))
		error = -errno;
	return error;
}

static int make_nowhere(void)
{
	int context = (int)syscall(SYS_fsopen, "tmpfs", CONTEXT_CLOEXEC), folder = -1, error = 0;

	if (context < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context, CONTEXT_SET_STRING, "mode", "0755", 0) ||
	    syscall(SYS_fsconfig, context, CONTEXT_CREATE, NULL, NULL, 0))
		error = -errno;
	if (!error) {
		folder = (int)syscall(SYS_fsmount, context, CONTEXT_CLOEXEC, MOUNT_NOSUID_NODEV);
		error = folder < 0 ? -errno : write_program(folder);
	}
	if (!error && (syscall(SYS_fsconfig, context, CONTEXT_SET_FLAG, "ro", NULL, 0) ||
		       syscall(SYS_fsconfig, context, CONTEXT_RECONFIGURE, NULL, NULL, 0)))
		error = -errno;
	close(context);
	if (error && folder >= 0)
		close(folder);
	return error ? error : folder;
}

/*
 * A child forked by another gputrace thread keeps the writable file open until its execve: the file system is busy
 * then, and the same one cannot be tried again.
 */
int read_only_nowhere(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int folder = make_nowhere();

	for (int i = 0; i < BUSY_TRIES && folder == -EBUSY; i++) {
		nanosleep(&pause, NULL);
		folder = make_nowhere();
	}
	return folder;
}
