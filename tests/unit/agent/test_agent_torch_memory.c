/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of PyTorch's allocators, with the test's own libraries: what is reported, and that calls reach their
 * functions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/clock.h"
#include "agent/process/import_table.h"
#include "agent/torch/ops.h"
#include "agent/process/path.h"
#include "agent_points.h"
#include "fake_c10.h"

#define CPU_NEW "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
#define USAGE "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

static void *torch_library, *cuda_library;
static const struct fake_c10 *c10;
static const struct fake_c10_cuda *cuda;

static void *load_library(const char *name)
{
	char here[4096], path[5000];
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);
	void *library;

	assert_true(length > 0);
	here[length] = '\0';
	*strrchr(here, '/') = '\0';
	snprintf(path, sizeof(path), "%s/fake_torch_2.14/%s", here, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		print_error("%s\n", dlerror());
	assert_non_null(library);
	return library;
}

static void load_cuda(void)
{
	cuda_library = load_library("libc10_cuda.so");
	cuda = dlsym(cuda_library, "fake_c10_cuda");
	assert_non_null(cuda);
}

static const struct gpt_agent_torch_memory_state *last_state(void)
{
	const struct gpt_agent_torch_memory_state *last = NULL, *one;

	for (unsigned n = 0; (one = said_record(GPT_AGENT_TORCH_MEMORY_STATE, n)); n++)
		last = one;
	return last;
}

static bool has_seen(unsigned what)
{
	const struct gpt_agent_torch_memory_state *last = last_state();

	return last && last->seen == what;
}

static void assert_state_says(const char *why)
{
	char text[200];

	assert_true(last_state()->bytes < sizeof(text));
	snprintf(text, sizeof(text), "%.*s", (int)last_state()->bytes, last_state()->text);
	assert_string_equal(text, why);
}

#define OF_CPU (1u << GPT_AGENT_TORCH_MEMORY_OF_CPU)
#define OF_CUDA (1u << GPT_AGENT_TORCH_MEMORY_OF_CUDA)

static void begin_listening(void)
{
	gputrace_agent_torch_memory_semaphore = 1;
	gputrace_agent_ops_semaphore = 1;
	ops_start();
}

static void stop_listening(void)
{
	gputrace_agent_ops_semaphore = gputrace_agent_torch_memory_semaphore = gputrace_agent_memory_lines_semaphore =
		0;
	UNTIL(ops_are(GPT_AGENT_OPS_STOPPED));
}

static int begin_test(void **state)
{
	said.bytes = 0;
	said.stack_count = 0;
	cuda_library = NULL;
	torch_library = load_library("libtorch_cpu.so");
	c10 = dlsym(torch_library, "fake_c10");
	assert_non_null(c10);
	c10->heard->calls = 0;
	return 0;
}

static int end_test(void **state)
{
	if (gputrace_agent_ops_semaphore)
		stop_listening();
	if (cuda_library)
		dlclose(cuda_library);
	dlclose(torch_library);
	return 0;
}

static const struct gpt_agent_torch_memory *said_event(unsigned n)
{
	return said_record(GPT_AGENT_TORCH_MEMORY, n);
}

static void *address_of(uintptr_t value)
{
	return (void *)value;
}

static void blocks_of_the_cpu_are_reported_and_the_reporter_hears_of_them_too(void **state)
{
	uint64_t before = clock_now_ns();

	begin_listening();
	UNTIL(has_seen(OF_CPU));
	c10->allocate(address_of(0x1000), 400);
	assert_int_equal(c10->heard->bytes, 400);
	c10->release(address_of(0x1000));
	assert_ptr_equal(c10->heard->address, address_of(0x1000));
	c10->run_out(1u << 30);
	assert_int_equal(c10->heard->bytes, 1u << 30);
	assert_int_equal(c10->heard->calls, 3);
	stop_listening();
	assert_int_equal(said_event(0)->kind, GPT_AGENT_TORCH_MEMORY_ALLOCATED);
	assert_int_equal(said_event(0)->address, 0x1000);
	assert_int_equal(said_event(0)->bytes, 400);
	assert_int_equal(said_event(0)->device_type, GPT_TORCH_CPU);
	assert_int_equal(said_event(0)->device, -1);
	assert_int_equal(said_event(0)->tid, gettid());
	assert_true(before <= said_event(0)->time_ns && said_event(0)->time_ns <= said_event(1)->time_ns);
	assert_false(said_event(0)->has_totals);
	assert_int_equal(said_event(1)->kind, GPT_AGENT_TORCH_MEMORY_FREED);
	assert_int_equal(said_event(1)->address, 0x1000);
	assert_int_equal(said_event(2)->kind, GPT_AGENT_TORCH_MEMORY_OUT);
	assert_int_equal(said_event(2)->bytes, 1u << 30);
	assert_null(said_event(3));
	assert_int_equal(last_state()->reported, 3);
	assert_int_equal(last_state()->lost, 0);
}

