/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The smaller parts of the agent: batches, names, the clock, and the choice of a CUPTI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/send/batch_send.h"
#include "cupti/batch.h"
#include "agent/process/clock.h"
#include "agent/process/cuda_driver.h"
#include "agent/cupti/find_cupti.h"
#include "agent/process/fork_gate.h"
#include "agent/process/mapped_files.h"
#include "agent/torch/op_names.h"
#include "agent/process/own_thread.h"
#include "cupti/names.h"
#include "cupti/records.h"
#include "agent_points.h"

static struct batch batch = {.send = batch_to_collector};

static int begin_test(void **state)
{
	memset(&said, 0, sizeof(said));
	gputrace_agent_batch_semaphore = 1;
	batch.used = 0;
	wall_clock_step_s = 0;
	return 0;
}

/* ---- batches ------------------------------------------------------------------------------------ */

static void records_are_whole_padded_and_in_order(void **state)
{
	struct gpt_record *record;
	size_t at, total = 0;
	unsigned i, seen = 0;

	for (i = 0; i < 5000; i++) {
		record = batch_add(&batch, GPT_AGENT_NAME, 9 + i % 300);
		memset(record + 1, 0xff, 1 + i % 300);
		record->flags = (uint16_t)i;
		total += record->size;
	}
	batch_flush(&batch);
	assert_int_equal(said.bytes, total);
	for (at = 0; at < said.bytes; at += record->size, seen++) {
		record = (struct gpt_record *)(said.data + at);
		assert_int_equal(record->size % 8, 0);
		assert_int_equal(record->flags, seen);
		assert_in_range(record->size, 9 + seen % 300, 16 + seen % 300);
	}
	assert_int_equal(seen, 5000);
	assert_in_range(said.batches, total / GPT_AGENT_BATCH_MAX, total / (GPT_AGENT_BATCH_MAX - 400) + 1);
}

static void a_record_larger_than_any_batch_is_refused(void **state)
{
	assert_null(batch_add(&batch, GPT_AGENT_NAME, GPT_AGENT_BATCH_MAX + 1));
	assert_null(batch_add(&batch, GPT_AGENT_NAME, SIZE_MAX));
	assert_int_equal(batch.used, 0);
}

static void a_batch_without_a_listener_is_thrown_away(void **state)
{
	gputrace_agent_batch_semaphore = 0;
	assert_non_null(batch_add(&batch, GPT_AGENT_STREAM, 24));
	batch_flush(&batch);
	gputrace_agent_batch_semaphore = 1;
	batch_flush(&batch);
	assert_int_equal(said.batches, 0);
}

/* ---- names -------------------------------------------------------------------------------------- */

static void a_text_has_one_number_wherever_it_lies(void **state)
{
	static struct names names;
	char copy[] = "_Z4gemmPf", other[] = "_Z4gemmPd", empty[] = "";
	struct name a, b, c;

	assert_true(names_open(&names));
	a = names_intern_pair(&names, "_Z4gemmPf", NULL);
	b = names_intern_pair(&names, copy, NULL);
	c = names_intern_pair(&names, other, NULL);
	assert_true(a.fresh && !b.fresh && c.fresh);
	assert_int_equal(a.id, b.id);
	assert_int_not_equal(a.id, c.id);
	assert_int_equal(names_intern_pair(&names, empty, NULL).bytes, 0);
	memcpy(copy, other, sizeof(copy)); /* the module was reloaded: another kernel at this address */
	assert_int_equal(names_intern_pair(&names, copy, NULL).id, c.id);
	a = names_intern_pair(&names, "_Z4gemmPf", "/models/gemm.py:4");
	assert_int_not_equal(a.id, b.id);
	assert_int_equal(a.bytes, sizeof("_Z4gemmPf\0/models/gemm.py:4") - 1);
	assert_int_not_equal(names_intern_pair(&names, "_Z4gemmPf", "/models/gemm.py:5").id, a.id);
	assert_int_equal(names_intern_pair(&names, "_Z4gemmPf", NULL).id, b.id);
	names_clear(&names);
	b = names_intern_pair(&names, "_Z4gemmPf", NULL);
	assert_true(b.fresh);
	assert_true(b.id > c.id); /* ids are never used twice in a process */
}

