/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/share/share_control.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From Linux 5.1 and 6.3; not every header has them. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

/*
 * The list that the kernel walks when the thread has ended (get_robust_list(2)); at close the C library's list is
 * restored. The entry is not in the shared memory, where it could be tampered with: it has an offset to the futex
 * there.
 */
static struct {
	struct robust_list entry;
	struct robust_list_head list;
	struct robust_list_head *before;
	size_t before_bytes;
} robust;

int share_memory_make(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

static void own_control(struct gpt_share_control *shared)
{
	robust.list.list.next = &robust.entry;
	robust.entry.next = &robust.list.list;
	robust.list.futex_offset = (char *)&shared->owner - (char *)&robust.entry;
	robust.list.list_op_pending = NULL;
	shared->owner = (uint32_t)syscall(SYS_gettid);
	syscall(SYS_get_robust_list, 0, &robust.before, &robust.before_bytes);
	syscall(SYS_set_robust_list, &robust.list, sizeof(robust.list));
}

int share_control_open(struct share_control *out)
{
	int error;

	*out = (struct share_control){.fd = share_memory_make("gputrace-control", sizeof(*out->shared))};
	if (out->fd < 0)
		return out->fd;
	out->shared = mmap(NULL, sizeof(*out->shared), PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
	if (out->shared == MAP_FAILED || fcntl(out->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)) {
		error = -errno;
		if (out->shared != MAP_FAILED)
			munmap(out->shared, sizeof(*out->shared));
		close(out->fd);
		*out = (struct share_control){.fd = -1};
		return error;
	}
	out->shared->bytes = sizeof(*out->shared);
	own_control(out->shared);
	return 0;
}

void share_control_close(struct share_control *control)
{
	if (!control->shared)
		return;
	control->shared->session = control->shared->ops = control->shared->batch = 0;
	syscall(SYS_set_robust_list, robust.before, robust.before_bytes);
	__atomic_store_n(&control->shared->owner, FUTEX_OWNER_DIED, __ATOMIC_RELEASE);
	munmap(control->shared, sizeof(*control->shared));
	close(control->fd);
	*control = (struct share_control){.fd = -1};
}