static void events_of_a_gpu_have_what_its_allocator_says(void **state)
{
	load_cuda();
	begin_listening();
	UNTIL(has_seen(OF_CPU | OF_CUDA));
	cuda->report(address_of(0x2000), 512, 1024, 4096, (struct fake_device){GPT_TORCH_CUDA, 3});
	cuda->report(address_of(0x2000), -512, 512, 4096, (struct fake_device){GPT_TORCH_CUDA, 3});
	cuda->run_out(1 << 20, 512, 4096, (struct fake_device){GPT_TORCH_CUDA, 3});
	assert_int_equal(c10->heard->calls, 3);
	assert_int_equal(c10->heard->device.index, 3);
	assert_int_equal(c10->heard->reserved, 4096);
	stop_listening();
	assert_int_equal(said_event(0)->bytes, 512);
	assert_int_equal(said_event(0)->allocated, 1024);
	assert_int_equal(said_event(0)->reserved, 4096);
	assert_int_equal(said_event(0)->device_type, GPT_TORCH_CUDA);
	assert_int_equal(said_event(0)->device, 3);
	assert_true(said_event(0)->has_totals);
	assert_int_equal(said_event(1)->kind, GPT_AGENT_TORCH_MEMORY_FREED);
	assert_int_equal(said_event(1)->bytes, -512);
	assert_int_equal(said_event(2)->kind, GPT_AGENT_TORCH_MEMORY_OUT);
}

/* As libtorch_cpu reports memory that processes share. */
static void what_a_library_says_of_the_cpu_has_its_sign_and_its_totals(void **state)
{
	load_cuda();
	begin_listening();
	UNTIL(has_seen(OF_CPU | OF_CUDA));
	cuda->report(address_of(0x3000), 4000, 0, 8000, (struct fake_device){GPT_TORCH_CPU, -1});
	cuda->report(address_of(0x3000), -4000, 0, 4000, (struct fake_device){GPT_TORCH_CPU, -1});
	stop_listening();
	assert_int_equal(said_event(0)->kind, GPT_AGENT_TORCH_MEMORY_ALLOCATED);
	assert_int_equal(said_event(0)->bytes, 4000);
	assert_int_equal(said_event(0)->reserved, 8000);
	assert_int_equal(said_event(1)->kind, GPT_AGENT_TORCH_MEMORY_FREED);
	assert_int_equal(said_event(1)->bytes, -4000);
	assert_true(said_event(0)->has_totals && said_event(1)->has_totals);
	assert_int_equal(said_event(1)->tid, gettid());
}

static void a_library_that_comes_later_is_followed_too(void **state)
{
	begin_listening();
	UNTIL(has_seen(OF_CPU));
	load_cuda();
	UNTIL(has_seen(OF_CPU | OF_CUDA));
	cuda->report(address_of(0x2000), 512, 512, 4096, (struct fake_device){GPT_TORCH_CUDA, 0});
	stop_listening();
	assert_int_equal(said_event(0)->bytes, 512);
}

static void stacks_are_taken_of_what_is_worth_one_unless_all_are_wanted(void **state)
{
	load_cuda();
	begin_listening();
	UNTIL(has_seen(OF_CPU | OF_CUDA));
	c10->allocate(address_of(0x1000), GPT_AGENT_TORCH_MEMORY_LARGE - 1);
	c10->allocate(address_of(0x2000), GPT_AGENT_TORCH_MEMORY_LARGE);
	c10->release(address_of(0x2000));
	cuda->report(address_of(0x3000), 512, 512, 4096, (struct fake_device){GPT_TORCH_CUDA, 0});
	c10->run_out(8);
	gputrace_agent_memory_lines_semaphore = 1;
	c10->release(address_of(0x1000));
	stop_listening();
	assert_int_equal(said_event(0)->stack, 0);
	assert_int_equal(said_event(1)->stack, said.stacks[0]);
	assert_int_equal(said_event(2)->stack, 0);
	assert_int_equal(said_event(3)->stack, said.stacks[1]);
	assert_int_equal(said_event(4)->stack, said.stacks[2]);
	assert_int_equal(said_event(5)->stack, said.stacks[3]);
	assert_int_equal(said.stack_count, 4);
	assert_int_equal(said.stacks_of[0], GPT_STACK_OF_MEMORY);
}

