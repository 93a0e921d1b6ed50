/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which thread may be borrowed, by its /proc entries; and the instructions with which a libc returns its errno. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/inject/addresses.h"
#include "attach/inject/safe_point.h"
#include "attach/inject/stack.h"

/* ---- /proc/PID/task/TID/syscall ---------------------------------------------------------------------- */

static void a_blocked_call_is_read_with_its_arguments(void **state)
{
	struct thread_call call;

	assert_true(thread_call_parse("7 0x7ffd1 0x2 0xffffffff 0x0 0x0 0x5 0x7ffe0010 0x7f00cafe\n", &call));
	assert_int_equal(call.number, SYS_poll);
	assert_int_equal(call.args[0], 0x7ffd1);
	assert_int_equal(call.args[2], 0xffffffff);
	assert_int_equal(call.args[5], 5);
	assert_int_equal(call.sp, 0x7ffe0010);
	assert_int_equal(call.pc, 0x7f00cafe);
}

static void a_running_thread_and_one_in_a_fault_are_in_no_call(void **state)
{
	struct thread_call call;

	assert_true(thread_call_parse("running\n", &call));
	assert_int_equal(call.number, SYSCALL_RUNNING);
	assert_int_equal(safe_point_of_call(&call).rank, 0);
	assert_true(thread_call_parse("-1 0x7ffe0010 0x7f00cafe\n", &call));
	assert_int_equal(call.number, SYSCALL_NONE);
	assert_int_equal(safe_point_of_call(&call).rank, 0);
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {"",		  "\n", "7", "7 0x1 0x2", "7 0x1 0x2 0x3 0x4 0x5 0x6 0x7",
					    "-2 0x1 0x2", "x"};
	struct thread_call call;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(thread_call_parse(texts[i], &call));
}

/* ---- the calls ------------------------------------------------------------------------------------------ */

static struct safe_point point_of_call(long number, uint64_t a1, uint64_t a3)
{
	const struct thread_call call = {.number = number, .args = {0, a1, 0, a3}};

	return safe_point_of_call(&call);
}

static void calls_of_the_allocator_and_the_loader_are_never_safe(void **state)
{
	static const long numbers[] = {SYS_brk,	   SYS_mmap,	      SYS_munmap,     SYS_mprotect, SYS_madvise,
				       SYS_openat, SYS_vfork,	      SYS_clone,      SYS_execve,   SYS_exit,
				       SYS_write,  SYS_rt_sigsuspend, SYS_futex_waitv};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(point_of_call(numbers[i], 0, 0).rank, 0);
}

static void a_wait_on_a_futex_is_safe_and_other_uses_are_not(void **state)
{
	assert_true(point_of_call(SYS_futex, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0).rank > 0);
	assert_true(point_of_call(SYS_futex, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0).rank >
		    0);
	assert_int_equal(point_of_call(SYS_futex, FUTEX_LOCK_PI, 0).rank, 0);
	assert_int_equal(point_of_call(SYS_futex, FUTEX_CMP_REQUEUE, 0).rank, 0);
}

static void a_wait_whose_rest_would_be_lost_has_to_be_fresh(void **state)
{
	assert_int_equal(point_of_call(SYS_epoll_wait, 0, (uint32_t)-1).condition, SAFE_POINT_ALWAYS);
	assert_int_equal(point_of_call(SYS_epoll_wait, 0, 5000).condition, SAFE_POINT_FRESH);
	assert_int_equal(point_of_call(SYS_epoll_pwait, 0, 5000).condition, SAFE_POINT_FRESH);
	assert_int_equal(point_of_call(SYS_epoll_pwait2, 0, 0).condition, SAFE_POINT_ALWAYS);
	assert_int_equal(point_of_call(SYS_epoll_pwait2, 0, 0x7ffe0000).condition, SAFE_POINT_FRESH);
	assert_int_equal(point_of_call(SYS_poll, 0, 0).condition, SAFE_POINT_ALWAYS);
	assert_int_equal(point_of_call(SYS_recvfrom, 0, 0).condition, SAFE_POINT_SOCKET);
}

static void waits_that_the_kernel_takes_up_exactly_come_first(void **state)
{
	unsigned poll = point_of_call(SYS_poll, 0, 0).rank, futex = point_of_call(SYS_futex, FUTEX_WAIT, 0).rank;

	assert_true(poll > futex);
	assert_true(futex > point_of_call(SYS_read, 0, 0).rank);
	assert_true(point_of_call(SYS_read, 0, 0).rank > point_of_call(SYSCALL_RESTARTED, 0, 0).rank);
}

