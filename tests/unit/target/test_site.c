/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a probe goes in a function: prologues that compilers write, and prologues that must not be trusted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target/site.h"

struct prologue {
	const char *what;
	uint8_t code[48];
	uint8_t bytes;
	struct probe_site expected; /* offset is not set by site_choose_in */
};

#define CODE(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define AT(skip, pushed, price)                                                                                        \
	{                                                                                                              \
		.skipped = (skip), .sp_adjust = (pushed), .cost = (price)                                              \
	}

/* clang-format off */
static const struct prologue prologues[] = {
	{"a push at the entry (libcudart 13)",
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x41, 0x57), AT(0, 0, SITE_EMULATED)},
	{"a push of a high register (libcudart 11)",
	 CODE(0x41, 0x56, 0x53, 0x48, 0x83, 0xec, 0x18), AT(0, 0, SITE_EMULATED)},
	{"a push after endbr64",
	 CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5), AT(4, 0, SITE_EMULATED)},
	{"the je of a libcuda thunk",
	 CODE(0x81, 0x3d, 0x10, 0x20, 0x30, 0x00, 0x00, 0xba, 0x1c, 0x32, 0x74, 0x0c, 0xff, 0x25, 0x00, 0x01, 0x02,
	      0x00, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xb8, 0x04, 0x00, 0x00, 0x00, 0xc3), AT(10, 0, SITE_EMULATED)},
	{"the same thunk with bytes in its displacement that look like a jump back",
	 CODE(0x81, 0x3d, 0x10, 0x20, 0x30, 0x00, 0x00, 0xba, 0x1c, 0x32, 0x74, 0x0c, 0xff, 0x25, 0xeb, 0xf8, 0x02,
	      0x00, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xb8, 0x04, 0x00, 0x00, 0x00, 0xc3), AT(10, 0, SITE_EMULATED)},
	{"a 5-byte nop",
	 CODE(0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3), AT(0, 0, SITE_NOP5)},
	{"a 5-byte nop after endbr64",
	 CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3), AT(4, 0, SITE_NOP5)},
	{"a one-byte nop", CODE(0x90, 0xc3), AT(0, 0, SITE_EMULATED)},
	{"a two-byte nop", CODE(0x66, 0x90, 0xc3), AT(0, 0, SITE_EMULATED)},
	{"a tail jump", CODE(0xe9, 0x10, 0x20, 0x00, 0x00), AT(0, 0, SITE_EMULATED)},
	{"a push after the stack allocation, which is counted",
	 CODE(0x48, 0x83, 0xec, 0x18, 0x53, 0xc3), AT(4, 24, SITE_EMULATED)},
	{"a push after a subtraction written as an addition",
	 CODE(0x48, 0x83, 0xc4, 0x80, 0x53, 0xc3), AT(4, 128, SITE_EMULATED)},
	{"a push after a push that the kernel does not emulate",
	 CODE(0x48, 0x55, 0x53, 0xc3), AT(2, 8, SITE_EMULATED)},
	{"a jump after a test of an argument",
	 CODE(0x48, 0x85, 0xff, 0x74, 0x05, 0xc3), AT(3, 0, SITE_EMULATED)},
	{"a push after a move that leaves the arguments alone",
	 CODE(0x49, 0x89, 0xfa, 0x41, 0x54, 0xc3), AT(3, 0, SITE_EMULATED)},

	{"nothing after a write to an argument (mov rsi, rdi)",
	 CODE(0x48, 0x89, 0xf7, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after a write to an argument (xor ecx, ecx)",
	 CODE(0x31, 0xc9, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after a write to an argument (lea (rdi), r9)",
	 CODE(0x4c, 0x8d, 0x0f, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after an exchange that only looks like a nop (xchg r8, rax)",
	 CODE(0x41, 0x90, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after a write to memory, which may be an argument on the stack",
	 CODE(0x48, 0x89, 0x7c, 0x24, 0x08, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after a realignment of the stack",
	 CODE(0x48, 0x83, 0xe4, 0xf0, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after a call",
	 CODE(0xe8, 0x00, 0x00, 0x00, 0x00, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after an allocation too large to account for",
	 CODE(0x48, 0x81, 0xec, 0x00, 0x01, 0x00, 0x00, 0x55, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing after an indirect jump",
	 CODE(0xff, 0x25, 0x00, 0x00, 0x00, 0x00, 0x55), AT(0, 0, SITE_STEPPED)},
	{"nothing after pause, which is no nop",
	 CODE(0xf3, 0x90, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"nothing further than a prologue reaches",
	 CODE(0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x55, 0xc3),
	 AT(0, 0, SITE_STEPPED)},
	{"not where a loop comes back to (short)",
	 CODE(0x48, 0x85, 0xc0, 0x90, 0xff, 0xc8, 0x75, 0xfb, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"not after where a loop comes back to",
	 CODE(0x48, 0x85, 0xc0, 0x48, 0x85, 0xc0, 0x90, 0xff, 0xc8, 0x75, 0xf8, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"not where a loop comes back to (near)",
	 CODE(0x48, 0x85, 0xc0, 0x90, 0xff, 0xc8, 0x0f, 0x85, 0xf7, 0xff, 0xff, 0xff, 0xc3), AT(0, 0, SITE_STEPPED)},
	{"a jump back to the entry is a call",
	 CODE(0x48, 0x85, 0xc0, 0x90, 0xff, 0xc8, 0x75, 0xf8, 0xc3), AT(3, 0, SITE_EMULATED)},
	{"a nop with a prefix that the kernel refuses",
	 CODE(0x2e, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0x55, 0xc3), AT(7, 0, SITE_EMULATED)},
	{"a truncated instruction", CODE(0x48, 0x81, 0xec), AT(0, 0, SITE_STEPPED)},
	{"no code at all", {0}, 0, AT(0, 0, SITE_STEPPED)},
};
/* clang-format on */

static void each_prologue_gets_the_first_cheap_site_all_calls_pass(void **state)
{
	for (size_t i = 0; i < sizeof(prologues) / sizeof(*prologues); i++) {
		const struct prologue *p = &prologues[i];
		struct probe_site site;

		(void)state;
		site_choose_in(p->code, p->bytes, &site);
		if (site.skipped != p->expected.skipped || site.sp_adjust != p->expected.sp_adjust ||
		    site.cost != p->expected.cost)
			fail_msg("%s: +%u, %u pushed, cost %d", p->what, site.skipped, site.sp_adjust, site.cost);
	}
}

/* A read past the given bytes would fault or be reported by a sanitizer. */
static void every_truncated_prologue_is_safe(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(prologues) / sizeof(*prologues); i++) {
		for (size_t bytes = 0; bytes <= prologues[i].bytes; bytes++) {
			uint8_t *exact = test_malloc(bytes ? bytes : 1);
			struct probe_site site;

			memcpy(exact, prologues[i].code, bytes);
			site_choose_in(exact, bytes, &site);
			assert_true(site.skipped == 0 || site.skipped < bytes);
			assert_true(site.skipped < 16);
			test_free(exact);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_prologue_gets_the_first_cheap_site_all_calls_pass),
		cmocka_unit_test(every_truncated_prologue_is_safe),
	};

	return cmocka_run_group_tests_name("target/site", tests, NULL, NULL);
}