static void names_are_bounded_in_number_and_in_length(void **state)
{
	static struct names names;
	static char longest[NAMES_TEXT_MAX + 50];
	char text[32];
	struct name name;
	unsigned i, ids = 0;

	assert_true(names_open(&names));
	memset(longest, 'x', sizeof(longest) - 1);
	name = names_intern_pair(&names, longest, NULL);
	assert_true(name.id && name.truncated);
	assert_int_equal(name.bytes, NAMES_TEXT_MAX);
	for (i = 1; i < NAMES_MAX + 100; i++) {
		snprintf(text, sizeof(text), "kernel_%u", i);
		ids += names_intern_pair(&names, text, NULL).id != 0;
	}
	assert_int_equal(ids, NAMES_MAX - 1);
	assert_int_equal(names_intern_pair(&names, "kernel_17", NULL).fresh, false);
	names_clear(&names);
	for (i = 0, ids = 0; i < NAMES_BYTES / NAMES_TEXT_MAX + 5; i++) {
		snprintf(longest, 16, "%015u", i);
		longest[15] = 'x';
		ids += names_intern_pair(&names, longest, NULL).id != 0;
	}
	assert_int_equal(ids, NAMES_BYTES / NAMES_TEXT_MAX);
}

/* ---- records ------------------------------------------------------------------------------------ */

/* Three kernels, then whatever the test puts after them. */
static uint32_t walk_kernels(uint8_t *buffer, size_t valid, uint8_t **record)
{
	*record = *record ? *record + CUPTI_KERNEL_MIN : buffer;
	return *record < buffer + valid ? CUPTI_OK : CUPTI_MAX_LIMIT_REACHED;
}

static uint32_t walk_on_the_spot(uint8_t *buffer, size_t valid, uint8_t **record)
{
	*record = buffer;
	return CUPTI_OK;
}

static uint32_t walk_away(uint8_t *buffer, size_t valid, uint8_t **record)
{
	*record = buffer + valid + 8;
	return CUPTI_OK;
}

static void put_kernels(uint8_t *buffer, unsigned count)
{
	uint32_t kind = CUPTI_KIND_CONCURRENT_KERNEL, i, corr;
	uint64_t times[2] = {100, 200};

	for (i = 0; i < count; i++, buffer += CUPTI_KERNEL_MIN) {
		memset(buffer, 0, CUPTI_KERNEL_MIN);
		corr = i + 1;
		memcpy(buffer, &kind, 4);
		memcpy(buffer + 16, times, sizeof(times));
		memcpy(buffer + CUPTI_KERNEL_CORR, &corr, 4);
	}
}

static struct records records_for(struct cupti *cupti, struct names *names)
{
	struct records records = {.cupti = cupti, .batch = &batch, .names = names};

	records.sizes[CUPTI_KIND_CONCURRENT_KERNEL] = CUPTI_KERNEL_MIN;
	assert_true(names_open(names));
	return records;
}

static void broken_buffers_are_counted_and_left(void **state)
{
	static struct names names;
	struct cupti cupti = {.next_record = walk_kernels};
	struct records records = records_for(&cupti, &names);
	uint8_t buffer[4 * CUPTI_KERNEL_MIN] __attribute__((aligned(8)));

	put_kernels(buffer, 4);
	records_buffer(&records, buffer, 3 * CUPTI_KERNEL_MIN + 50); /* the fourth is truncated */
	assert_int_equal(records.stats.kernels, 3);
	assert_int_equal(records.stats.malformed, 1);
	buffer[0] = 99; /* not a kind that the agent asked for */
	records_buffer(&records, buffer, 2 * CUPTI_KERNEL_MIN);
	assert_int_equal(records.stats.kernels, 4);
	assert_int_equal(records.stats.malformed, 2);
	cupti.next_record = walk_on_the_spot;
	put_kernels(buffer, 4);
	records_buffer(&records, buffer, 2 * CUPTI_KERNEL_MIN);
	assert_int_equal(records.stats.malformed, 3);
	cupti.next_record = walk_away;
	records_buffer(&records, buffer, 2 * CUPTI_KERNEL_MIN);
	assert_int_equal(records.stats.malformed, 4);
}