/* ---- /proc/PID/task/TID/status ----------------------------------------------------------------------- */

static void a_status_is_read(void **state)
{
	struct thread_status status;

	assert_true(thread_status_parse("Name:\tState: X\nState:\tS (sleeping)\nTgid:\t20\nPid:\t21\nTracerPid:\t33\n"
					"NSpid:\t21\t7\t3\nSigPnd:\t0000000000000001\nShdPnd:\t0000000000000400\n"
					"SigBlk:\t0000000000000002\nSigCgt:\t0000000000410000\nSeccomp:\t2\n"
					"Seccomp_filters:\t3\nNoNewPrivs:\t1\nCapBnd:\t00000000a80425fb\n"
					"voluntary_ctxt_switches:\t1234\nnonvoluntary_ctxt_switches:\t99\n"
					"x86_Thread_features:\tshstk wrss\n",
					&status));
	assert_int_equal(status.state, 'S');
	assert_int_equal(status.tracer, 33);
	assert_int_equal(status.ns_tid, 3);
	assert_int_equal(status.pending, 0x401);
	assert_int_equal(status.blocked, 2);
	assert_int_equal(status.caught, 0x410000);
	assert_int_equal(status.seccomp, 2);
	assert_int_equal(status.filters, 3);
	assert_true(status.no_new_privs);
	assert_int_equal(status.bounding, 0xa80425fb);
	assert_int_equal(status.switches, 1234);
	assert_true(status.shadow_stack);
}

static void a_status_without_the_lines_of_newer_kernels_is_read(void **state)
{
	struct thread_status status;

	assert_true(thread_status_parse("Name:\tx\nState:\tR (running)\nPid:\t21\n", &status));
	assert_int_equal(status.state, 'R');
	assert_int_equal(status.ns_tid, 21);
	assert_false(status.shadow_stack);
	assert_true(thread_status_parse("State:\tS\nx86_Thread_features:\t\nOther:\tshstk\n", &status));
	assert_false(status.shadow_stack);
	assert_false(thread_status_parse("Name:\tx\n", &status));
	assert_false(thread_status_parse("", &status));
}

/* ---- mappings --------------------------------------------------------------------------------------------- */

static void locks_in_the_data_of_libc_and_loader_are_theirs(void **state)
{
	struct mapping list[] = {
		{.start = 0x1000, .end = 0x2000, .inode = 5, .path = "/usr/lib/libpython3.12.so.1.0"},
		{.start = 0x2000, .end = 0x3000, .inode = 0, .path = ""},
		{.start = 0x5000, .end = 0x6000, .inode = 6, .path = "/usr/lib/libc.so.6", .writable = true},
		{.start = 0x6000, .end = 0x9000, .inode = 0, .path = ""},
		{.start = 0xa000, .end = 0xb000, .inode = 0, .path = ""},
		{.start = 0xc000, .end = 0xd000, .inode = 7, .path = "/lib64/ld-linux-x86-64.so.2"},
	};
	struct mappings mappings = {.list = {.items = list, .count = sizeof(list) / sizeof(list[0])}};

	assert_false(thread_code_in_runtime(&mappings, 0x1500));
	assert_false(thread_code_in_runtime(&mappings, 0x2500));
	assert_true(thread_code_in_runtime(&mappings, 0x5500));
	assert_true(thread_code_in_runtime(&mappings, 0x8fff)); /* .bss: main_arena's neighbours */
	assert_false(thread_code_in_runtime(&mappings, 0xa500));
	assert_true(thread_code_in_runtime(&mappings, 0xc000));
	assert_false(thread_code_in_runtime(&mappings, 0xf000));
}

/* ---- stacks ------------------------------------------------------------------------------------------------ */

#define TOP 0x7ffff000ULL
#define MB (1ULL << 20)

static void the_first_stack_grows_to_its_limit_and_not_into_what_is_below(void **state)
{
	uint64_t sp = TOP - 0x8000, start = TOP - 0x20000;

	assert_int_equal(stack_room_to_grow(sp, start, TOP, 8 * MB, 0x10000), 8 * MB - 0x8000);
	assert_int_equal(stack_room_to_grow(sp, start, TOP, ~0ULL, TOP - 64 * MB), 63 * MB - 0x8000);
	assert_int_equal(stack_room_to_grow(sp, start, TOP, 8 * MB, TOP - 3 * MB), 2 * MB - 0x8000);
	/* What is mapped already may be used, whatever the limit is now. */
	assert_int_equal(stack_room_to_grow(sp, start, TOP, 0x4000, 0), 0x18000);
	assert_int_equal(stack_room_to_grow(start - 8, start, TOP, 0x4000, 0), 0);
}

