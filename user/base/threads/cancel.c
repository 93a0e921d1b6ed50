/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Only a signal ends a write that blocks, and a signal that comes just before the write is lost.  O_NONBLOCK would
 * apply to every process that shares the descriptor.  So a thread writes, and the caller waits for it or for the
 * cancellation, whichever comes first.
 */
#include "base/threads/cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/threads/thread.h"

/* Written to a regular file between two checks of the flag: a disk takes it within milliseconds. */
#define PIECE_BYTES (1u << 20)

#define STACK_BYTES (64u << 10) /* the default 8 MB of address space may not be available */

bool is_cancelled(const struct cancel *cancel)
{
	return cancel && atomic_load(cancel->flag);
}

static int write_all(int fd, const char *data, size_t bytes, const struct cancel *cancel)
{
	while (bytes) {
		ssize_t wrote;

		if (is_cancelled(cancel))
			return -ECANCELED;
		wrote = write(fd, data, bytes < PIECE_BYTES ? bytes : PIECE_BYTES);
		if (wrote < 0 && errno == EAGAIN) { /* another program made it non-blocking */
			struct pollfd ready = {.fd = fd, .events = POLLOUT};

			poll(&ready, 1, -1);
			continue;
		}
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		data += wrote;
		bytes -= (size_t)wrote;
	}
	return 0;
}

/* ---- a reader that may not read ------------------------------------------------------------------------------- */

struct writing {
	int fd, done;	      /* fd: a duplicate, as it may outlive the caller's; done: an eventfd */
	pthread_mutex_t lock; /* guards the next two lines */
	int error;
	bool over, left; /* the thread has finished; the caller has left: the later of the two frees it */
	size_t bytes;
	char data[];
};

static void free_writing(struct writing *writing)
{
	if (writing->fd >= 0)
		close(writing->fd);
	if (writing->done >= 0)
		close(writing->done);
	pthread_mutex_destroy(&writing->lock);
	free(writing);
}

/* True when the other side has left already. */
static bool leave_writing(struct writing *writing, bool *mine, const bool *others)
{
	bool last;

	pthread_mutex_lock(&writing->lock);
	*mine = true;
	last = *others;
	pthread_mutex_unlock(&writing->lock);
	return last;
}

static void *writing_main(void *context)
{
	struct writing *writing = context;
	uint64_t one = 1;
	int error = write_all(writing->fd, writing->data, writing->bytes, NULL);

	pthread_mutex_lock(&writing->lock);
	writing->error = error;
	pthread_mutex_unlock(&writing->lock);
	(void)!write(writing->done, &one, sizeof(one));
	if (leave_writing(writing, &writing->over, &writing->left))
		free_writing(writing);
	return NULL;
}

static int wait_for(const struct writing *writing, const struct cancel *cancel)
{
	struct pollfd waits[] = {{.fd = writing->done, .events = POLLIN}, {.fd = cancel->fd, .events = POLLIN}};

	for (;;) {
		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (waits[0].revents)
			return 0;
		if (is_cancelled(cancel))
			return -ECANCELED;
	}
}

static int write_by_thread(int fd, const void *data, size_t bytes, const struct cancel *cancel)
{
	struct writing *writing = xmalloc(sizeof(*writing) + bytes);
	int error;

	*writing =
		(struct writing){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .done = eventfd(0, EFD_CLOEXEC), .bytes = bytes};
	memcpy(writing->data, data, bytes);
	pthread_mutex_init(&writing->lock, NULL);
	error = writing->fd < 0 || writing->done < 0 ? -errno : thread_start(writing_main, writing, STACK_BYTES, NULL);
	if (error) {
		free_writing(writing);
		return error;
	}
	error = wait_for(writing, cancel);
	pthread_mutex_lock(&writing->lock);
	error = error ? error : writing->error;
	pthread_mutex_unlock(&writing->lock);
	if (leave_writing(writing, &writing->left, &writing->over))
		free_writing(writing);
	return error;
}

int write_unless(int fd, const void *data, size_t bytes, const struct cancel *cancel)
{
	struct stat stat;

	if (is_cancelled(cancel))
		return -ECANCELED;
	if (!cancel || cancel->fd < 0 || !bytes || (!fstat(fd, &stat) && S_ISREG(stat.st_mode)))
		return write_all(fd, data, bytes, cancel);
	return write_by_thread(fd, data, bytes, cancel);
}