static void a_record_without_an_end_has_no_times(void **state)
{
	static struct names names;
	struct cupti cupti = {.next_record = walk_kernels};
	struct records records = records_for(&cupti, &names);
	uint8_t buffer[3 * CUPTI_KERNEL_MIN] __attribute__((aligned(8)));
	uint64_t none = 0, early = 50;
	const struct gpt_agent_kernel *kernel;
	unsigned i;

	put_kernels(buffer, 3);
	memcpy(buffer + 24, &none, 8);
	memcpy(buffer + CUPTI_KERNEL_MIN + 24, &early, 8);
	records_buffer(&records, buffer, sizeof(buffer));
	batch_flush(&batch);
	assert_int_equal(records.stats.untimed, 2);
	for (i = 0; i < 2; i++) {
		kernel = said_record(GPT_AGENT_KERNEL, i);
		assert_int_equal(kernel->start_wall_ns | kernel->end_wall_ns, 0);
		assert_int_equal(kernel->corr, i + 1);
	}
	kernel = said_record(GPT_AGENT_KERNEL, 2);
	assert_int_equal(kernel->end_wall_ns, 200);
}

static void work_of_calls_after_the_end_is_left_out(void **state)
{
	static struct names names;
	struct cupti cupti = {.next_record = walk_kernels};
	struct records records = records_for(&cupti, &names);
	uint8_t buffer[4 * CUPTI_KERNEL_MIN] __attribute__((aligned(8)));

	put_kernels(buffer, 4);
	records.limited = true;
	records.last_corr = 2;
	records_buffer(&records, buffer, sizeof(buffer));
	assert_int_equal(records.stats.kernels, 2);
	assert_int_equal(records.stats.malformed, 0);
}

static uint32_t walk_small(uint8_t *buffer, size_t valid, uint8_t **record)
{
	*record = *record ? *record + 160 : buffer; /* a kernel record of CUDA 11.0 */
	return CUPTI_OK;
}

static void a_cupti_older_than_11_8_is_not_read(void **state)
{
	struct cupti cupti = {.next_record = walk_small};
	static uint64_t scratch[RECORDS_PROBE_BYTES / 8];
	struct records records = {.cupti = &cupti};

	records_probe(&records, (uint8_t *)scratch);
	assert_int_equal(records.sizes[CUPTI_KIND_CONCURRENT_KERNEL], 0);
	assert_int_equal(records.sizes[CUPTI_KIND_MEMCPY], 160); /* newer than any: its first fields are the same */
	cupti.next_record = walk_away;
	assert_int_equal(records_probe(&records, (uint8_t *)scratch), 0);
}

/* ---- clock -------------------------------------------------------------------------------------- */

static void the_offset_of_the_wall_clock_is_sampled(void **state)
{
	struct clock_watch watch = {0};
	const struct gpt_agent_clock *sample;
	struct timespec wall;
	int64_t before_ns, after_ns, then_ns;

	clock_send(&watch, &batch);
	clock_look(&watch, &batch);
	before_ns = (int64_t)clock_now_ns();
	clock_gettime(CLOCK_REALTIME, &wall);
	after_ns = (int64_t)clock_now_ns();
	batch_flush(&batch);
	sample = said_record(GPT_AGENT_CLOCK, 0);
	assert_non_null(sample);
	assert_null(said_record(GPT_AGENT_CLOCK, 1)); /* the clock was not stepped */
	assert_true(sample->error_ns < 1000000);
	then_ns = wall.tv_sec * 1000000000ll + wall.tv_nsec - sample->wall_offset_ns;
	assert_true(before_ns - 10000000 < then_ns && then_ns < after_ns + 10000000);
}

/* A clock read that enters the kernel costs each op a tenth of a microsecond more. */
static void the_monotonic_clock_is_read_without_a_system_call(void **state)
{
	assert_true(kernel_clock_is_fast());
	assert_true(kernel_clock_ns() - kernel_clock_ns() + 1000000000u < 2000000000u);
}

