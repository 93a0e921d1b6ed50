/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes the form of x86-64 instructions, by the opcode maps of Intel's manual, volume 2, appendix A.  It knows
 * only lengths and fields; site.c knows what an instruction means for a probe.
 */
#include "target/instruction.h"

#include <string.h>

#define LENGTH_MAX 15 /* architectural */

/* What follows an opcode.  Z: 4 bytes, 2 with prefix 66.  V: as Z, 8 with REX.W.  T: an immediate only for reg 0 and 1.
 */
enum shape {
	X,   /* not in 64-bit mode, a prefix, or an escape handled elsewhere */
	N,   /* nothing */
	M,   /* ModRM */
	MB,  /* ModRM, 1 byte */
	MZ,  /* ModRM, Z */
	MTB, /* ModRM, T 1 byte */
	MTZ, /* ModRM, T Z */
	B,   /* 1 byte */
	W,   /* 2 bytes */
	WB,  /* 3 bytes */
	Z,
	V,
	A,  /* 8 bytes of address, 4 with prefix 67 */
	JB, /* jump distance, 1 byte */
	JZ, /* jump distance, 4 bytes */
};

/* clang-format off */
static const uint8_t one_byte[256] = {
	/* 00 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 10 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 20 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 30 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 40 */ X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
	/* 50 */ N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
	/* 60 */ X, X, X, M, X, X, X, X, Z, MZ, B, MB, N, N, N, N,
	/* 70 */ JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB,
	/* 80 */ MB, MZ, X, MB, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 90 */ N, N, N, N, N, N, N, N, N, N, X, N, N, N, N, N,
	/* a0 */ A, A, A, A, N, N, N, N, B, Z, N, N, N, N, N, N,
	/* b0 */ B, B, B, B, B, B, B, B, V, V, V, V, V, V, V, V,
	/* c0 */ MB, MB, W, N, X, X, MB, MZ, WB, N, W, N, N, B, X, N,
	/* d0 */ M, M, M, M, X, X, X, N, M, M, M, M, M, M, M, M,
	/* e0 */ JB, JB, JB, JB, B, B, B, B, JZ, JZ, X, JB, N, N, N, N,
	/* f0 */ X, N, X, X, N, N, MTB, MTZ, N, N, N, N, N, N, M, M,
};

