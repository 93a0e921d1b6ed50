/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent as an NVTX tool: which functions it takes over, what it sends, and what happens when there is no room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "agent/send/batch_send.h"
#include "agent/process/clock.h"
#include "agent/nvtx/nvtx.h"
#include "agent/nvtx/nvtx_abi.h"
#include "agent/nvtx/range_queue.h"
#include "agent_points.h"

/* NVTX inside a program: slots for functions, by module and id. */
static nvtx_function core[16], core2[16];
static nvtx_function *core_table[17], *core2_table[17];
static unsigned known = 16; /* the ids below it exist */

static int module_table(uint32_t module, nvtx_function ***table, unsigned *count)
{
	*table = module == NVTX_MODULE_CORE ? core_table : core2_table;
	*count = known;
	return module == NVTX_MODULE_CORE || module == NVTX_MODULE_CORE2;
}

static const void *export_table(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = {.size = sizeof(callbacks), .module_table = module_table};

	return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static const void *no_table(uint32_t id)
{
	return NULL;
}

#define CALL(table, id, type, ...) (((type)(table)[id])(__VA_ARGS__))

typedef int (*push_type)(const char *);
typedef int (*push_wide_type)(const wchar_t *);
typedef int (*push_ex_type)(const struct nvtx_attributes *);
typedef int (*pop_type)(void);
typedef uint64_t (*start_type)(const char *);
typedef void (*end_type)(uint64_t);
typedef void (*mark_type)(const char *);
typedef const void *(*create_type)(const char *);
typedef const void *(*register_type)(const void *, const char *);
typedef int (*domain_push_type)(const void *, const struct nvtx_attributes *);
typedef int (*domain_pop_type)(const void *);

static int push_range(const char *text)
{
	return CALL(core, 9, push_type, text);
}

static int pop_range(void)
{
	return CALL(core, 11, pop_type);
}

static struct batch batch = {.send = batch_to_collector};

static void send_all(void)
{
	said.bytes = 0;
	ranges_send(&batch, nvtx_domain_name);
	batch_flush(&batch);
}

/* The n-th range event of the last send_all. */
static const struct gpt_agent_range *sent_range(unsigned n)
{
	return said_record(GPT_AGENT_RANGE, n);
}

static bool has_name(const struct gpt_agent_range *range, const char *name, const char *domain)
{
	return range && range->bytes == strlen(name) && !memcmp(range->text, name, range->bytes) &&
	       range->domain_bytes == strlen(domain) &&
	       !memcmp(range->text + range->bytes, domain, range->domain_bytes);
}

static int begin_test(void **state)
{
	unsigned i;

	known = 16;
	for (i = 0; i < 16; i++) {
		core[i] = core2[i] = NULL;
		core_table[i] = i ? &core[i] : NULL;
		core2_table[i] = i ? &core2[i] : NULL;
	}
	gputrace_agent_semaphore = 2;
	gputrace_agent_activity_set_nvtx_semaphore = 1;
	ranges_send(&batch, nvtx_domain_name);
	batch.used = 0;
	return InitializeInjectionNvtx2(export_table) == 1 ? 0 : -1;
}

static void begins_and_ends_are_sent_with_time_thread_and_name(void **state)
{
	uint64_t before = clock_now_ns();
	const struct gpt_agent_range *range;

	assert_int_equal(push_range("forward"), -2);
	assert_int_equal(pop_range(), -2);
	send_all();
	range = sent_range(0);
	assert_true(has_name(range, "forward", ""));
	assert_int_equal(range->what, GPT_AGENT_RANGE_PUSHED);
	assert_int_equal(range->tid, gettid());
	assert_true(before <= range->time_ns && range->time_ns <= clock_now_ns());
	assert_int_equal(sent_range(1)->what, GPT_AGENT_RANGE_POPPED);
	assert_true(sent_range(1)->time_ns >= range->time_ns);
	assert_null(sent_range(2));
}

static void started_ranges_have_numbers_and_marks_none(void **state)
{
	uint64_t first = CALL(core, 5, start_type, "a"), second = CALL(core, 5, start_type, "b");

	CALL(core, 7, end_type, first);
	CALL(core, 2, mark_type, "now");
	assert_true(first && second && first != second);
	send_all();
	assert_int_equal(sent_range(0)->id, first);
	assert_int_equal(sent_range(1)->id, second);
	assert_int_equal(sent_range(2)->what, GPT_AGENT_RANGE_ENDED);
	assert_int_equal(sent_range(2)->id, first);
	assert_int_equal(sent_range(3)->what, GPT_AGENT_RANGE_MARK);
	assert_true(has_name(sent_range(3), "now", ""));
}

static void a_domain_is_its_name_and_pops_only_its_own(void **state)
{
	const void *layers = CALL(core2, 12, create_type, "layers"), *again = CALL(core2, 12, create_type, "layers");
	const void *other = CALL(core2, 12, create_type, "other");
	struct nvtx_attributes text = {.version = 3, .size = sizeof(text), .message_type = 1, .message = "conv"};
	struct nvtx_attributes string = {.version = 3, .size = sizeof(string), .message_type = 3};

	assert_ptr_equal(layers, again);
	assert_ptr_not_equal(layers, other);
	string.message = CALL(core2, 10, register_type, other, "relu");
	CALL(core2, 4, domain_push_type, layers, &text);
	CALL(core2, 4, domain_push_type, other, &string);
	CALL(core2, 5, domain_pop_type, layers);
	send_all();
	assert_true(has_name(sent_range(0), "conv", "layers"));
	assert_true(has_name(sent_range(1), "relu", "other"));
	assert_int_equal(sent_range(2)->domain, sent_range(0)->domain);
	assert_int_not_equal(sent_range(1)->domain, sent_range(0)->domain);
	assert_int_not_equal(sent_range(1)->domain, 0);
}

static void handles_that_are_not_ours_are_no_domain_and_no_string(void **state)
{
	struct nvtx_attributes string = {.version = 3, .size = sizeof(string), .message_type = 3, .message = "wild"};
	struct nvtx_attributes old = {.version = 1, .size = 16, .message_type = 1, .message = "beyond its end"};

	CALL(core2, 4, domain_push_type, &string, &string);
	CALL(core, 8, push_ex_type, &old);
	CALL(core, 8, push_ex_type, NULL);
	send_all();
	assert_true(has_name(sent_range(0), "", ""));
	assert_int_equal(sent_range(0)->domain, 0);
	assert_true(has_name(sent_range(1), "", ""));
	assert_true(has_name(sent_range(2), "", ""));
}

static void names_are_utf8_and_truncated_between_characters(void **state)
{
	wchar_t wide[300];
	char whole[201], longer[300];
	unsigned i;

	for (i = 0; i < 299; i++)
		wide[i] = 0x20ac; /* three bytes each: 65 fit before TRUNCATION_MARK */
	wide[299] = 0;
	memset(whole, 'x', 200);
	whole[200] = '\0';
	memset(longer, 'y', 299);
	longer[299] = '\0';
	CALL(core, 10, push_wide_type, wide);
	CALL(core, 10, push_wide_type, L"gr\u00f6\u00dfe \U0001f600");
	push_range(whole);
	push_range(longer);
	send_all();
	assert_int_equal(sent_range(0)->bytes, 65 * 3 + 3);
	assert_memory_equal(sent_range(0)->text + 65 * 3, "...", 3);
	assert_true(has_name(sent_range(1),
			     "gr\xc3\xb6\xc3\x9f"
			     "e \xf0\x9f\x98\x80",
			     ""));
	assert_true(has_name(sent_range(2), whole, ""));
	assert_int_equal(sent_range(3)->bytes, 200);
	assert_memory_equal(sent_range(3)->text + 197, "...", 3);
}

static void nothing_is_kept_while_no_one_wants_it(void **state)
{
	gputrace_agent_activity_set_nvtx_semaphore = 0;
	push_range("not asked for");
	gputrace_agent_activity_set_nvtx_semaphore = 1;
	gputrace_agent_semaphore = 0;
	push_range("no one listens");
	assert_int_equal(CALL(core, 5, start_type, "no one listens"), 0);
	gputrace_agent_semaphore = 2;
	send_all();
	assert_null(sent_range(0));
}

static void what_has_no_room_is_counted_from_when_on(void **state)
{
	uint64_t before = 0;
	unsigned i;

	for (i = 0; i < RANGES_MAX + 7; i++) {
		if (i == RANGES_MAX)
			before = clock_now_ns();
		push_range("x");
	}
	/* the test cannot keep all of them */
	ranges_send(&batch, nvtx_domain_name);
	said.bytes = 0;
	batch_flush(&batch);
	for (i = 0; sent_range(i + 1); i++)
		;
	assert_int_equal(sent_range(i)->what, GPT_AGENT_RANGE_LOST);
	assert_int_equal(sent_range(i)->id, 7);
	assert_true(sent_range(i)->time_ns >= before);
	push_range("goes on");
	send_all();
	assert_true(has_name(sent_range(0), "goes on", ""));
	assert_null(sent_range(1)); /* and the loss is reported once */
}

static void a_fork_leaves_the_parents_ranges_to_the_parent(void **state)
{
	int status;
	pid_t child;

	push_range("of the parent");
	child = fork();
	if (!child) {
		push_range("of the child");
		send_all();
		_exit(has_name(sent_range(0), "of the child", "") && sent_range(0)->tid == (uint32_t)getpid() &&
				      !sent_range(1)
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	send_all();
	assert_true(has_name(sent_range(0), "of the parent", ""));
}

static void only_what_nvtx_has_is_filled_in(void **state)
{
	unsigned i;

	core[11] = core2[12] = NULL;
	core2_table[12] = NULL; /* a slot that this NVTX does not have */
	known = 11;
	assert_int_equal(InitializeInjectionNvtx2(export_table), 1);
	assert_null(core[11]);
	assert_null(core2[12]);
	assert_null(core[12]);	/* names of categories: the agent does not take them */
	assert_null(core2[15]); /* nvtxInitialize */
	for (i = 1; i < 11; i++)
		assert_non_null(core[i]);
	assert_int_equal(InitializeInjectionNvtx2(no_table), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(begins_and_ends_are_sent_with_time_thread_and_name, begin_test),
		cmocka_unit_test_setup(started_ranges_have_numbers_and_marks_none, begin_test),
		cmocka_unit_test_setup(a_domain_is_its_name_and_pops_only_its_own, begin_test),
		cmocka_unit_test_setup(handles_that_are_not_ours_are_no_domain_and_no_string, begin_test),
		cmocka_unit_test_setup(names_are_utf8_and_truncated_between_characters, begin_test),
		cmocka_unit_test_setup(nothing_is_kept_while_no_one_wants_it, begin_test),
		cmocka_unit_test_setup(what_has_no_room_is_counted_from_when_on, begin_test),
		cmocka_unit_test_setup(a_fork_leaves_the_parents_ranges_to_the_parent, begin_test),
		cmocka_unit_test_setup(only_what_nvtx_has_is_filled_in, begin_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
