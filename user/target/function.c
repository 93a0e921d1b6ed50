/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a function from its first instruction to its last.  Compilers put no data between instructions on x86-64 (jump
 * tables are in .rodata), so where every byte decodes every instruction's start is known; where one does not, the
 * answer is that nothing is known.
 */
#include "target/function.h"

#include <errno.h>
#include <string.h>

#include "target/instruction.h"

#define FUNCTION_BYTES_MAX (256u << 10) /* _PyEval_EvalFrameDefault, the longest there is, has 38 KB in 3.10 */

#if defined(__x86_64__)

#define OPCODE_RET 0xc3
#define OPCODE_CALL 0xe8
#define OPCODE_JMP 0xe9
#define OPCODE_JMP_SHORT 0xeb
#define OPCODE_POP 0x58
#define REGISTER_SP 4

struct piece {
	uint32_t at;
	struct instruction in;
};

struct listing {
	uint64_t address;
	uint8_t *code;
	size_t bytes;
	ARRAY(struct piece) pieces;
};

static void listing_free(struct listing *listing)
{
	free(listing->code);
	array_free(&listing->pieces);
}

static int listing_read(const struct image *image, const struct image_symbol *function, struct listing *out)
{
	size_t at = 0;

	memset(out, 0, sizeof(*out));
	if (!function->size || function->size > FUNCTION_BYTES_MAX)
		return -ENOENT;
	out->address = function->address;
	out->bytes = function->size;
	out->code = xmalloc(out->bytes);
	if (image_read(image, function->address, out->code, out->bytes))
		goto failed;
	while (at < out->bytes) {
		struct piece piece = {.at = (uint32_t)at};

		if (!instruction_decode(out->code + at, out->bytes - at, &piece.in))
			goto failed;
		array_push(&out->pieces, piece);
		at += piece.in.length;
	}
	return 0;
failed:
	listing_free(out);
	return -ENOENT;
}

static bool is_jump(const struct piece *piece)
{
	return piece->in.map == MAP_ONE_BYTE &&
	       (piece->in.opcode == OPCODE_JMP || piece->in.opcode == OPCODE_JMP_SHORT);
}

static bool is_call(const struct piece *piece)
{
	return piece->in.map == MAP_ONE_BYTE && piece->in.opcode == OPCODE_CALL;
}

static bool is_return(const struct piece *piece)
{
	return piece->in.map == MAP_ONE_BYTE && piece->in.opcode == OPCODE_RET;
}

static int64_t target_of(const struct piece *piece)
{
	return (int64_t)piece->at + piece->in.length + piece->in.immediate;
}

/* What an epilogue is made of: bytes by which the stack pointer rises, 0: something else. */
static int32_t rise_of(const struct piece *piece)
{
	const struct instruction *in = &piece->in;

	if (in->map != MAP_ONE_BYTE)
		return 0;
	if ((in->opcode & 0xf8) == OPCODE_POP && !in->prefix_66 && ((in->opcode & 7) != REGISTER_SP || in->rex & 1))
		return 8;
	if ((in->opcode == 0x81 || in->opcode == 0x83) && in->mod == 3 && in->reg == 0 && in->rm == REGISTER_SP &&
	    in->rex & 8 && in->immediate > 0 && in->immediate < INT32_MAX / 2)
		return (int32_t)in->immediate;
	return 0;
}

static void push_place(function_places *out, const struct listing *listing, const struct piece *piece, int32_t adjust)
{
	array_push(out, ((struct function_place){.address = listing->address + piece->at, .sp_adjust = adjust}));
}

/*
 * The kernel single-steps `ret`, at ten times the price of a call or a jump.  So the ways into the epilogue are taken
 * instead: the instruction in front of it, and the jumps to it.  Not where a conditional jump leads there (it may not
 * be taken) or where anything leads into its middle.
 */