static void a_step_of_the_wall_clock_is_reported_with_both_offsets(void **state)
{
	const struct gpt_agent_clock *first, *last_before, *after;
	struct clock_watch watch = {0};

	clock_send(&watch, &batch);
	clock_look(&watch, &batch);
	wall_clock_step_s = -3600;
	clock_look(&watch, &batch);
	clock_look(&watch, &batch);
	batch_flush(&batch);
	first = said_record(GPT_AGENT_CLOCK, 0);
	last_before = said_record(GPT_AGENT_CLOCK, 1);
	after = said_record(GPT_AGENT_CLOCK, 2);
	assert_non_null(after);
	assert_null(said_record(GPT_AGENT_CLOCK, 3));
	assert_int_equal(last_before->wall_offset_ns, first->wall_offset_ns);
	assert_true(first->mono_ns <= last_before->mono_ns && last_before->mono_ns <= after->mono_ns);
	assert_true(llabs(after->wall_offset_ns - first->wall_offset_ns + 3600000000000ll) < 1000000);
}

/* ---- which CUPTI -------------------------------------------------------------------------------- */

static void versions_are_read_from_file_names(void **state)
{
	assert_int_equal(cuda_version_of_name("/x/libcudart.so.12.4.127", "libcudart"), 12040);
	assert_int_equal(cuda_version_of_name("/x/libcudart.so.13", "libcudart"), 13000);
	assert_int_equal(cuda_version_of_name("libcudart-d0da41ae.so.11.0", "libcudart"), 11000);
	assert_int_equal(cuda_version_of_name("/x/libcudart.so", "libcudart"), 0);
	assert_int_equal(cuda_version_of_name("/x/libcudart_static.so.12", "libcudart"), 0);
	assert_int_equal(cuda_version_of_name("/x/libcupti.so.12", "libcudart"), 0);
	assert_int_equal(cuda_version_of_name("", "libcudart"), 0);
}

static void cuptis_own_numbers_have_a_cuda_major(void **state)
{
	assert_int_equal(cupti_major(17, "libcupti.so.11.7"), 0);
	assert_int_equal(cupti_major(18, "libcupti.so.11.8"), 11);
	assert_int_equal(cupti_major(18, "/x/libcupti.so.2022.3.0"), 11);
	assert_int_equal(cupti_major(18, "libcupti.so.12"), 12); /* CUDA 12.0 and 12.1 */
	assert_int_equal(cupti_major(28, "libcupti.so.12"), 12);
	assert_int_equal(cupti_major(130001, "libcupti.so.13"), 13);
	assert_int_equal(cupti_major(140000, "libcupti.so.14"), 0);
	assert_int_equal(cupti_major(0, "libcupti.so.13"), 0);
}

static void mapped_libraries_are_picked_out_of_maps(void **state)
{
	struct mapped_files files = {0};
	char line[1200];

	mapped_files_line(&files, "7f0000000000-7f0000001000 r--p 00000000 00:00 0 ");
	mapped_files_line(&files, "7ffc0000-7ffd0000 rw-p 00000000 00:00 0    [stack]");
	mapped_files_line(&files, "7f01-7f02 r-xp 0 08:01 5  /opt/cuda dir/libcudart.so.13 (deleted)");
	mapped_files_line(&files, "7f01-7f02 r-xp 0 08:01 6  /a/libcupti_helper.so.1");
	mapped_files_line(&files, "7f01-7f02 r-xp 0 08:01 7  /triton/libcupti.so.12");
	mapped_files_line(&files, "7f03-7f04 r--p 0 08:01 7  /triton/libcupti.so.12");
	mapped_files_line(&files, "7f05-7f06 r--p 0 08:01 8  /wheel/libcupti.so.13");
	mapped_files_line(&files, "7f05-7f06 r--p 0 08:01 9  /third/libcupti.so.13");
	snprintf(line, sizeof(line), "7f05-7f06 r--p 0 08:01 9  /%*s/libcudart.so.11", 1100, "");
	mapped_files_line(&files, line); /* longer than any path: ignored */
	assert_string_equal(files.cudart, "/opt/cuda dir/libcudart.so.13");
	assert_string_equal(files.cupti[0], "/triton/libcupti.so.12");
	assert_string_equal(files.cupti[1], "/wheel/libcupti.so.13");
}

static void a_process_without_the_driver_is_left_alone(void **state)
{
	struct found_cuda cuda;
	struct cupti cupti;
	char detail[100];

	assert_int_equal(cupti_find(&cupti, &cuda, "", detail, sizeof(detail)), GPT_AGENT_NO_CUDA);
	assert_string_equal(detail, "libcuda.so.1 is not loaded");
	assert_int_equal(cuda.driver_version | cuda.runtime_version, 0);
	assert_false(cuda_works());
}

