/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An ELF file by its headers: opening, sections, and conversions between linked addresses, file offsets and
 * mappings.  image_symbols.c has the symbols.  The file is read, never mapped: its owner may truncate it at any
 * moment, and a mapping would then raise SIGBUS.
 */
#include "target/image_internal.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/read_at.h"

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#else
#error "which ELF machine is this?"
#endif

/* Linkers make fewer than 20 segments; PN_XNUM (0xffff), the escape to a larger number, is refused, too. */
#define SEGMENTS_MAX 512
#define DYNAMIC_BYTES_MAX (1u << 20)
#define SONAME_MAX 255 /* NAME_MAX */
#define SEARCH_CHUNK ((size_t)256 << 10)

/* A read of exactly that many bytes. */
static int read_fully(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	int64_t got = read_at(fd, buffer, bytes, offset);

	return got < 0 ? (int)got : (size_t)got < bytes ? -ERANGE : 0;
}

/* Refuses files that libelf would accept but gputrace cannot use, before libelf sees them. */
static int check_header(int fd, Elf64_Ehdr *header)
{
	if (read_fully(fd, header, sizeof(*header), 0))
		return -ENOEXEC;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != NATIVE_MACHINE)
		return -ENOEXEC;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX)
		return -ENOEXEC;
	/* e_shnum 0 with a table means "the number is in section 0", up to 2^32: only compilers write such files. */
	if (header->e_shoff && (header->e_shnum == 0 || header->e_shentsize != sizeof(Elf64_Shdr)))
		return -ENOEXEC;
	return 0;
}

static int read_segments(struct image *image, const Elf64_Ehdr *header)
{
	Elf64_Phdr *table = xcalloc(header->e_phnum, sizeof(*table));
	int err = -ENOEXEC;

	if (header->e_phoff > image->size ||
	    read_fully(image->fd, table, header->e_phnum * sizeof(*table), header->e_phoff))
		goto cleanup;
	image->segments = xcalloc(header->e_phnum, sizeof(*image->segments));
	image->program = header->e_type == ET_EXEC;
	for (size_t i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *from = &table[i];

		image->program |= from->p_type == PT_INTERP;
		if (from->p_type != PT_LOAD || from->p_filesz == 0)
			continue;
		if (from->p_offset > image->size || from->p_filesz > image->size - from->p_offset ||
		    from->p_filesz > UINT64_MAX - from->p_vaddr)
			continue;
		image->segments[image->segment_count++] = (struct image_segment){
			.address = from->p_vaddr,
			.offset = from->p_offset,
			.bytes = from->p_filesz,
			.executable = from->p_flags & PF_X,
			.writable = from->p_flags & PF_W,
		};
	}
	err = 0;
cleanup:
	free(table);
	return err;
}

static bool is_readable(const struct image *image, const Elf64_Shdr *header, uint64_t most)
{
	return !(header->sh_flags & SHF_COMPRESSED) && header->sh_size <= most && header->sh_offset <= image->size &&
	       header->sh_size <= image->size - header->sh_offset;
}

bool image_section_read(const struct image *image, const Elf64_Shdr *header, uint64_t at, void *buffer, size_t bytes)
{
	return is_readable(image, header, UINT64_MAX) && at <= header->sh_size && bytes <= header->sh_size - at &&
	       !read_fully(image->fd, buffer, bytes, header->sh_offset + at);
}

Elf_Data *image_section_data(const struct image *image, Elf_Scn *section, uint32_t type, uint64_t most)
{
	const Elf64_Shdr *header = elf64_getshdr(section);

	return header && header->sh_type == type && is_readable(image, header, most) ? elf_getdata(section, NULL)
										     : NULL;
}

/* The entries of the dynamic section; strings: the index of their string table. */
static const Elf64_Dyn *dynamic_entries(const struct image *image, size_t *count, size_t *strings)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section))) {
		const Elf_Data *data = image_section_data(image, section, SHT_DYNAMIC, DYNAMIC_BYTES_MAX);

		if (!data)
			continue;
		*count = data->d_buf ? data->d_size / sizeof(Elf64_Dyn) : 0;
		*strings = elf64_getshdr(section)->sh_link;
		return data->d_buf;
	}
	*count = 0;
	return NULL;
}

