/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a function from its first instruction to its last.  Compilers put no data between instructions on x86-64 (jump
 * tables are in .rodata).  So if the whole function decodes, the start of every instruction is known; if not, nothing
 * about the function is known.
 */
#include "target/function.h"

#include <errno.h>
#include <string.h>

#include "target/instruction.h"

#define FUNCTION_BYTES_MAX (256u << 10) /* _PyEval_EvalFrameDefault, the longest one, has 38 KB in 3.10 */
#define SITES_MAX 256u			/* found in one function; it has a dozen */
#define SLOTS_MAX 16u			/* of a symbol; it has one or two */

#if defined(__x86_64__)

#define OPCODE_RET 0xc3
#define OPCODE_CALL 0xe8
#define OPCODE_JMP 0xe9
#define OPCODE_JMP_SHORT 0xeb
#define OPCODE_POP 0x58
#define REGISTER_SP 4

struct piece {
	uint64_t address;
	bool first; /* the first instruction of its part */
	struct instruction in;
};

struct range {
	uint64_t address, bytes;
};

/* The function and its cold part, which the compiler puts elsewhere under the name NAME.cold. */
struct listing {
	ARRAY(struct range) parts;
	ARRAY(struct piece) pieces;
};

static void listing_free(struct listing *listing)
{
	array_free(&listing->parts);
	array_free(&listing->pieces);
}

static int listing_add(const struct image *image, const struct image_symbol *part, struct listing *out)
{
	uint8_t *code;
	int err = -ENOENT;

	if (!part->size || part->size > FUNCTION_BYTES_MAX)
		return -ENOENT;
	code = xmalloc(part->size);
	if (image_read(image, part->address, code, part->size))
		goto cleanup;
	for (size_t at = 0; at < part->size;) {
		struct piece piece = {.address = part->address + at, .first = at == 0};

		if (!instruction_decode(code + at, part->size - at, &piece.in))
			goto cleanup;
		array_push(&out->pieces, piece);
		at += piece.in.length;
	}
	array_push(&out->parts, ((struct range){part->address, part->size}));
	err = 0;
cleanup:
	free(code);
	return err;
}

static int listing_read(const struct image *image, const struct image_symbol *function, struct listing *out)
{
	AUTO_FREE char *name = xasprintf("%s.cold", function->name);
	struct image_symbol cold;
	int err;

	memset(out, 0, sizeof(*out));
	err = listing_add(image, function, out);
	if (!err && image_symbol(image, name, &cold) == 0)
		err = listing_add(image, &cold, out);
	if (err)
		listing_free(out);
	return err;
}