/* ---- calls reach their functions --------------------------------------------------------------- */

static void *_Atomic *entry;

struct import {
	const char *library, *function;
};

static const struct import cpu_new = {"libc10.so", CPU_NEW}, usage = {"libc10_cuda.so", USAGE};

static int find_entry(struct dl_phdr_info *info, size_t size, void *wanted)
{
	const struct import *import = wanted;
	struct import_table table;
	void *_Atomic *at;
	const char *name;
	size_t index = 0;

	if (strcmp(path_base(info->dlpi_name), import->library) != 0 || !import_table_read(&table, info))
		return 0;
	while ((at = import_table_next_call(&table, &index, &name)))
		if (!strcmp(name, import->function))
			entry = at;
	index = 0;
	while (!entry && (at = import_table_next_address(&table, &index, &name)))
		if (!strcmp(name, import->function))
			entry = at;
	return 0;
}

static void calls_are_put_back_when_no_one_listens_any_more(void **state)
{
	void *before;

	dl_iterate_phdr(find_entry, (void *)(uintptr_t)&cpu_new);
	assert_non_null(entry);
	before = atomic_load(entry);
	begin_listening();
	UNTIL(has_seen(OF_CPU));
	assert_ptr_not_equal(atomic_load(entry), before);
	stop_listening();
	assert_ptr_equal(atomic_load(entry), before);
	c10->allocate(address_of(0x1000), 400);
	assert_int_equal(c10->heard->calls, 1);
	assert_null(said_event(0));
}

static void somebody_elses_call(void *reporter, void *where, size_t bytes)
{
	(void)reporter, (void)where, (void)bytes;
}

/* The entry may be in memory that is read-only after relocation, as the agent leaves it. */
static void set_entry(void *to)
{
	assert_true(mprotect((void *)((uintptr_t)entry & ~4095ul), 4096, PROT_READ | PROT_WRITE) == 0);
	atomic_store(entry, to);
}

static void assert_left_alone(const struct import *import, unsigned seen, const char *why)
{
	void *before;

	entry = NULL;
	dl_iterate_phdr(find_entry, (void *)(uintptr_t)import);
	assert_non_null(entry);
	before = atomic_load(entry);
	set_entry((void *)somebody_elses_call);
	begin_listening();
	UNTIL(last_state());
	assert_int_equal(last_state()->seen, seen);
	assert_state_says(why);
	assert_ptr_equal(atomic_load(entry), (void *)somebody_elses_call);
	stop_listening();
	set_entry(before);
	said.bytes = 0;
}

static void a_call_that_leads_to_somebody_else_is_left_alone_and_that_is_said(void **state)
{
	assert_left_alone(&cpu_new, 0, "libc10 does not report the CPU's memory in a way that is known");
	load_cuda();
	assert_left_alone(&usage, OF_CPU, "libc10_cuda does not report its memory in a way that is known");
}

static void a_forked_child_goes_on_as_before_and_says_nothing(void **state)
{
	pid_t child;
	int status;

	begin_listening();
	UNTIL(has_seen(OF_CPU));
	child = fork();
	if (!child) {
		c10->allocate(address_of(0x1000), 400);
		_exit(c10->heard->calls == 1 && c10->heard->bytes == 400 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	stop_listening();
	assert_null(said_event(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(blocks_of_the_cpu_are_reported_and_the_reporter_hears_of_them_too,
						begin_test, end_test),
		cmocka_unit_test_setup_teardown(events_of_a_gpu_have_what_its_allocator_says, begin_test, end_test),
		cmocka_unit_test_setup_teardown(what_a_library_says_of_the_cpu_has_its_sign_and_its_totals, begin_test,
						end_test),
		cmocka_unit_test_setup_teardown(a_library_that_comes_later_is_followed_too, begin_test, end_test),
		cmocka_unit_test_setup_teardown(stacks_are_taken_of_what_is_worth_one_unless_all_are_wanted, begin_test,
						end_test),
		cmocka_unit_test_setup_teardown(calls_are_put_back_when_no_one_listens_any_more, begin_test, end_test),
		cmocka_unit_test_setup_teardown(a_call_that_leads_to_somebody_else_is_left_alone_and_that_is_said,
						begin_test, end_test),
		cmocka_unit_test_setup_teardown(a_forked_child_goes_on_as_before_and_says_nothing, begin_test,
						end_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
