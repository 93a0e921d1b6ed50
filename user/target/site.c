/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses where in a function to put a probe (site.h).  The kernel's emulated instructions are from
 * arch/x86/kernel/uprobes.c (push_setup_xol_ops, branch_setup_xol_ops) and were measured on 6.18: push, short nops and
 * jumps cost 500 ns a hit, an instruction that is single-stepped ten to twenty times that.
 */
#include "target/site.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "target/instruction.h"

#define SITE_REACH 16	/* a site lies within this many bytes of the entry: prologues are short */
#define CODE_WINDOW 512 /* bytes read: enough for every loop that could jump back to the prologue by a short jump */

#if defined(__x86_64__)

#define OPCODE_CALL 0xe8

enum {
	REGISTER_CX = 1,
	REGISTER_DX = 2,
	REGISTER_SP = 4,
	REGISTER_SI = 6,
	REGISTER_DI = 7,
	REGISTER_8 = 8,
	REGISTER_9 = 9,
};

/* Registers that the probe's program needs as at entry, and the stack pointer, whose change must be known. */
#define REGISTERS_KEPT                                                                                                 \
	(1u << REGISTER_CX | 1u << REGISTER_DX | 1u << REGISTER_SP | 1u << REGISTER_SI | 1u << REGISTER_DI |           \
	 1u << REGISTER_8 | 1u << REGISTER_9)

enum effect {
	EFFECT_NONE,	  /* flags at most */
	EFFECT_REG,	  /* writes the register of the reg field */
	EFFECT_RM,	  /* writes the register of the rm field; a write to memory ends the search */
	EFFECT_OPCODE,	  /* writes the register in the opcode's low bits */
	EFFECT_STACK_ADD, /* rm is the stack pointer; it moves up by the immediate */
	EFFECT_STACK_SUB, /* ... down by the immediate */
	EFFECT_PUSH,
	EFFECT_BRANCH, /* not every call passes the code after it */
};

#define REG_ANY 8

/* The instructions of prologues; the first row that matches counts, any other instruction ends the search. */
static const struct effect_row {
	uint8_t map, opcode, mask;
	uint8_t reg; /* the reg field as a part of the opcode, or REG_ANY */
	uint8_t effect;
} effects[] = {
	{MAP_ONE_BYTE, 0x50, 0xf8, REG_ANY, EFFECT_PUSH},   /* push reg */
	{MAP_ONE_BYTE, 0x68, 0xfd, REG_ANY, EFFECT_PUSH},   /* push immediate: 68, 6a */
	{MAP_ONE_BYTE, 0x70, 0xf0, REG_ANY, EFFECT_BRANCH}, /* jcc short */
	{MAP_ONE_BYTE, 0xe9, 0xfd, REG_ANY, EFFECT_BRANCH}, /* jmp: e9, eb */
	{MAP_ONE_BYTE, 0x90, 0xff, REG_ANY, EFFECT_OPCODE}, /* nop, 41 90: xchg r8, rax */
	{MAP_ONE_BYTE, 0x38, 0xfc, REG_ANY, EFFECT_NONE},   /* cmp r/m, reg: 38 .. 3b */
	{MAP_ONE_BYTE, 0x84, 0xfe, REG_ANY, EFFECT_NONE},   /* test r/m, reg */
	{MAP_ONE_BYTE, 0x80, 0xfc, 7, EFFECT_NONE},	    /* cmp r/m, immediate: 80, 81, 83 */
	{MAP_ONE_BYTE, 0xf6, 0xfe, 0, EFFECT_NONE},	    /* test r/m, immediate */
	{MAP_ONE_BYTE, 0x81, 0xfd, 5, EFFECT_STACK_SUB},    /* sub immediate, rsp: 81, 83 */
	{MAP_ONE_BYTE, 0x81, 0xfd, 0, EFFECT_STACK_ADD},    /* add immediate, rsp: 81, 83 */
	{MAP_ONE_BYTE, 0x89, 0xff, REG_ANY, EFFECT_RM},	    /* mov reg, r/m */
	{MAP_ONE_BYTE, 0x8b, 0xff, REG_ANY, EFFECT_REG},    /* mov r/m, reg */
	{MAP_ONE_BYTE, 0x8d, 0xff, REG_ANY, EFFECT_REG},    /* lea */
	{MAP_ONE_BYTE, 0x63, 0xff, REG_ANY, EFFECT_REG},    /* movslq */
	{MAP_ONE_BYTE, 0x31, 0xff, REG_ANY, EFFECT_RM},	    /* xor reg, r/m */
	{MAP_ONE_BYTE, 0x33, 0xff, REG_ANY, EFFECT_REG},    /* xor r/m, reg */
	{MAP_ONE_BYTE, 0xb8, 0xf8, REG_ANY, EFFECT_OPCODE}, /* mov immediate, reg */
	{MAP_ONE_BYTE, 0xc7, 0xff, 0, EFFECT_RM},	    /* mov immediate, r/m */
	{MAP_0F, 0x1e, 0xff, 7, EFFECT_NONE},		    /* endbr64 */
	{MAP_0F, 0x1f, 0xff, REG_ANY, EFFECT_NONE},	    /* long nop */
	{MAP_0F, 0x80, 0xf0, REG_ANY, EFFECT_BRANCH},	    /* jcc near */
	{MAP_0F, 0xb6, 0xf6, REG_ANY, EFFECT_REG},	    /* movzx, movsx: b6, b7, be, bf */
};

