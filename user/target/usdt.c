/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses stapsdt notes and the places of their arguments; knows no probe by name. */
#include "target/usdt.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_STAPSDT 3	   /* NT_STAPSDT, sys/sdt.h */
#define OWNER "stapsdt"	   /* with its NUL */
#define ADDRESSES_BYTES 24 /* location, base, semaphore */

static size_t pad_size(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

/* The next NUL-terminated string, NULL if it does not end within the note. */
static const char *take_string(const uint8_t **at, size_t *left)
{
	const char *text = (const char *)*at;
	size_t length = strnlen(text, *left);

	if (length == *left)
		return NULL;
	*at += length + 1;
	*left -= length + 1;
	return text;
}

static bool parse_description(const uint8_t *at, size_t left, struct usdt_note *out)
{
	uint64_t addresses[3];

	if (left < ADDRESSES_BYTES)
		return false;
	memcpy(addresses, at, ADDRESSES_BYTES);
	at += ADDRESSES_BYTES;
	left -= ADDRESSES_BYTES;
	*out = (struct usdt_note){.address = addresses[0], .base = addresses[1], .semaphore = addresses[2]};
	out->provider = take_string(&at, &left);
	out->name = out->provider ? take_string(&at, &left) : NULL;
	out->arguments = out->name ? take_string(&at, &left) : NULL;
	return out->arguments != NULL;
}

int usdt_each(const uint8_t *section, size_t bytes, int (*fn)(const struct usdt_note *note, void *context),
	      void *context)
{
	Elf64_Nhdr header;
	struct usdt_note note;
	size_t name, description;
	int stop;

	while (bytes >= sizeof(header)) {
		memcpy(&header, section, sizeof(header));
		section += sizeof(header);
		bytes -= sizeof(header);
		name = pad_size(header.n_namesz);
		description = pad_size(header.n_descsz);
		if (name > bytes || description > bytes - name)
			return 0;
		if (header.n_type == NOTE_STAPSDT && header.n_namesz == sizeof(OWNER) &&
		    memcmp(section, OWNER, sizeof(OWNER)) == 0 &&
		    parse_description(section + name, header.n_descsz, &note)) {
			stop = fn(&note, context);
			if (stop)
				return stop;
		}
		section += name + description;
		bytes -= name + description;
	}
	return 0;
}

/* ---- arguments --------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* Offsets in struct pt_regs (arch/x86/include/uapi/asm/ptrace.h), and the register's names by width, widest first. */
static const struct {
	uint8_t at;
	const char *names[4];
} registers[] = {
	{0, {"r15", "r15d", "r15w", "r15b"}},  {8, {"r14", "r14d", "r14w", "r14b"}},
	{16, {"r13", "r13d", "r13w", "r13b"}}, {24, {"r12", "r12d", "r12w", "r12b"}},
	{32, {"rbp", "ebp", "bp", "bpl"}},     {40, {"rbx", "ebx", "bx", "bl"}},
	{48, {"r11", "r11d", "r11w", "r11b"}}, {56, {"r10", "r10d", "r10w", "r10b"}},
	{64, {"r9", "r9d", "r9w", "r9b"}},     {72, {"r8", "r8d", "r8w", "r8b"}},
	{80, {"rax", "eax", "ax", "al"}},      {88, {"rcx", "ecx", "cx", "cl"}},
	{96, {"rdx", "edx", "dx", "dl"}},      {104, {"rsi", "esi", "si", "sil"}},
	{112, {"rdi", "edi", "di", "dil"}},    {152, {"rsp", "esp", "sp", "spl"}},
};

static int find_register(const char *name, size_t length, uint8_t *at)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		for (size_t k = 0; k < 4; k++)
			if (strlen(registers[i].names[k]) == length && !memcmp(registers[i].names[k], name, length)) {
				*at = registers[i].at;
				return 0;
			}
	return -ENOTSUP;
}

#else

static int find_register(const char *name, size_t length, uint8_t *at)
{
	(void)name;
	(void)length;
	(void)at;
	return -ENOTSUP;
}

#endif

/* A decimal number that fits into 32 bits. */
static bool take_number(const char **at, int32_t *out)
{
	char *end;
	long value;

	if (!isdigit((unsigned char)**at) && **at != '-')
		return false;
	errno = 0;
	value = strtol(*at, &end, 10);
	if (errno || end == *at || value < INT32_MIN || value > INT32_MAX)
		return false;
	*out = (int32_t)value;
	*at = end;
	return true;
}

/* The operand after the `@`: %rax, 112(%rsp), $3. */
static int parse_operand(const char *at, struct gpt_py_arg *out)
{
	size_t length;

	if (*at == '$') {
		at++;
		out->kind = GPT_PY_ARG_CONSTANT;
		return take_number(&at, &out->displacement) && (!*at || *at == ' ') ? 0 : -ENOTSUP;
	}
	out->kind = GPT_PY_ARG_REGISTER;
	if (*at != '%') {
		out->kind = GPT_PY_ARG_MEMORY;
		if (*at != '(' && !take_number(&at, &out->displacement))
			return -ENOTSUP;
		if (*at++ != '(' || *at != '%')
			return -ENOTSUP;
	}
	at++;
	length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
	if (find_register(at, length, &out->regs_at))
		return -ENOTSUP;
	at += length;
	if (out->kind == GPT_PY_ARG_MEMORY && *at++ != ')')
		return -ENOTSUP;
	return !*at || *at == ' ' ? 0 : -ENOTSUP;
}

int usdt_argument(const char *arguments, unsigned index, struct gpt_py_arg *out)
{
	int32_t bytes;
	int err;

	memset(out, 0, sizeof(*out));
	arguments += strspn(arguments, " ");
	while (index-- && *arguments) {
		arguments += strcspn(arguments, " ");
		arguments += strspn(arguments, " ");
	}
	if (!*arguments)
		return -ENOENT;
	if (!take_number(&arguments, &bytes) || *arguments++ != '@')
		return -ENOTSUP;
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != -1 && bytes != -2 && bytes != -4 &&
	    bytes != -8)
		return -ENOTSUP;
	out->bytes = (int8_t)bytes;
	err = parse_operand(arguments, out);
	if (err)
		memset(out, 0, sizeof(*out));
	return err;
}