/* The highest bits of a number say what it names. */
static void names_of_ops_that_have_no_number_left_are_not_reported(void **state)
{
	assert_true(op_names_open());
	op_names_use_up(2);
	assert_true(op_names_add(&batch, 11, "aten::add", 9, false));
	assert_true(op_names_add_inputs(&batch, 12, "[]", 2));
	assert_true(op_names_add(&batch, 13, "aten::sub", 9, false));
	assert_int_equal(op_names_id(11), (OP_NAMES_IDS - 1) | GPT_AGENT_NAME_OF_OP);
	assert_int_equal(op_names_id(12), OP_NAMES_IDS | GPT_AGENT_NAME_OF_INPUTS);
	assert_int_equal(op_names_id(13), 0);
	batch_flush(&batch);
	assert_non_null(said_record(GPT_AGENT_NAME, 1));
	assert_null(said_record(GPT_AGENT_NAME, 2));
}

/* ---- forks -------------------------------------------------------------------------------------- */

static struct {
	_Atomic bool inside, forks, in_the_middle;
	_Atomic unsigned children; /* calls of count_child */
} forks;

/* Is in the middle of work that a child must not inherit, until a fork waits for it or would have gone by. */
static void work_inside(void)
{
	atomic_store(&forks.in_the_middle, true);
	atomic_store(&forks.inside, true);
	while (!atomic_load(&forks.forks))
		sched_yield();
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	atomic_store(&forks.in_the_middle, false);
}

static void count_child(void)
{
	atomic_fetch_add(&forks.children, 1);
}

static int child_of_fork(void)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(atomic_load(&forks.in_the_middle) ? 1 : atomic_load(&forks.children) == 1 ? 0 : 2);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_fork_waits_until_no_thread_is_in_the_middle_of_something(void **state)
{
	fork_gate_in_child(count_child);
	assert_true(own_thread_start(work_inside));
	while (!atomic_load(&forks.inside))
		sched_yield();
	atomic_store(&forks.forks, true);
	assert_int_equal(child_of_fork(), 0);
	assert_false(atomic_load(&forks.in_the_middle));
}

#define TEST(name) cmocka_unit_test_setup(name, begin_test)

/* ---- the driver --------------------------------------------------------------------------------- */

static unsigned loader_asked; /* for the driver, by dlopen */

void *dlopen(const char *file, int mode)
{
	void *(*of_loader)(const char *, int);

	*(void **)&of_loader = dlsym(RTLD_NEXT, "dlopen");
	loader_asked += file && strcmp(file, "libcuda.so.1") == 0;
	return of_loader(file, mode);
}

static void the_driver_is_looked_for_once_until_a_library_comes(void **state)
{
	void *library;
	unsigned before, i;

	for (i = 0; i < 3; i++)
		assert_false(cuda_started());
	before = loader_asked;
	assert_true(before <= 1);
	library = dlopen("libanl.so.1", RTLD_NOW);
	assert_non_null(library);
	assert_false(cuda_started());
	assert_false(cuda_started());
	assert_int_equal(loader_asked, before + 1);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_are_whole_padded_and_in_order),
		TEST(a_record_larger_than_any_batch_is_refused),
		TEST(a_batch_without_a_listener_is_thrown_away),
		TEST(a_text_has_one_number_wherever_it_lies),
		TEST(names_are_bounded_in_number_and_in_length),
		TEST(broken_buffers_are_counted_and_left),
		TEST(a_record_without_an_end_has_no_times),
		TEST(work_of_calls_after_the_end_is_left_out),
		TEST(a_cupti_older_than_11_8_is_not_read),
		TEST(the_driver_is_looked_for_once_until_a_library_comes),
		TEST(the_offset_of_the_wall_clock_is_sampled),
		TEST(the_monotonic_clock_is_read_without_a_system_call),
		TEST(a_step_of_the_wall_clock_is_reported_with_both_offsets),
		TEST(versions_are_read_from_file_names),
		TEST(cuptis_own_numbers_have_a_cuda_major),
		TEST(mapped_libraries_are_picked_out_of_maps),
		TEST(a_process_without_the_driver_is_left_alone),
		TEST(names_of_ops_that_have_no_number_left_are_not_reported),
		TEST(a_fork_waits_until_no_thread_is_in_the_middle_of_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