static bool push_ways_in(function_places *out, const struct listing *listing, size_t first, int32_t rise)
{
	const struct piece *pieces = listing->pieces.items, *before = first ? &pieces[first - 1] : NULL;
	size_t last = first, kept = out->count;

	while (!is_return(&pieces[last]))
		last++;
	for (size_t i = 0; i < listing->pieces.count; i++) {
		int64_t target = target_of(&pieces[i]);

		if (!pieces[i].in.relative || is_call(&pieces[i]) || target < pieces[first].at ||
		    target > pieces[last].at)
			continue;
		if (!is_jump(&pieces[i]) || target != pieces[first].at || pieces[i].in.prefix_66) {
			out->count = kept;
			return false;
		}
		push_place(out, listing, &pieces[i], rise);
	}
	/* A jump in front leads elsewhere, or was taken above. */
	if (before && !is_jump(before) && !(before->in.map == MAP_ONE_BYTE && before->in.opcode == 0xff))
		push_place(out, listing, before, rise);
	/* The instruction in front must leave the stack pointer alone: a call does, a move between registers too. */
	if (before && !is_jump(before) && !is_call(before) &&
	    !(before->in.map == MAP_ONE_BYTE &&
	      (before->in.opcode == 0x31 || before->in.opcode == 0x89 || before->in.opcode == 0x8b) &&
	      before->in.mod == 3 && before->in.rm != REGISTER_SP && before->in.reg != REGISTER_SP)) {
		out->count = kept;
		return false;
	}
	return out->count > kept;
}

static void push_exit(function_places *out, const struct listing *listing, size_t index)
{
	int32_t rise = 8; /* the return address */
	size_t first = index;

	while (first && rise_of(&listing->pieces.items[first - 1])) {
		rise += rise_of(&listing->pieces.items[--first]);
		if (rise > INT32_MAX / 4)
			break;
	}
	if (first == index || !push_ways_in(out, listing, first, rise))
		push_place(out, listing, &listing->pieces.items[index], 8);
}

int function_exits(const struct image *image, const struct image_symbol *function, function_places *out)
{
	struct listing listing;
	int err = listing_read(image, function, &listing);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	for (size_t i = 0; i < listing.pieces.count; i++) {
		const struct piece *piece = &listing.pieces.items[i];
		int64_t target = target_of(piece);

		if (is_return(piece))
			push_exit(out, &listing, i);
		else if (piece->in.relative && !is_call(piece) && (target < 0 || target >= (int64_t)listing.bytes))
			err = -ENOENT; /* goes on elsewhere: in a cold part, or with another function */
	}
	listing_free(&listing);
	if (!err && out->count)
		return 0;
	array_free(out);
	return -ENOENT;
}

/* "jmp *slot(%rip)", with endbr64 or a bnd prefix before it: what a stub of the PLT is. */
static bool is_stub_of(const struct image *image, uint64_t address, const char *callee)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[12];
	const char *name;
	int32_t distance;
	size_t at = 0;

	if (image_read(image, address, code, sizeof(code)))
		return false;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (code[at] == 0xf2)
		at++;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&distance, code + at + 2, sizeof(distance));
	name = image_slot_symbol(image, address + at + 6 + (uint64_t)(int64_t)distance);
	return name && strcmp(name, callee) == 0;
}

int function_returns_of(const struct image *image, const struct image_symbol *function, const char *callee,
			function_places *out)
{
	struct image_symbol direct;
	struct listing listing;
	bool has_direct = image_symbol(image, callee, &direct) == 0;
	int err = listing_read(image, function, &listing);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	for (size_t i = 0; i + 1 < listing.pieces.count; i++) {
		const struct piece *piece = &listing.pieces.items[i];
		uint64_t target = listing.address + (uint64_t)target_of(piece);

		if (!is_call(piece))
			continue;
		if ((has_direct && target == direct.address) || is_stub_of(image, target, callee))
			push_place(out, &listing, piece + 1, 0);
	}
	listing_free(&listing);
	return out->count ? 0 : -ENOENT;
}

#else

int function_exits(const struct image *image, const struct image_symbol *function, function_places *out)
{
	(void)image;
	(void)function;
	memset(out, 0, sizeof(*out));
	return -ENOENT;
}

int function_returns_of(const struct image *image, const struct image_symbol *function, const char *callee,
			function_places *out)
{
	(void)image;
	(void)function;
	(void)callee;
	memset(out, 0, sizeof(*out));
	return -ENOENT;
}

#endif