/* A name of at most SONAME_MAX bytes, else "".  Only that much of the section is read, which may have 6 MB. */
static void read_name(const struct image *image, size_t strings, uint64_t at, char name[SONAME_MAX + 1])
{
	Elf_Scn *section = elf_getscn(image->elf, strings);
	const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
	size_t bytes = SONAME_MAX + 1;

	name[0] = '\0';
	if (!header || header->sh_type != SHT_STRTAB || at >= header->sh_size)
		return;
	if (header->sh_size - at < bytes)
		bytes = header->sh_size - at;
	if (!image_section_read(image, header, at, name, bytes) || !memchr(name, '\0', bytes))
		name[0] = '\0';
}

static void read_dynamic(struct image *image)
{
	size_t count, strings = 0;
	const Elf64_Dyn *entry = dynamic_entries(image, &count, &strings);
	char name[SONAME_MAX + 1] = "";

	for (; count && entry->d_tag != DT_NULL; entry++, count--) {
		if (entry->d_tag == DT_SONAME && !*name)
			read_name(image, strings, entry->d_un.d_val, name);
		image->program |= entry->d_tag == DT_FLAGS_1 && entry->d_un.d_val & DF_1_PIE;
	}
	image->soname = xstrdup(name);
}

bool image_needs(const struct image *image, const char *stem)
{
	size_t count, strings = 0;
	const Elf64_Dyn *entry = dynamic_entries(image, &count, &strings);
	char name[SONAME_MAX + 1];

	for (; count && entry->d_tag != DT_NULL; entry++, count--) {
		if (entry->d_tag != DT_NEEDED)
			continue;
		read_name(image, strings, entry->d_un.d_val, name);
		if (!strncmp(name, stem, strlen(stem)))
			return true;
	}
	return false;
}

int image_open(int fd, struct image **out)
{
	struct image *image = xcalloc(1, sizeof(*image));
	Elf64_Ehdr header;
	struct stat st;
	int err = 0;

	*out = NULL;
	image->fd = fd;
	image->tables = xcalloc(1, sizeof(*image->tables));
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -ENOEXEC;
	if (err)
		goto cleanup;
	image->size = (uint64_t)st.st_size;
	err = check_header(fd, &header);
	if (err)
		goto cleanup;
	err = read_segments(image, &header);
	if (err)
		goto cleanup;
	err = -ENOEXEC;
	if (elf_version(EV_CURRENT) == EV_NONE)
		goto cleanup;
	image->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF || !elf64_getehdr(image->elf))
		goto cleanup;
	read_dynamic(image);
	*out = image;
	return 0;
cleanup:
	image_close(image);
	return err;
}

void image_close(struct image *image)
{
	if (!image)
		return;
	array_free(&image->tables->by_address);
	free(image->tables);
	if (image->elf)
		elf_end(image->elf);
	free(image->soname);
	free(image->segments);
	close(image->fd);
	free(image);
}

int image_fd(const struct image *image)
{
	return image->fd;
}

const char *image_soname(const struct image *image)
{
	return image->soname;
}

bool image_is_program(const struct image *image)
{
	return image->program;
}

bool image_string_is(const struct image *image, const Elf64_Shdr *strings, uint64_t at, const char *wanted)
{
	char text[IMAGE_NAME_MAX];
	size_t bytes = strlen(wanted) + 1;

	return bytes <= sizeof(text) && image_section_read(image, strings, at, text, bytes) &&
	       !memcmp(text, wanted, bytes);
}

