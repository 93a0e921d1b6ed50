/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pushCorrelationID begins with `if (!singleton().externalCorrelationEnabled_) return;`, and singleton() returns a
 * static variable, or what it points to.  Both are decoded in the form that gcc compiles; any other form is refused.
 */
#include "target/kineto.h"

#include <errno.h>
#include <string.h>

#include "target/instruction.h"

#define CODE_BYTES 64u		/* read of each function */
#define CODE_BYTES_LEAST 16u	/* room that each decoded pattern needs */
#define INSTANCE_BYTES_MAX 4096 /* the instance has some 240 */

static int32_t read_i32(const uint8_t *from)
{
	int32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

/* A conditional jump on zero or not zero (je, jne). */
static bool is_decision(const uint8_t *code, size_t bytes)
{
	if (bytes >= 2 && (code[0] == 0x74 || code[0] == 0x75))
		return true;
	return bytes >= 6 && code[0] == 0x0f && (code[1] == 0x84 || code[1] == 0x85);
}

/* The offset after the first call, if no jump comes before it; 0: there is none. */
static size_t behind_first_call(const uint8_t *code, size_t bytes)
{
	struct instruction in;

	for (size_t at = 0; at < bytes && instruction_decode(code + at, bytes - at, &in);) {
		at += in.length;
		if (in.map == MAP_ONE_BYTE && in.opcode == 0xe8)
			return at;
		if (in.relative || (in.map == MAP_ONE_BYTE && (in.opcode == 0xc3 || in.opcode == 0xff)))
			return 0;
	}
	return 0;
}

/* Length of the code that tests a byte at an offset from %rax for 0; 0: it is no such code. */
static size_t test_of_byte(const uint8_t *code, int32_t *offset)
{
	bool loads = code[0] == 0x0f && code[1] == 0xb6; /* movzbl x(%rax), %eax; test %al, %al */
	bool compares = code[0] == 0x80;		 /* cmpb $0, x(%rax) */
	const uint8_t *operand = code + (loads ? 2 : 1);
	size_t end;

	if (!loads && !compares)
		return 0;
	switch (operand[0]) {
	case 0x40:
	case 0x78:
		*offset = (int8_t)operand[1];
		end = (size_t)(operand - code) + 2;
		break;
	case 0x80:
	case 0xb8:
		*offset = read_i32(operand + 1);
		end = (size_t)(operand - code) + 5;
		break;
	default:
		return 0;
	}
	if (loads != (operand[0] == 0x40 || operand[0] == 0x80))
		return 0;
	if (loads)
		return code[end] == 0x84 && code[end + 1] == 0xc0 ? end + 2 : 0;
	return code[end] == 0 ? end + 1 : 0;
}

bool kineto_flag_in(const uint8_t *code, size_t bytes, uint32_t *offset)
{
	size_t at = behind_first_call(code, bytes), length;
	int32_t found = -1;

	if (!at || bytes - at < CODE_BYTES_LEAST)
		return false;
	length = test_of_byte(code + at, &found);
	if (!length || found < 0 || found >= INSTANCE_BYTES_MAX ||
	    !is_decision(code + at + length, bytes - at - length))
		return false;
	*offset = (uint32_t)found;
	return true;
}

bool kineto_instance_in(const uint8_t *code, size_t bytes, uint64_t address, struct kineto_flag *out)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t guard[] = {0x0f, 0xb6, 0x05}; /* movzbl x(%rip), %eax; test %al, %al; je */
	static const uint8_t test_je[] = {0x84, 0xc0, 0x74};
	size_t at = 0;

	if (bytes < 2 * CODE_BYTES_LEAST)
		return false;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (memcmp(code + at, guard, sizeof(guard)) != 0 || memcmp(code + at + 7, test_je, sizeof(test_je)) != 0)
		return false;
	out->guard = address + at + 7 + (uint64_t)(int64_t)read_i32(code + at + 3);
	at += 11;
	if (code[at] != 0x48 || (code[at + 1] != 0x8b && code[at + 1] != 0x8d) || code[at + 2] != 0x05 ||
	    code[at + 7] != 0xc3)
		return false;
	out->by_pointer = code[at + 1] == 0x8b; /* mov, not lea */
	out->instance = address + at + 7 + (uint64_t)(int64_t)read_i32(code + at + 3);
	return true;
}

int kineto_find_flag(const struct image *image, uint64_t singleton, uint64_t push, struct kineto_flag *out)
{
	uint8_t code[CODE_BYTES];

	if (image_read(image, push, code, sizeof(code)) || !kineto_flag_in(code, sizeof(code), &out->offset) ||
	    image_read(image, singleton, code, sizeof(code)) || !kineto_instance_in(code, sizeof(code), singleton, out))
		return -ENOENT;
	return 0;
}

int kineto_records(pid_t pid, uint64_t bias, const struct kineto_flag *flag)
{
	uint64_t instance = flag->instance + bias;
	uint8_t made, records;
	int error = process_read_memory(pid, flag->guard + bias, &made, sizeof(made));

	if (error || !made)
		return error;
	if (flag->by_pointer)
		error = process_read_memory(pid, flag->instance + bias, &instance, sizeof(instance));
	if (!error)
		error = process_read_memory(pid, instance + flag->offset, &records, sizeof(records));
	if (!error && records > 1) /* no bool: something else lies there */
		error = -EINVAL;
	return error ? error : records;
}
