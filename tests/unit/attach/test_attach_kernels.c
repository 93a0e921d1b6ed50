/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What can be tested about old kernels without one: which build of the programs is loaded, and what is in it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <libelf.h>
#include <linux/bpf.h>

#include "attach/load/features.h"
#include "attach/load/links.h"
#include "attach/load/programs.h"
#include "attach/load/site_cookies.h"

/* The last of enum bpf_func_id in Linux 5.10. */
#define HELPER_LAST_5_10 155 /* bpf_redirect_peer */

static void a_kernel_without_loops_or_cookies_gets_the_older_programs(void **state)
{
	assert_true(features_need_old_programs(0, 0));	/* 5.10 to 5.14 */
	assert_true(features_need_old_programs(0, 1));	/* 5.15, 5.16 */
	assert_true(features_need_old_programs(1, 0));	/* no such release, but nothing else would work */
	assert_false(features_need_old_programs(1, 1)); /* 5.17 and later */
}

static void what_cannot_be_said_is_taken_to_be_there(void **state)
{
	assert_false(features_need_old_programs(-EPERM, -EPERM));
	assert_true(features_need_old_programs(0, -EPERM));
}

/* include/linux/kdev_t.h: MINORBITS is 20; user space interleaves the bits of the two numbers. */
static void a_site_is_known_by_the_kernels_own_number_of_its_device(void **state)
{
	assert_int_equal(sites_kernel_device(makedev(8, 1)), 8 << 20 | 1);
	assert_int_equal(sites_kernel_device(makedev(0, 0xabcde)), 0xabcde);
	assert_int_equal(sites_kernel_device(makedev(0xfff, 0x100)), 0xfffu << 20 | 0x100);
}

static void keys_of_one_site_are_equal_in_every_byte(void **state)
{
	struct gpt_site_key one = sites_key(makedev(8, 1), 1234, 0x5678), other;

	memset(&other, 0xff, sizeof(other));
	other = sites_key(makedev(8, 1), 1234, 0x5678);
	assert_memory_equal(&one, &other, sizeof(one));
	other = sites_key(makedev(8, 1), 1234, 0x5679);
	assert_memory_not_equal(&one, &other, sizeof(one));
	other = sites_key(makedev(8, 2), 1234, 0x5678);
	assert_memory_not_equal(&one, &other, sizeof(one));
}

static void both_objects_have_all_that_the_skeleton_names(void **state)
{
	for (int old = 0; old < 2; old++) {
		struct gputrace_bpf *bpf = programs_open(old);
		const struct bpf_map *sites;

		assert_non_null(bpf);
		assert_non_null(bpf->rodata);
		assert_int_equal(bpf->rodata->config.native, 0);
		sites = bpf_object__find_map_by_name(bpf->obj, "sites");
		assert_int_equal(sites != NULL, old);
		if (sites)
			assert_int_equal(bpf_map__key_size(sites), sizeof(struct gpt_site_key));
		gputrace_bpf__destroy(bpf);
	}
}

/* Counts the instructions of a section that Linux 5.10 does not know. */
static unsigned newer_instructions(const struct bpf_insn *instructions, size_t count)
{
	unsigned newer = 0;

	for (size_t i = 0; i < count; i++) {
		const struct bpf_insn *instruction = &instructions[i];

		if (instruction->code == (BPF_JMP | BPF_CALL) && !instruction->src_reg)
			newer += instruction->imm > HELPER_LAST_5_10;
		else if (BPF_CLASS(instruction->code) == BPF_STX && BPF_MODE(instruction->code) == BPF_ATOMIC)
			newer += instruction->imm != BPF_ADD; /* all the others came with 5.12 */
	}
	return newer;
}

