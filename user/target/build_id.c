/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the note NT_GNU_BUILD_ID through the program headers, which a mapped file has in memory, too. */
#include "target/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/read_at.h"

#define HEADERS_MAX 64
#define NOTES_MAX 4096
#define ID_MAX 64

/* A file, or the same file in a process's memory. */
struct source {
	int fd;
	pid_t pid; /* 0: the file */
	uint64_t start;
};

struct build_id {
	uint32_t bytes;
	uint8_t id[ID_MAX];
};

static bool read_source(const struct source *source, uint64_t at, void *buffer, size_t bytes)
{
	if (source->pid)
		return !process_read_memory(source->pid, source->start + at, buffer, bytes);
	return read_at(source->fd, buffer, bytes, at) == (int64_t)bytes;
}

static bool parse_notes(const uint8_t *notes, size_t bytes, struct build_id *out)
{
	static const char name[] = "GNU";
	size_t at = 0;

	while (bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name_end, end;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name_end = at + ((uint64_t)note.n_namesz + 3) / 4 * 4;
		end = name_end + ((uint64_t)note.n_descsz + 3) / 4 * 4;
		if (end > bytes)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) &&
		    !memcmp(notes + at, name, sizeof(name)) && note.n_descsz && note.n_descsz <= ID_MAX) {
			out->bytes = note.n_descsz;
			memcpy(out->id, notes + name_end, note.n_descsz);
			return true;
		}
		at = end;
	}
	return false;
}

/* Memory has the file's first segment at its start, and all others at their distance from it. */
static bool read_build_id(const struct source *source, struct build_id *out)
{
	Elf64_Phdr headers[HEADERS_MAX];
	uint8_t notes[NOTES_MAX];
	Elf64_Ehdr header;
	uint64_t first = 0;
	bool found = false;

	if (!read_source(source, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(headers[0]) || !header.e_phnum ||
	    header.e_phnum > HEADERS_MAX ||
	    !read_source(source, header.e_phoff, headers, header.e_phnum * sizeof(headers[0])))
		return false;
	for (int i = 0; i < header.e_phnum; i++)
		if (headers[i].p_type == PT_LOAD && !headers[i].p_offset)
			first = headers[i].p_vaddr;
	for (int i = 0; i < header.e_phnum && !found; i++) {
		uint64_t at = source->pid ? headers[i].p_vaddr - first : headers[i].p_offset;

		found = headers[i].p_type == PT_NOTE && headers[i].p_filesz <= sizeof(notes) &&
			read_source(source, at, notes, headers[i].p_filesz) &&
			parse_notes(notes, headers[i].p_filesz, out);
	}
	return found;
}

bool build_id_is_of(pid_t pid, const struct mappings *mappings, const struct mapping *mapping, int file_fd)
{
	const struct mapping *start = mappings_of_file(mappings, mapping->device, mapping->inode);
	struct build_id own, its;

	return start && !start->offset && read_build_id(&(struct source){.fd = file_fd}, &own) &&
	       read_build_id(&(struct source){.fd = -1, .pid = pid, .start = start->start}, &its) &&
	       own.bytes == its.bytes && !memcmp(own.id, its.id, own.bytes);
}