/* The effect of an instruction on the search. */
struct step {
	bool passable; /* the search may continue after it */
	int64_t stack; /* bytes by which it lowers the stack pointer */
};

static struct step step_over(const struct instruction *in)
{
	const struct step stop = {false, 0}, on = {true, 0};
	unsigned written;

	for (size_t i = 0; i < sizeof(effects) / sizeof(*effects); i++) {
		const struct effect_row *row = &effects[i];

		if (row->map != in->map || (in->opcode & row->mask) != row->opcode ||
		    (row->reg != REG_ANY && row->reg != (in->reg & 7)))
			continue;
		switch ((enum effect)row->effect) {
		case EFFECT_NONE:
			return on;
		case EFFECT_PUSH:
			return in->prefix_66 ? stop : (struct step){true, 8};
		case EFFECT_STACK_ADD:
		case EFFECT_STACK_SUB:
			if (in->mod != 3 || in->rm != REGISTER_SP || !(in->rex & 8))
				return stop;
			return (struct step){true, row->effect == EFFECT_STACK_SUB ? in->immediate : -in->immediate};
		case EFFECT_REG:
			written = in->reg;
			break;
		case EFFECT_RM:
			if (in->mod != 3)
				return stop;
			written = in->rm;
			break;
		case EFFECT_OPCODE:
			written = (in->opcode & 7u) | (in->rex & 1u) << 3;
			break;
		case EFFECT_BRANCH:
		default:
			return stop;
		}
		return REGISTERS_KEPT & 1u << written ? stop : on;
	}
	return stop;
}

