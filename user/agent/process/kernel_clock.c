/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The vDSO is an ELF file that the kernel maps into every process: vdso(7). */
#include "agent/process/kernel_clock.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)
#define VDSO_CLOCK "__vdso_clock_gettime"
#elif defined(__aarch64__)
#define VDSO_CLOCK "__kernel_clock_gettime"
#endif

typedef int (*clock_function)(clockid_t clock, struct timespec *t);

static clock_function vdso_clock; /* NULL: there is none */

/* In assembly, as a library may replace syscall(2), too. */
static void ask_kernel(struct timespec *t)
{
#if defined(__x86_64__)
	long result = SYS_clock_gettime;

	__asm__ volatile("syscall" : "+a"(result) : "D"((long)CLOCK_MONOTONIC), "S"(t) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_clock_gettime;
	register long clock __asm__("x0") = CLOCK_MONOTONIC;
	register struct timespec *to __asm__("x1") = t;

	__asm__ volatile("svc 0" : "+r"(clock) : "r"(number), "r"(to) : "memory");
#endif
}

uint64_t kernel_clock_ns(void)
{
	struct timespec t = {0};

	if (!vdso_clock || vdso_clock(CLOCK_MONOTONIC, &t))
		ask_kernel(&t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int kernel_clock_is_fast(void)
{
	return vdso_clock != NULL;
}

/*
 * The symbol table ends where the string table begins: its length is recorded only in the hash tables, of which there
 * are two kinds.
 */
static const Elf64_Sym *find_symbol(const Elf64_Sym *symbols, const char *names, const char *name)
{
	const Elf64_Sym *symbol;

	for (symbol = symbols; (const char *)(symbol + 1) <= names; symbol++)
		if (symbol->st_shndx != SHN_UNDEF && !strcmp(names + symbol->st_name, name))
			return symbol;
	return NULL;
}

__attribute__((constructor)) static void find_vdso(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	const char *start = (const char *)header, *names = NULL;
	const Elf64_Sym *symbols = NULL, *symbol;
	const Elf64_Dyn *entry = NULL;
	const Elf64_Phdr *segment;

	if (!header)
		return;
	segment = (const void *)(start + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_DYNAMIC)
			entry = (const void *)(start + segment[i].p_offset);
	for (; entry && entry->d_tag != DT_NULL; entry++) { /* addresses are offsets in the vDSO */
		if (entry->d_tag == DT_STRTAB)
			names = start + entry->d_un.d_ptr;
		if (entry->d_tag == DT_SYMTAB)
			symbols = (const void *)(start + entry->d_un.d_ptr);
	}
	symbol = names && symbols ? find_symbol(symbols, names, VDSO_CLOCK) : NULL;
	if (symbol) {
		const char *function = start + symbol->st_value;

		memcpy(&vdso_clock, &function, sizeof(vdso_clock));
	}
}