static unsigned newer_instructions_of(bool old)
{
	struct gputrace_bpf *bpf = programs_open(old);
	Elf_Scn *section = NULL;
	unsigned newer = 0, sections = 0;
	Elf *elf;

	assert_non_null(bpf);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bpf->skeleton->data, bpf->skeleton->data_sz);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);
		const Elf_Data *data = elf_getdata(section, NULL);

		if (!(header->sh_flags & SHF_EXECINSTR) || !data->d_size)
			continue;
		newer += newer_instructions(data->d_buf, data->d_size / sizeof(struct bpf_insn));
		sections++;
	}
	assert_true(sections > 3);
	elf_end(elf);
	gputrace_bpf__destroy(bpf);
	return newer;
}

static void the_older_programs_use_nothing_newer_than_linux_5_10(void **state)
{
	assert_int_equal(newer_instructions_of(true), 0);
	assert_true(newer_instructions_of(false) > 0); /* shows that the count finds any */
}

static bool holds_tail_call(const struct bpf_program *program)
{
	const struct bpf_insn *instructions = bpf_program__insns(program);

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++)
		if (instructions[i].code == (BPF_JMP | BPF_CALL) && !instructions[i].src_reg &&
		    instructions[i].imm == BPF_FUNC_tail_call)
			return true;
	return false;
}

/* bpf/common.bpf.h, keep_own_stack */
static void every_program_of_a_probe_keeps_to_the_stack_of_its_thread(void **state)
{
	struct gputrace_bpf *bpf = programs_open(false);
	struct bpf_program *program;
	unsigned seen = 0;

	assert_non_null(bpf);
	bpf_object__for_each_program(program, bpf->obj)
	{
		if (bpf_program__type(program) != BPF_PROG_TYPE_KPROBE || program == bpf->progs.empty)
			continue;
		if (!holds_tail_call(program))
			fail_msg("%s has no keep_own_stack", bpf_program__name(program));
		seen++;
	}
	assert_true(seen >= 7);
	gputrace_bpf__destroy(bpf);
}

#define PAGE 4096
#define FILE_PAGES 64

/*
 * Whether a page of a file is in memory and valid.  Only this page is mapped, so that the kernel reads no others ahead.
 */
static bool page_is_valid(int fd, unsigned page)
{
	void *there = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)page * PAGE);
	unsigned char valid = 0;

	assert_ptr_not_equal(there, MAP_FAILED);
	assert_int_equal(mincore(there, PAGE, &valid), 0);
	munmap(there, PAGE);
	return valid & 1;
}

/* Otherwise ext4 warns, because the kernel reads the page itself without a lock (bring_in_pages). */
static void the_page_of_a_site_is_in_memory_before_its_probe(void **state)
{
	static const char bytes[PAGE * FILE_PAGES];
	const struct uprobe sites[] = {{.offset = 5 * PAGE + 100}, {.offset = 40 * PAGE - 3}};
	char path[] = "test_attach_kernels.XXXXXX"; /* in this folder: /tmp may be in memory */
	struct links links = {};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0); /* nothing is read ahead */
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	if (page_is_valid(fd, 5)) {
		close(fd);
		skip(); /* the source tree is on a file system that lies in memory */
	}
	assert_true(links_attach_uprobes(&links, true, fd, fd, sites, 2) < 0); /* the file is no program */
	assert_true(page_is_valid(fd, 5));
	assert_true(page_is_valid(fd, 39) && page_is_valid(fd, 40)); /* the instruction lies on both */
	close(fd);
}

/* The number of instructions that the kernel has verified for this program; 0 before Linux 5.16. */
static uint32_t checked_instructions(int program_fd)
{
	struct bpf_prog_info info = {};
	uint32_t bytes = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(program_fd, &info, &bytes), 0);
	return info.verified_insns;
}

static struct gpt_config nothing_special;
static struct programs programs;

static void load_programs(void)
{
	char why[256];

	if (geteuid() != 0)
		skip();
	if (programs_load(&programs, &nothing_special, 1 << 20, why, sizeof(why)))
		fail_msg("%s", why);
}

