/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For LD_PRELOAD: sends SIGINT to the program before its first write to standard output that is as large as a report.
 * This is the latest time at which a signal does not interrupt the write itself.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE 200

/* True for any descriptor of the same pipe. */
static int is_output(int fd)
{
	struct stat output, this;

	return !fstat(1, &output) && !fstat(fd, &this) && output.st_ino == this.st_ino && output.st_dev == this.st_dev;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	static atomic_int sent;

	if (is_output(fd) && bytes >= LARGE && !atomic_exchange(&sent, 1))
		kill(getpid(), SIGINT);
	return syscall(SYS_write, fd, data, bytes);
}