/* A stack as glibc describes it: 8 MB with a guard of one page. */
static void describe_stack(uint64_t words[STACK_DESCRIPTOR_WORDS], uint64_t address, int32_t tid)
{
	memset(words, 0, STACK_DESCRIPTOR_WORDS * 8);
	words[0] = words[2] = address;
	memcpy(&words[90], &tid, sizeof(tid));
	words[210] = TOP - 8 * MB - 0x1000;
	words[211] = 8 * MB + 0x1000;
	words[212] = 0x1000;
}

static void a_thread_is_on_its_own_stack_between_what_its_descriptor_says(void **state)
{
	uint64_t words[STACK_DESCRIPTOR_WORDS], address = TOP - 2304, low = 0;

	describe_stack(words, address, 77);
	assert_true(stack_of_descriptor(words, address, 77, TOP - 0x3000, &low));
	assert_int_equal(low, TOP - 8 * MB);
	assert_false(stack_of_descriptor(words, address, 77, TOP - 9 * MB, &low)); /* in a mapping below */
	assert_false(stack_of_descriptor(words, address, 77, TOP - 8 * MB - 8, &low));
	assert_false(stack_of_descriptor(words, address, 77, address + 64, &low));
	assert_false(stack_of_descriptor(words, address, 78, TOP - 0x3000, &low)); /* another thread's */
	assert_false(stack_of_descriptor(words, address + 64, 77, TOP - 0x3000, &low));
}

/* ---- errno ------------------------------------------------------------------------------------------------- */

#define ADDRESS 0x7f0000027660

static void errno_is_found_in_each_form_of_its_function(void **state)
{
	static const uint8_t plain[32] = {0x48, 0x8b, 0x05, 0x79, 0xb7, 0x1a, 0x00, 0x64, 0x48,
					  0x03, 0x04, 0x25, 0,	  0,	0,    0,    0xc3};
	static const uint8_t endbr[32] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff,
					  0x64, 0x48, 0x03, 0x04, 0x25, 0,    0,    0,	  0,	0xc3};
	static const uint8_t turned[32] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0,    0,    0,	  0,
					   0x48, 0x03, 0x05, 0x10, 0x00, 0x00, 0x00, 0xc3};

	assert_int_equal(inject_errno_slot(plain, sizeof(plain), ADDRESS), ADDRESS + 7 + 0x1ab779);
	assert_int_equal(inject_errno_slot(endbr, sizeof(endbr), ADDRESS), ADDRESS + 4 + 7 - 16);
	assert_int_equal(inject_errno_slot(turned, sizeof(turned), ADDRESS), ADDRESS + 16 + 16);
}

static void other_code_has_no_errno(void **state)
{
	uint8_t text[32] = {0x48, 0x8b, 0x05, 0x79, 0xb7, 0x1a, 0x00, 0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3};

	assert_int_equal(inject_errno_slot(text, 20, ADDRESS), 0);
	text[16] = 0x90; /* it does not return at this place */
	assert_int_equal(inject_errno_slot(text, sizeof(text), ADDRESS), 0);
	memset(text, 0x90, sizeof(text));
	assert_int_equal(inject_errno_slot(text, sizeof(text), ADDRESS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blocked_call_is_read_with_its_arguments),
		cmocka_unit_test(a_running_thread_and_one_in_a_fault_are_in_no_call),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(calls_of_the_allocator_and_the_loader_are_never_safe),
		cmocka_unit_test(a_wait_on_a_futex_is_safe_and_other_uses_are_not),
		cmocka_unit_test(a_wait_whose_rest_would_be_lost_has_to_be_fresh),
		cmocka_unit_test(waits_that_the_kernel_takes_up_exactly_come_first),
		cmocka_unit_test(a_status_is_read),
		cmocka_unit_test(a_status_without_the_lines_of_newer_kernels_is_read),
		cmocka_unit_test(locks_in_the_data_of_libc_and_loader_are_theirs),
		cmocka_unit_test(the_first_stack_grows_to_its_limit_and_not_into_what_is_below),
		cmocka_unit_test(a_thread_is_on_its_own_stack_between_what_its_descriptor_says),
		cmocka_unit_test(errno_is_found_in_each_form_of_its_function),
		cmocka_unit_test(other_code_has_no_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
