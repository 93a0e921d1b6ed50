/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffers of another profiler: those of one user's processes take no more than their part of gputrace's time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <gputrace/agent.h>

#include "attach/clients/foreign_buffers.h"

#define TAKES 1000

static const char no_time[] = "have taken more than their part of the time";
static char said[512];	 /* by the latest note */
static int64_t ns_ahead; /* of every clock */

/* Each look lets 10 ms pass. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);
	int64_t ns;

	ns_ahead += 10000000;
	ns = time->tv_nsec + ns_ahead;
	time->tv_sec += ns / 1000000000;
	time->tv_nsec = ns % 1000000000;
	return result;
}

static void on_emit(void *context, const struct gpt_record *record)
{
	size_t bytes = record->size < sizeof(said) ? record->size : sizeof(said) - 1;

	for (size_t i = 0; i < bytes; i++)
		said[i] = ((const char *)record)[i] ? ((const char *)record)[i] : ' ';
	said[bytes] = '\0';
}

/* A process whose agent has said how long records are: what is said of a buffer that it has freed. */
static const char *take_freed_buffer(struct foreign_reader *reader, uid_t uid)
{
	union {
		struct gpt_agent_batch batch;
		uint8_t bytes[sizeof(struct gpt_agent_batch) + sizeof(struct gpt_agent_sizes)];
	} one = {.batch = {.hdr = {.size = sizeof(one), .type = GPT_AGENT_BATCH},
			   .bytes = sizeof(struct gpt_agent_sizes)}};
	struct gpt_agent_sizes sizes = {.hdr = {.size = sizeof(sizes), .type = GPT_AGENT_SIZES}};
	struct gpt_cupti_done done = {.hdr = {.size = sizeof(done), .type = GPT_CUPTI_DONE},
				      .pid = (uint32_t)getpid(),
				      .address = 4096,
				      .bytes = 1u << 20};
	struct foreign_buffers buffers = {0};

	memcpy(one.batch.data, &sizes, sizeof(sizes));
	foreign_buffers_record(reader, &buffers, &one.batch);
	assert_non_null(buffers.records);
	said[0] = '\0';
	foreign_buffers_take(reader, &buffers, uid, &done);
	foreign_buffers_forget(&buffers);
	return said;
}

static void no_user_s_buffers_take_the_time_of_all(void **state)
{
	struct foreign_reader reader = {0};
	unsigned taken = 0;

	foreign_reader_open(&reader, ~0u, on_emit, NULL);
	reader.fair = true;
	while (taken < TAKES && !strstr(take_freed_buffer(&reader, 1000), no_time))
		taken++;
	assert_in_range(taken, 10, TAKES - 1);
	assert_non_null(strstr(take_freed_buffer(&reader, 1001), "it freed a buffer"));
	ns_ahead += 60000000000;
	assert_non_null(strstr(take_freed_buffer(&reader, 1000), "it freed a buffer"));
	foreign_reader_close(&reader);
}

static void what_the_user_has_named_has_all_the_time(void **state)
{
	struct foreign_reader reader = {0};

	foreign_reader_open(&reader, ~0u, on_emit, NULL);
	for (unsigned i = 0; i < TAKES; i++)
		assert_non_null(strstr(take_freed_buffer(&reader, 1000), "it freed a buffer"));
	foreign_reader_close(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_user_s_buffers_take_the_time_of_all),
		cmocka_unit_test(what_the_user_has_named_has_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