/* The first section of that name, and of that type unless `type` is SHT_NULL. */
static Elf_Scn *find_section(const struct image *image, const char *name, uint32_t type)
{
	Elf_Scn *section = NULL;
	size_t number;
	Elf_Scn *strings = elf_getshdrstrndx(image->elf, &number) ? NULL : elf_getscn(image->elf, number);
	const Elf64_Shdr *names = strings ? elf64_getshdr(strings) : NULL;

	while (names && (section = elf_nextscn(image->elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);

		if (header && (type == SHT_NULL || header->sh_type == type) &&
		    image_string_is(image, names, header->sh_name, name))
			return section;
	}
	return NULL;
}

bool image_has_section(const struct image *image, const char *name)
{
	return find_section(image, name, SHT_NULL);
}

int image_section(const struct image *image, const char *name, uint32_t type, uint64_t most, uint64_t *address,
		  const uint8_t **data, size_t *bytes)
{
	Elf_Scn *section = find_section(image, name, type);
	const Elf_Data *content = section ? image_section_data(image, section, type, most) : NULL;

	if (!content)
		return -ENOENT;
	*address = elf64_getshdr(section)->sh_addr;
	*data = content->d_buf;
	*bytes = content->d_buf ? content->d_size : 0;
	return 0;
}

bool image_section_holds(const struct image *image, const char *name, uint64_t most, const void *text, size_t length)
{
	Elf_Scn *section = find_section(image, name, SHT_PROGBITS);
	const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
	AUTO_FREE uint8_t *chunk = NULL;
	bool found = false;

	if (!header || !is_readable(image, header, most) || !length || length > SEARCH_CHUNK)
		return false;
	chunk = xmalloc(SEARCH_CHUNK);
	for (uint64_t at = 0; !found && at < header->sh_size; at += SEARCH_CHUNK - (length - 1)) {
		uint64_t rest = header->sh_size - at;
		int64_t got =
			read_at(image->fd, chunk, rest < SEARCH_CHUNK ? rest : SEARCH_CHUNK, header->sh_offset + at);

		if (got <= 0)
			break;
		found = memmem(chunk, (size_t)got, text, length);
	}
	return found;
}

static const struct image_segment *segment_at(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segments[i];

		if (address >= segment->address && address - segment->address < segment->bytes)
			return segment;
	}
	return NULL;
}

int image_file_offset(const struct image *image, uint64_t address, uint64_t *offset)
{
	const struct image_segment *segment = segment_at(image, address);

	if (!segment)
		return -ERANGE;
	*offset = segment->offset + (address - segment->address);
	return 0;
}

int image_read(const struct image *image, uint64_t address, void *buffer, size_t bytes)
{
	const struct image_segment *segment = segment_at(image, address);

	if (!segment || bytes > segment->bytes - (address - segment->address))
		return -ERANGE;
	return read_fully(image->fd, buffer, bytes, segment->offset + (address - segment->address));
}

/*
 * How well a segment explains a mapping; 0: not at all.  RELRO makes the head of the writable segment read-only
 * after loading, so a read-only mapping may be of a writable segment.
 */
static int segment_fits(const struct image_segment *segment, const struct mapping *mapping, uint64_t page)
{
	uint64_t first = segment->offset & ~(page - 1);
	uint64_t end = segment->offset + segment->bytes; /* within the file */

	if (mapping->offset < first || mapping->offset >= end || (mapping->writable && !segment->writable))
		return 0;
	return 1 + 2 * (segment->executable == mapping->executable) + (mapping->offset == first);
}

int image_bias(const struct image *image, const struct mapping *mapping, uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), found = 0;
	bool ambiguous = false;
	int best = 0;

	for (size_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segments[i];
		int fit = segment_fits(segment, mapping, page);
		/* Wraps on purpose: a file linked above where it is mapped has a negative bias. */
		uint64_t candidate = mapping->start - mapping->offset + segment->offset - segment->address;

		if (fit == 0 || fit < best)
			continue;
		ambiguous = fit == best && candidate != found;
		best = fit;
		found = candidate;
	}
	if (!best || ambiguous)
		return -ERANGE;
	*bias = found;
	return 0;
}
