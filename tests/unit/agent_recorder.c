/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stands in for the kernel and the collector: preloaded, it replaces the agent's probe points and counters, and writes
 * what the agent reports into the file AGENT_RECORD.PID: two 32-bit words (what, bytes), then the data. what: 1 call
 * (corr, api, thread), 2 batch, 3 state (state, abi).
 *
 * AGENT_RECORD_STOP_CALLS=N: at the Nth call the listener leaves like a collector that ends a trace (the counter of
 * batches stays up). AGENT_RECORD_KILL_CALLS=N: both counters drop, as when the collector is killed.
 * AGENT_RECORD_COMES_AT_STOP=1: another listener comes when the agent says that its session has ended, once.
 * AGENT_RECORD_SETS=NAMES: the activity sets wanted besides kernels, separated by commas; all of them if it is not set.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "agent/send/points.h"

unsigned short gputrace_agent_semaphore, gputrace_agent_batch_semaphore;

#define RECORD_SET(enumerator, name) unsigned short gputrace_agent_activity_set_##name##_semaphore;
GPT_AGENT_ACTIVITY_SETS(RECORD_SET)

/* For scripts that wait for the agent: the number of batches it has sent, and its last state. */
_Atomic unsigned agent_recorder_batches, agent_recorder_state;

static int file = -1;
static _Atomic unsigned calls;
static unsigned stop_at, kill_at; /* 0: never */
static unsigned comes_at_stop;

static void put_data(uint32_t what, const void *data, uint32_t bytes)
{
	uint32_t header[2] = {what, bytes};
	struct iovec parts[2] = {{header, sizeof(header)}, {(void *)(uintptr_t)data, bytes}};

	/* A child of the owner must stay silent: its records would show up as extra ones. */
	if (file >= 0 && writev(file, parts, 2) < 0)
		abort();
}

void gputrace_agent_call(uint32_t corr, uint32_t api, const void *params)
{
	uint32_t words[3] = {corr, api, (uint32_t)syscall(SYS_gettid)};
	unsigned made;

	put_data(1, words, sizeof(words));
	made = ++calls;
	if (made == kill_at)
		*(volatile unsigned short *)&gputrace_agent_batch_semaphore = 0;
	if (made == kill_at || made == stop_at)
		*(volatile unsigned short *)&gputrace_agent_semaphore = 0;
}

static bool says_stopped(const char *data, uint64_t bytes)
{
	const struct gpt_agent_hello *hello;

	for (uint64_t at = 0; at < bytes; at += hello->hdr.size) {
		hello = (const struct gpt_agent_hello *)(data + at);
		if (hello->hdr.type == GPT_AGENT_HELLO && hello->state == GPT_AGENT_STOPPED)
			return true;
	}
	return false;
}

void gputrace_agent_batch(const void *data, uint64_t bytes, uint64_t own_thread)
{
	put_data(2, data, (uint32_t)bytes);
	agent_recorder_batches++;
	if (!comes_at_stop || !says_stopped(data, bytes))
		return;
	comes_at_stop = 0;
	*(volatile unsigned short *)&gputrace_agent_semaphore = 2;
}

void gputrace_agent_state(uint32_t state, uint32_t abi)
{
	uint32_t words[2] = {state, abi};

	put_data(3, words, sizeof(words));
	agent_recorder_state = state;
}

static unsigned read_number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? (unsigned)atoi(text) : 0;
}

static unsigned short wants_set(const char *name)
{
	const char *sets = getenv("AGENT_RECORD_SETS");

	return !sets || strstr(sets, name);
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("AGENT_RECORD");
	char name[4096];

	if (!path)
		return;

	snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());
	file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	gputrace_agent_semaphore = 2; /* as two probes do */
	gputrace_agent_batch_semaphore = 1;
#define RECORD_WANT(enumerator, name) gputrace_agent_activity_set_##name##_semaphore = wants_set(#name);
	GPT_AGENT_ACTIVITY_SETS(RECORD_WANT)
	stop_at = read_number("AGENT_RECORD_STOP_CALLS");
	kill_at = read_number("AGENT_RECORD_KILL_CALLS");
	comes_at_stop = read_number("AGENT_RECORD_COMES_AT_STOP");
}