static void a_program_that_few_traces_use_is_loaded_when_it_is_asked_for(void **state)
{
	const struct bpf_program *later, *at_once;
	int first;

	load_programs();
	later = programs.bpf->progs.backward_begin;
	at_once = programs.bpf->progs.call_symbol;
	assert_int_equal(programs_fd(&programs, at_once), bpf_program__fd(at_once));
	assert_true(checked_instructions(bpf_program__fd(later)) < 10); /* the placeholder does nothing */
	first = programs_fd(&programs, later);
	assert_true(first >= 0 && first != bpf_program__fd(later));
	assert_true(checked_instructions(first) > 10000);
	assert_int_equal(programs_fd(&programs, later), first);
	for (size_t i = 0; i < programs.later.count; i++)
		assert_true(programs_fd(&programs, programs.later.items[i].program) >= 0);
	assert_int_equal(programs.later.count, 4);
	programs_unload(&programs);
}

/* Most of the cost of starting a trace is the verifier's: it checks 41,000 instructions, with modules and counters. */
static void the_kernel_checks_the_walk_of_frames_once_for_each_program(void **state)
{
	load_programs();
	assert_in_range(checked_instructions(bpf_program__fd(programs.bpf->progs.call_symbol)), 10000, 48000);
	programs_unload(&programs);
}

/* Bytes of stack that the program's own instructions use: below r10, also by a copy of it. */
static int stack_of(const struct bpf_program *program)
{
	const struct bpf_insn *instructions = bpf_program__insns(program);
	int lowest = 0, copy = -1;

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
		const struct bpf_insn *one = &instructions[i];
		bool loads = BPF_CLASS(one->code) == BPF_LDX && one->src_reg == BPF_REG_10;
		bool stores = (BPF_CLASS(one->code) == BPF_STX || BPF_CLASS(one->code) == BPF_ST) &&
			      one->dst_reg == BPF_REG_10;

		if ((loads || stores) && one->off < lowest)
			lowest = one->off;
		if (one->code == (BPF_ALU64 | BPF_ADD | BPF_K) && one->dst_reg == copy && one->imm < lowest)
			lowest = one->imm;
		copy = one->code == (BPF_ALU64 | BPF_MOV | BPF_X) && one->src_reg == BPF_REG_10 ? one->dst_reg : -1;
	}
	return -lowest;
}

/*
 * The kernel allows 512 bytes for a chain of calls, and some round each frame up to 32. The most that a probe's program
 * calls takes 288 of them: process_take_up, or thread_create with ring_admits.
 */
static void every_program_of_a_probe_leaves_stack_for_what_it_calls(void **state)
{
	int most = 0;

	for (int old = 0; old < 2; old++) {
		struct gputrace_bpf *bpf = programs_open(old);
		struct bpf_program *program;

		assert_non_null(bpf);
		bpf_object__for_each_program(program, bpf->obj)
		{
			int bytes = (stack_of(program) + 31) / 32 * 32;

			if (bpf_program__type(program) == BPF_PROG_TYPE_KPROBE && bytes > 512 - 288)
				fail_msg("%s uses %d bytes of stack", bpf_program__name(program), bytes);
			most = bytes > most ? bytes : most;
		}
		gputrace_bpf__destroy(bpf);
	}
	assert_true(most >= 128); /* shows that it finds any */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_few_traces_use_is_loaded_when_it_is_asked_for),
		cmocka_unit_test(the_kernel_checks_the_walk_of_frames_once_for_each_program),
		cmocka_unit_test(the_page_of_a_site_is_in_memory_before_its_probe),
		cmocka_unit_test(a_kernel_without_loops_or_cookies_gets_the_older_programs),
		cmocka_unit_test(what_cannot_be_said_is_taken_to_be_there),
		cmocka_unit_test(a_site_is_known_by_the_kernels_own_number_of_its_device),
		cmocka_unit_test(keys_of_one_site_are_equal_in_every_byte),
		cmocka_unit_test(both_objects_have_all_that_the_skeleton_names),
		cmocka_unit_test(the_older_programs_use_nothing_newer_than_linux_5_10),
		cmocka_unit_test(every_program_of_a_probe_keeps_to_the_stack_of_its_thread),
		cmocka_unit_test(every_program_of_a_probe_leaves_stack_for_what_it_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