static bool listing_holds(const struct listing *listing, uint64_t address)
{
	return any_of(listing->parts.count, i,
		      address - listing->parts.items[i].address < listing->parts.items[i].bytes);
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

static uint64_t target_of(const struct piece *piece)
{
	return piece->address + piece->in.length + (uint64_t)piece->in.immediate;
}

/* Bytes by which an instruction of an epilogue raises the stack pointer, 0: another instruction. */
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

/* 0 unless there are none, or more than any function has. */
static int finish_sites(int err, function_sites *out)
{
	if (!err && out->count && out->count <= SITES_MAX)
		return 0;
	array_free(out);
	return -ENOENT;
}

static void push_site(function_sites *out, const struct piece *piece, int32_t adjust)
{
	array_push(out, ((struct function_site){.address = piece->address, .sp_adjust = adjust}));
}

/* Whether the stack pointer is the same before and after: a call, or a move between other registers. */
static bool keeps_stack(const struct piece *piece)
{
	const struct instruction *in = &piece->in;

	if (is_call(piece))
		return true;
	return in->map == MAP_ONE_BYTE && (in->opcode == 0x31 || in->opcode == 0x89 || in->opcode == 0x8b) &&
	       in->mod == 3 && in->rm != REGISTER_SP && in->reg != REGISTER_SP;
}

/*
 * The kernel single-steps `ret`, at ten times the price of a call or a jump.  So the sites are the ways into the
 * epilogue instead: the instruction before it, and the jumps to it.  False: a conditional jump leads to it (it may not
 * be taken), a jump leads into its middle, or the instruction before it may change the stack pointer.
 */
static bool push_ways_in(function_sites *out, const struct listing *listing, size_t first, size_t last, int32_t rise)
{
	const struct piece *pieces = listing->pieces.items;
	const struct piece *before = pieces[first].first ? NULL : &pieces[first - 1];
	size_t kept = out->count;

	if (before && !is_jump(before)) {
		if (!keeps_stack(before))
			return false;
		push_site(out, before, rise);
	}
	for (size_t i = 0; i < listing->pieces.count; i++) {
		uint64_t target = target_of(&pieces[i]);

		if (!pieces[i].in.relative || is_call(&pieces[i]) || target < pieces[first].address ||
		    target > pieces[last].address)
			continue;
		if (!is_jump(&pieces[i]) || target != pieces[first].address || pieces[i].in.prefix_66) {
			out->count = kept;
			return false;
		}
		push_site(out, &pieces[i], rise);
	}
	return out->count > kept;
}

static void push_exit(function_sites *out, const struct listing *listing, size_t index)
{
	const struct piece *pieces = listing->pieces.items;
	int32_t rise = 8; /* the return address */
	size_t first = index;

	while (!pieces[first].first && rise_of(&pieces[first - 1]) && rise < INT32_MAX / 4)
		rise += rise_of(&pieces[--first]);
	if (first == index || !push_ways_in(out, listing, first, index, rise))
		push_site(out, &pieces[index], 8);
}

int function_exits(const struct image *image, const struct image_symbol *function, function_sites *out)
{
	struct listing listing;
	int err = listing_read(image, function, &listing);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	for (size_t i = 0; i < listing.pieces.count && out->count <= SITES_MAX; i++) {
		const struct piece *piece = &listing.pieces.items[i];

		if (is_return(piece))
			push_exit(out, &listing, i);
		else if (piece->in.relative && !is_call(piece) && !listing_holds(&listing, target_of(piece)))
			err = -ENOENT; /* a jump out of the function: a tail call */
	}
	listing_free(&listing);
	return finish_sites(err, out);
}

int function_rets(const struct image *image, const struct image_symbol *function, function_sites *out)
{
	struct listing listing;
	int err = listing_read(image, function, &listing);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	for (size_t i = 0; i < listing.pieces.count && out->count <= SITES_MAX; i++)
		if (is_return(&listing.pieces.items[i]))
			push_site(out, &listing.pieces.items[i], 8);
	listing_free(&listing);
	return finish_sites(0, out);
}

/* Whether it is a stub of the PLT: "jmp *slot(%rip)", possibly with endbr64 or a bnd prefix. */
static bool is_stub_of(const struct image *image, uint64_t address, const uint64_t *slots, size_t count)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[12];
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
	return any_of(count, i, slots[i] == address + at + 6 + (uint64_t)(int64_t)distance);
}

int function_returns_of(const struct image *image, const struct image_symbol *function, const char *callee,
			function_sites *out)
{
	uint64_t slots[SLOTS_MAX];
	struct image_symbol direct;
	struct listing listing;
	bool has_direct = image_symbol(image, callee, &direct) == 0;
	size_t count = image_slots_of(image, callee, slots, SLOTS_MAX);
	int err = listing_read(image, function, &listing);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	for (size_t i = 0; i + 1 < listing.pieces.count && out->count <= SITES_MAX; i++) {
		const struct piece *piece = &listing.pieces.items[i];
		uint64_t target = target_of(piece);

		if (!is_call(piece) || piece[1].first)
			continue;
		if ((has_direct && target == direct.address) || is_stub_of(image, target, slots, count))
			push_site(out, piece + 1, 0);
	}
	listing_free(&listing);
	return finish_sites(0, out);
}

#else

int function_exits(const struct image *image, const struct image_symbol *function, function_sites *out)
{
	(void)image;
	(void)function;
	memset(out, 0, sizeof(*out));
	return -ENOENT;
}

int function_rets(const struct image *image, const struct image_symbol *function, function_sites *out)
{
	return function_exits(image, function, out);
}

int function_returns_of(const struct image *image, const struct image_symbol *function, const char *callee,
			function_sites *out)
{
	(void)image;
	(void)function;
	(void)callee;
	memset(out, 0, sizeof(*out));
	return -ENOENT;
}

#endif