static const uint8_t after_0f[256] = {
	/* 00 */ M, M, M, M, X, N, N, N, N, N, X, N, X, M, N, X,
	/* 10 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 20 */ M, M, M, M, X, X, X, X, M, M, M, M, M, M, M, M,
	/* 30 */ N, N, N, N, N, N, X, N, X, X, X, X, X, X, X, X,
	/* 40 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 50 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 60 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 70 */ MB, MB, MB, MB, M, M, M, N, M, M, X, X, M, M, M, M,
	/* 80 */ JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ,
	/* 90 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* a0 */ N, N, N, M, MB, M, X, X, N, N, N, M, MB, M, M, M,
	/* b0 */ M, M, M, M, M, M, M, M, M, M, MB, M, M, M, M, M,
	/* c0 */ M, M, MB, M, MB, MB, MB, M, N, N, N, N, N, N, N, N,
	/* d0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* e0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* f0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
};
/* clang-format on */

struct cursor {
	const uint8_t *code;
	size_t at, end;
	bool prefix_67;
};

static int take_byte(struct cursor *cursor)
{
	return cursor->at < cursor->end ? cursor->code[cursor->at++] : -1;
}

static bool take_prefix(struct cursor *cursor, struct instruction *out)
{
	switch (cursor->at < cursor->end ? cursor->code[cursor->at] : 0) {
	case 0x66:
		out->prefix_66 = true;
		break;
	case 0xf2:
		out->prefix_f2 = true;
		break;
	case 0xf3:
		out->prefix_f3 = true;
		break;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0xf0:
		out->prefix_refused = true;
		break;
	case 0x67:
		cursor->prefix_67 = true;
		out->prefix_other = true;
		break;
	case 0x64:
	case 0x65:
		out->prefix_other = true;
		break;
	default:
		return false;
	}
	cursor->at++;
	return true;
}

/* VEX (c4, c5) and EVEX (62): payload bytes, then opcode; all have a ModRM except vzeroupper. */
static int take_vector_opcode(struct cursor *cursor, int escape, struct instruction *out)
{
	int payload = take_byte(cursor), map = 1;

	if (payload < 0)
		return -1;
	if (escape != 0xc5) {
		map = payload & (escape == 0xc4 ? 0x1f : 0x07);
		take_byte(cursor);
		if (escape == 0x62)
			take_byte(cursor);
	}
	payload = take_byte(cursor);
	if (payload < 0 || map < 1 || map > 6 || map == 4)
		return -1;
	out->map = MAP_OTHER;
	out->opcode = (uint8_t)payload;
	if (map == 1)
		return payload == 0x77 && escape != 0x62 ? N : after_0f[payload] == MB ? MB : M;
	return map == 3 ? MB : M;
}

/* The opcode after prefixes; returns its shape or -1. */
static int take_opcode(struct cursor *cursor, struct instruction *out)
{
	int byte = take_byte(cursor);

	if (byte < 0)
		return -1;
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return take_vector_opcode(cursor, byte, out);
	if (byte != 0x0f) {
		out->opcode = (uint8_t)byte;
		return one_byte[byte];
	}
	byte = take_byte(cursor);
	if (byte < 0)
		return -1;
	if (byte == 0x38 || byte == 0x3a) {
		int last = take_byte(cursor);

		out->map = MAP_OTHER;
		out->opcode = (uint8_t)last;
		return last < 0 ? -1 : byte == 0x3a ? MB : M;
	}
	out->map = MAP_0F;
	out->opcode = (uint8_t)byte;
	return after_0f[byte];
}

static bool take_modrm(struct cursor *cursor, struct instruction *out)
{
	int byte = take_byte(cursor), sib, displacement;

	if (byte < 0)
		return false;
	out->mod = (uint8_t)(byte >> 6);
	out->reg = (uint8_t)((byte >> 3 & 7) | ((out->rex & 4) << 1));
	out->rm = (uint8_t)(byte & 7);
	displacement = out->mod == 1 ? 1 : out->mod == 2 || (out->mod == 0 && out->rm == 5) ? 4 : 0;
	if (out->mod != 3 && out->rm == 4) {
		sib = take_byte(cursor);
		if (sib < 0)
			return false;
		if (out->mod == 0 && (sib & 7) == 5)
			displacement = 4;
	}
	out->rm |= (uint8_t)((out->rex & 1) << 3);
	cursor->at += (size_t)displacement;
	return cursor->at <= cursor->end;
}

static size_t immediate_bytes(enum shape shape, const struct cursor *cursor, const struct instruction *in)
{
	size_t z = in->prefix_66 ? 2 : 4;

	switch (shape) {
	case MB:
	case B:
	case JB:
		return 1;
	case MTB:
		return (in->reg & 7) < 2 ? 1 : 0;
	case MTZ:
		return (in->reg & 7) < 2 ? z : 0;
	case MZ:
	case Z:
		return z;
	case V:
		return in->rex & 8 ? 8 : z;
	case A:
		return cursor->prefix_67 ? 4 : 8;
	case W:
		return 2;
	case WB:
		return 3;
	case JZ:
		return 4; /* Intel ignores prefix 66 here in 64-bit mode */
	default:
		return 0;
	}
}

static int64_t read_signed(const uint8_t *from, size_t bytes)
{
	uint64_t value = 0;
	unsigned unused = 64 - 8 * (unsigned)bytes;

	if (bytes == 0)
		return 0;
	memcpy(&value, from, bytes);
	return (int64_t)(value << unused) >> unused;
}

bool instruction_decode(const uint8_t *code, size_t bytes, struct instruction *out)
{
	struct cursor cursor = {.code = code, .end = bytes < LENGTH_MAX ? bytes : LENGTH_MAX};
	int shape;
	size_t size;

	memset(out, 0, sizeof(*out));
	while (take_prefix(&cursor, out))
		;
	if (cursor.at < cursor.end && (code[cursor.at] & 0xf0) == 0x40)
		out->rex = code[cursor.at++];
	shape = take_opcode(&cursor, out);
	if (shape <= X || cursor.at > cursor.end)
		return false;
	if (shape >= M && shape <= MTZ && !take_modrm(&cursor, out))
		return false;
	size = immediate_bytes((enum shape)shape, &cursor, out);
	if (size > cursor.end - cursor.at)
		return false;
	out->relative = shape == JB || shape == JZ;
	out->immediate = read_signed(code + cursor.at, size);
	out->length = (uint8_t)(cursor.at + size);
	return true;
}
