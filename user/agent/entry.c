/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The entry points of the agent: by the loader, in a process that the collector enters; by the driver, in cuInit; by
 * the collector's call, where the agent is loaded already.
 */
#include "agent/entry.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "agent/process/old_glibc.h"
#include "agent/share/share.h"
#include "agent/share/wait.h"
#include "agent/torch/ops.h"

__attribute__((visibility("default"))) void gputrace_agent_start(const char *asked)
{
	agent_start_deferred(asked);
}

__attribute__((visibility("default"), used)) const uint32_t gputrace_agent_abi = GPT_AGENT_ABI;

/*
 * Runs inside dlopen, on a borrowed thread: must not be slow. Only the collector loads by a path through /proc; any
 * other loader, such as the driver, calls InitializeInjection.
 */
__attribute__((constructor)) static void start_when_loaded(void)
{
	Dl_info self;

	if (!dladdr(&gputrace_agent_abi, &self) || !self.dli_fname)
		return;
	if (!strncmp(self.dli_fname, "/proc/", 6))
		agent_start_deferred(NULL);
	else if (!strncmp(self.dli_fname, GPUTRACE_AGENT_ASLEEP, strlen(GPUTRACE_AGENT_ASLEEP)))
		ops_start();
}

/*
 * CUDA_INJECTION64_PATH holds one library; the collector puts the agent there and keeps the user's own in this
 * variable. The user's goes first: if it takes CUPTI, the agent finds it occupied and reports that.
 */
static int chain_load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*initialize)(void);

	if (!library)
		return 1;
	*(void **)&initialize = dlsym(library, "InitializeInjection");
	return initialize && initialize != InitializeInjection ? initialize() : 1;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static atomic_flag called = ATOMIC_FLAG_INIT;
	const char *chained = secure_getenv("GPUTRACE_CHAINED_INJECTION");
	int result = chained && *chained ? chain_load(chained) : 1;

	if (!share_join(NULL) || !share_wait(agent_start_asked))
		gputrace_agent_status.declined = (uint32_t)getpid();
	/*
	 * The driver calls once, in cuInit, when there is no GPU context yet. With a context CUPTI has taken 5 s to
	 * enable kernel records: only the agent's own thread may wait that long.
	 */
	if (atomic_flag_test_and_set(&called))
		agent_start_deferred(NULL);
	else
		agent_start();
	return result;
}