static enum site_cost cost_of(const uint8_t *code, const struct instruction *in, bool long_nops)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	if (in->map == MAP_0F && in->opcode == 0x1f) {
		if (!long_nops)
			return SITE_STEPPED;
		if (in->length == sizeof(nop5) && memcmp(code, nop5, sizeof(nop5)) == 0)
			return SITE_NOP5;
		/* Measured on 6.18: nops of 3 to 7 bytes are emulated, of 9 and more stepped. */
		return in->length <= 7 ? SITE_EMULATED : SITE_STEPPED;
	}
	if (in->map == MAP_0F && (in->opcode & 0xf0) == 0x80)
		return in->prefix_66 ? SITE_STEPPED : SITE_EMULATED;
	if (in->map != MAP_ONE_BYTE)
		return SITE_STEPPED;
	/* 50 .. 57, and 41 50 .. 57: any other prefix makes push_setup_xol_ops decline. */
	if ((in->opcode & 0xf8) == 0x50)
		return in->length == 1 || (in->length == 2 && in->rex == 0x41) ? SITE_EMULATED : SITE_STEPPED;
	if (in->opcode == 0x90) /* f3 90 is pause, 41 90 exchanges registers */
		return in->rex || in->prefix_f3 || in->prefix_f2 ? SITE_STEPPED : SITE_EMULATED;
	if ((in->opcode & 0xf0) == 0x70 || in->opcode == 0xe9 || in->opcode == 0xeb)
		return in->prefix_66 ? SITE_STEPPED : SITE_EMULATED;
	return SITE_STEPPED;
}

/*
 * Whether a jump in the function leads back to (0, site]: a probe there would fire more than once per call.
 * A jump to the entry itself counts as a call.  Once the code cannot be decoded, every further byte is tried as the
 * start of a jump.
 */
static bool is_jumped_to(const uint8_t *code, size_t bytes, size_t site)
{
	bool in_step = true;

	for (size_t at = site; at < bytes;) {
		struct instruction in;

		if (!instruction_decode(code + at, bytes - at, &in)) {
			in_step = false;
			at++;
			continue;
		}
		if (in.relative && in.opcode != OPCODE_CALL) {
			int64_t target = (int64_t)(at + in.length) + in.immediate;

			if (target > 0 && target <= (int64_t)site)
				return true;
		}
		at += in_step ? in.length : 1;
	}
	return false;
}

static void choose_site(const uint8_t *code, size_t bytes, bool long_nops, struct probe_site *out)
{
	int64_t sunk = 0;

	*out = (struct probe_site){.cost = SITE_STEPPED};
	for (size_t at = 0; at < bytes && at < SITE_REACH;) {
		struct instruction in;
		enum site_cost cost;
		struct step step;

		if (!instruction_decode(code + at, bytes - at, &in))
			return;
		cost = cost_of(code + at, &in, long_nops);
		if (cost != SITE_STEPPED && !in.prefix_refused && (at == 0 || !is_jumped_to(code, bytes, at))) {
			out->cost = cost;
			out->skipped = (uint8_t)at;
			out->sp_adjust = (uint8_t)sunk;
			return;
		}
		step = step_over(&in);
		sunk += step.stack;
		if (!step.passable || sunk < 0 || sunk > UINT8_MAX)
			return;
		at += in.length;
	}
}

#else

/* Other architectures: the entry, which is always right. */
static void choose_site(const uint8_t *code, size_t bytes, bool long_nops, struct probe_site *out)
{
	(void)code;
	(void)bytes;
	(void)long_nops;
	*out = (struct probe_site){.cost = SITE_STEPPED};
}

#endif

/* Linux 6.18 optimises 5-byte nops and emulates the other short ones; before, all but 90 were single-stepped. */
static bool kernel_has_cheap_long_nops(void)
{
	static int answer = -1;
	struct utsname name;
	unsigned major, minor;

	if (answer < 0)
		answer = uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
			 (major > 6 || (major == 6 && minor >= 18));
	return answer;
}

void site_choose_in(const uint8_t *code, size_t bytes, struct probe_site *out)
{
	choose_site(code, bytes, true, out);
}

int site_choose(const struct image *image, uint64_t address, struct probe_site *out)
{
	uint8_t code[CODE_WINDOW];
	size_t bytes = sizeof(code);
	uint64_t offset;

	/* Near the end of the segment fewer bytes can be read. */
	while (bytes && image_read(image, address, code, bytes))
		bytes /= 2;
	if (!bytes || image_file_offset(image, address, &offset))
		return -EINVAL;
	choose_site(code, bytes, kernel_has_cheap_long_nops(), out);
	out->offset = offset + out->skipped;
	return 0;
}
