/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An ELF file of this machine in memory, of zeros but for its headers: sections as no linker makes them. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline void elf_put(int fd, const void *bytes, size_t count, uint64_t at)
{
	if (pwrite(fd, bytes, count, (off_t)at) != (ssize_t)count)
		abort();
}

/* bytes: where the section headers stand; all before is one segment, linked at 0.  names: of these, SHN_UNDEF: none. */
static inline int elf_file(uint64_t bytes, const Elf64_Shdr *sections, size_t count, uint16_t names)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
#if defined(__x86_64__)
		.e_machine = EM_X86_64,
#else
		.e_machine = EM_AARCH64,
#endif
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = bytes,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)count,
		.e_shstrndx = names,
	};
	const Elf64_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = bytes, .p_memsz = bytes};
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		abort();
	elf_put(fd, &header, sizeof(header), 0);
	elf_put(fd, &segment, sizeof(segment), sizeof(header));
	elf_put(fd, sections, count * sizeof(*sections), bytes);
	return fd;
}

/* The memory that this process has, in bytes. */
static inline uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		abort();
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
