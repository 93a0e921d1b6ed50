/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/thread_id.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Eight bytes of the static TLS that glibc keeps for late libraries (1,664 in all). */
static __thread struct {
	uint32_t id;
	uint32_t number;
} self __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t threads;

uint32_t thread_id(void)
{
	if (!self.id)
		self.id = (uint32_t)syscall(SYS_gettid);
	return self.id;
}

uint32_t thread_number(void)
{
	while (!self.number)
		self.number = atomic_fetch_add(&threads, 1) + 1;
	return self.number;
}

void thread_id_forked(void)
{
	self.id = self.number = 0;
}
