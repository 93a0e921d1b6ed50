/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ELF files: what is found in a library that the linker made, and what is refused in a file that it did not make. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>

#include "built_library.h"
#include "elf_builder.h"
#include "target/image.h"

static const char source[] = "int counter = 5; const int limit = 77; extern int imported(void);\n"
			     "__asm__(\".symver api_old,api@FIRST\\n.symver api_new,api@@SECOND\");\n"
			     "int api_old(void) { return 1; }\n"
			     "int api_new(void) { return 2; }\n"
			     "__attribute__((noinline)) static int hidden_helper(int x) { return x * counter; }\n"
			     "__attribute__((noinline)) static int twice(int x) { return hidden_helper(x) * 2; }\n"
			     "int entry(int x) { return twice(x) + limit; }\n"
			     "int alias(int x) __attribute__((alias(\"entry\")));\n";
static const char versions[] = "FIRST { global: api; }; SECOND { global: api; entry; alias; counter; limit; } FIRST;";

struct fixture {
	char *folder, *path;
	struct image *image;
	void *handle;
};

static int build_fixture(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->folder = make_folder();
	f->path = build_file(f->folder, "libsample.so", source, versions,
			     "-O1 -g0 -shared -fPIC -Wl,-soname,libsample.so.3");
	assert_int_equal(image_open(open_file(f->path), &f->image), 0);
	f->handle = dlopen(f->path, RTLD_NOW);
	assert_non_null(f->handle);
	*state = f;
	return 0;
}

static int clean_fixture(void **state)
{
	struct fixture *f = *state;

	dlclose(f->handle);
	image_close(f->image);
	free(f->path);
	remove_folder(f->folder);
	free(f);
	return 0;
}

static void the_soname_is_read(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(image_soname(f->image), "libsample.so.3");
}

static void an_exported_symbol_is_found_with_its_contents(void **state)
{
	struct fixture *f = *state;
	struct image_symbol symbol;
	int value = 0;

	assert_int_equal(image_symbol(f->image, "limit", &symbol), 0);
	assert_true(symbol.dynamic);
	assert_false(symbol.function);
	assert_int_equal(symbol.size, sizeof(int));
	assert_int_equal(image_read(f->image, symbol.address, &value, sizeof(value)), 0);
	assert_int_equal(value, 77);
}

static void the_default_version_of_a_symbol_is_preferred(void **state)
{
	struct fixture *f = *state;
	struct image_symbol api, expected;

	assert_int_equal(image_symbol(f->image, "api", &api), 0);
	assert_int_equal(image_symbol(f->image, "api_new", &expected), 0);
	assert_int_equal(api.address, expected.address);
	assert_string_equal(api.name, "api");
}

static void a_local_symbol_comes_from_the_static_table(void **state)
{
	struct fixture *f = *state;
	struct image_symbol symbol;

	assert_int_equal(image_symbol(f->image, "hidden_helper", &symbol), 0);
	assert_false(symbol.dynamic);
	assert_true(symbol.function);
}

struct compared {
	struct image *image;
	unsigned same, others; /* others: symbols that are not the default version of their name */
};

static int compare_exported(const struct image_symbol *symbol, void *context)
{
	struct compared *compared = context;
	struct image_symbol found;

	if (!symbol->dynamic)
		return 1;
	assert_int_equal(image_exported(compared->image, symbol->name, &found), 0);
	assert_true(found.dynamic);
	if (found.address != symbol->address || found.size != symbol->size) {
		compared->others++;
		return 0;
	}
	assert_int_equal(found.function, symbol->function);
	compared->same++;
	return 0;
}

/* The C library has thousands of symbols, in all bindings and versions. */
static void hashes_lead_to_each_symbol_of_the_table(void **state)
{
	struct compared libc = {0};
	struct image_symbol symbol;
	Dl_info info;
	char name[32];
	void *handle;

	(void)state;
	assert_true(dladdr((void *)gnu_get_libc_version, &info)); /* no sanitizer defines this function */
	assert_int_equal(image_open(open_file(info.dli_fname), &libc.image), 0);
	handle = dlopen(info.dli_fname, RTLD_NOW);
	image_each_symbol(libc.image, compare_exported, &libc);
	assert_true(libc.same > 2000 && libc.others < libc.same / 10);
	assert_int_equal(image_exported(libc.image, "pthread_cond_wait", &symbol), 0);
	assert_ptr_equal((char *)info.dli_fbase + symbol.address, dlsym(handle, "pthread_cond_wait"));
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "no_such_name_%d", i);
		assert_int_equal(image_exported(libc.image, name, &symbol), -ENOENT);
	}
	dlclose(handle);
	image_close(libc.image);
}

static void a_library_without_such_hashes_has_its_symbols_too(void **state)
{
	struct fixture *f = *state;
	char *path =
		build_file(f->folder, "libolder.so", source, versions, "-O1 -g0 -shared -fPIC -Wl,--hash-style=sysv");
	struct image_symbol api, expected;
	struct image *image;

	assert_int_equal(image_open(open_file(path), &image), 0);
	assert_false(image_has_section(image, ".gnu.hash"));
	assert_int_equal(image_exported(image, "api", &api), 0);
	assert_int_equal(image_symbol(image, "api_new", &expected), 0);
	assert_int_equal(api.address, expected.address);
	assert_int_equal(image_exported(image, "hidden_helper", &api), -ENOENT);
	image_close(image);
	free(path);
}

static void what_a_library_needs_and_whether_it_is_a_program_is_known(void **state)
{
	struct fixture *f = *state;
	char *path = build_file(f->folder, "program", "int main(void) { return 0; }\n", NULL, "-O1");
	struct image *image;

	assert_false(image_is_program(f->image));
	assert_false(image_needs(f->image, "libcudart"));
	assert_int_equal(image_open(open_file(path), &image), 0);
	assert_true(image_is_program(image));
	assert_true(image_needs(image, "libc.so"));
	image_close(image);
	free(path);
}

static void imported_and_absent_symbols_are_not_found(void **state)
{
	struct fixture *f = *state;
	struct image_symbol symbol;

	assert_int_equal(image_symbol(f->image, "imported", &symbol), -ENOENT);
	assert_int_equal(image_symbol(f->image, "SECOND", &symbol), -ENOENT); /* a version's own symbol is absolute */
	assert_int_equal(image_symbol(f->image, "", &symbol), -ENOENT);
}

static void an_address_finds_the_function_around_it(void **state)
{
	struct fixture *f = *state;
	struct image_symbol helper, found;

	assert_int_equal(image_symbol(f->image, "hidden_helper", &helper), 0);
	assert_int_equal(image_symbol_at(f->image, helper.address, &found), 0);
	assert_string_equal(found.name, "hidden_helper");
	assert_int_equal(image_symbol_at(f->image, helper.address + helper.size - 1, &found), 0);
	assert_string_equal(found.name, "hidden_helper");
	assert_int_equal(image_symbol_at(f->image, 8, &found), -ENOENT);
	/* _init has no size; it ends where .plt begins */
	assert_int_equal(image_symbol(f->image, "_init", &helper), 0);
	assert_int_equal(image_symbol_at(f->image, helper.address + 1, &found), 0);
	assert_string_equal(found.name, "_init");
	assert_int_equal(image_symbol_at(f->image, helper.address + 0x30, &found), -ENOENT);
	assert_int_equal(image_symbol_at(f->image, UINT64_MAX, &found), -ENOENT);
}

static void an_address_and_its_offset_hold_the_same(void **state)
{
	struct fixture *f = *state;
	struct image_symbol symbol;
	uint64_t offset;
	uint8_t here[16], there[16];

	assert_int_equal(image_symbol(f->image, "entry", &symbol), 0);
	assert_int_equal(image_file_offset(f->image, symbol.address, &offset), 0);
	assert_int_equal(image_read(f->image, symbol.address, here, sizeof(here)), 0);
	assert_int_equal(pread(image_fd(f->image), there, sizeof(there), (off_t)offset), sizeof(there));
	assert_memory_equal(here, there, sizeof(here));
	assert_int_equal(image_file_offset(f->image, 1ull << 40, &offset), -ERANGE);
	assert_int_equal(image_read(f->image, symbol.address, here, SIZE_MAX), -ERANGE);
}

/* Read-only data and RELRO data can share a page of the file: then no bias is the right one. */
static void no_mapping_of_a_library_gives_a_bias_but_the_loaders(void **state)
{
	struct fixture *f = *state;
	struct mappings mappings;
	struct image_symbol entry, counter;
	unsigned checked = 0;

	assert_int_equal(image_symbol(f->image, "entry", &entry), 0);
	assert_int_equal(image_symbol(f->image, "counter", &counter), 0);
	assert_int_equal(mappings_read(getpid(), &mappings), 0);
	for (size_t i = 0; i < mappings.list.count; i++) {
		const struct mapping *mapping = &mappings.list.items[i];
		uint64_t bias;

		if (strcmp(mapping->path, f->path))
			continue;
		if (image_bias(f->image, mapping, &bias)) {
			assert_false(mapping->offset == 0 || mapping->executable || mapping->writable);
			continue;
		}
		assert_int_equal(bias + entry.address, (uintptr_t)dlsym(f->handle, "entry"));
		assert_int_equal(bias + counter.address, (uintptr_t)dlsym(f->handle, "counter"));
		checked++;
	}
	assert_true(checked >= 3);
	mappings_free(&mappings);
}

static int count_entry(const struct image_symbol *symbol, void *context)
{
	unsigned *count = context;

	*count += strcmp(symbol->name, "entry") == 0;
	return 0;
}

static int stop_at_first(const struct image_symbol *symbol, void *context)
{
	(void)symbol;
	++*(unsigned *)context;
	return 42;
}

static void every_symbol_of_both_tables_is_visited_until_asked_to_stop(void **state)
{
	struct fixture *f = *state;
	unsigned count = 0;

	assert_int_equal(image_each_symbol(f->image, count_entry, &count), 0);
	assert_int_equal(count, 2);
	count = 0;
	assert_int_equal(image_each_symbol(f->image, stop_at_first, &count), 42);
	assert_int_equal(count, 1);
}

static int memory_file(const void *data, size_t bytes)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	return fd;
}

static void what_is_not_elf_of_this_machine_is_refused(void **state)
{
	struct fixture *f = *state;
	struct image *image;
	Elf64_Ehdr header, bad;

	assert_int_equal(pread(image_fd(f->image), &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(image_open(memory_file("", 0), &image), -ENOEXEC);
	assert_int_equal(image_open(memory_file("#!/bin/sh\n", 10), &image), -ENOEXEC);
	assert_int_equal(image_open(memory_file(&header, sizeof(header) - 1), &image), -ENOEXEC);
	bad = header;
	bad.e_machine = EM_PPC64;
	assert_int_equal(image_open(memory_file(&bad, sizeof(bad)), &image), -ENOEXEC);
	bad = header;
	bad.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(image_open(memory_file(&bad, sizeof(bad)), &image), -ENOEXEC);
	bad = header;
	bad.e_phnum = PN_XNUM;
	assert_int_equal(image_open(memory_file(&bad, sizeof(bad)), &image), -ENOEXEC);
	bad = header;
	bad.e_shnum = 0; /* "look into section 0" */
	assert_int_equal(image_open(memory_file(&bad, sizeof(bad)), &image), -ENOEXEC);
	assert_int_equal(image_open(memory_file(&header, sizeof(header)), &image), -ENOEXEC); /* no program headers */
	assert_int_equal(image_open(open_file("/dev/null"), &image), -ENOEXEC);
}

/* The owner of a file may truncate it while gputrace reads: reading must fail, not crash. */
static void a_file_that_shrinks_while_open_does_no_harm(void **state)
{
	struct fixture *f = *state;
	char *copy = xasprintf("%s/copy", f->folder), *command = xasprintf("cp '%s' '%s'", f->path, copy);
	struct image_symbol symbol;
	struct image *image;
	uint64_t word;

	assert_int_equal(system(command), 0);
	assert_int_equal(image_open(open_file(copy), &image), 0);
	assert_int_equal(image_symbol(image, "limit", &symbol), 0);
	assert_int_equal(truncate(copy, 100), 0);
	assert_int_equal(image_read(image, symbol.address, &word, sizeof(int)), -ERANGE);
	assert_int_equal(image_symbol(image, "entry", &symbol), -ENOENT);
	image_close(image);
	free(copy);
	free(command);
}

static void truncated_symbols_are_absent_not_fatal(void **state)
{
	struct fixture *f = *state;
	off_t size = lseek(image_fd(f->image), 0, SEEK_END);
	char *bytes = xmalloc((size_t)size);
	struct image_symbol symbol;
	struct image *image;

	assert_int_equal(pread(image_fd(f->image), bytes, (size_t)size, 0), size);
	for (off_t cut = 64; cut < size; cut += 61) {
		if (image_open(memory_file(bytes, (size_t)cut), &image))
			continue;
		image_symbol(image, "hidden_helper", &symbol);
		image_symbol_at(image, 0x1000, &symbol);
		image_close(image);
	}
	free(bytes);
}

#define HOLE ((uint64_t)24 << 18) /* of a file that takes no room */
#define MANY 64u

/* Each section that is read stays in memory: a small file could have made gputrace take all there is. */
static void of_many_tables_of_symbols_one_is_read(void **state)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM, SHT_GNU_versym};
	Elf64_Shdr sections[MANY] = {{0}, {.sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = 16}};
	uint64_t before = resident_bytes();
	struct image_symbol symbol;
	struct image *image;

	for (unsigned i = 2; i < MANY; i++)
		sections[i] = (Elf64_Shdr){
			.sh_type = types[i % 3], .sh_offset = 4096, .sh_size = HOLE, .sh_link = 1, .sh_entsize = 24};
	assert_int_equal(image_open(elf_file(4096 + HOLE, sections, MANY, SHN_UNDEF), &image), 0);
	assert_int_equal(image_symbol(image, "entry", &symbol), -ENOENT);
	assert_int_equal(image_symbol_at(image, 4096, &symbol), -ENOENT);
	assert_true(resident_bytes() < before + 8 * HOLE);
	image_close(image);
}

static void the_names_of_sections_are_not_read_as_a_whole(void **state)
{
	const Elf64_Shdr sections[] = {{0},
				       {.sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = MANY * HOLE},
				       {.sh_type = SHT_PROGBITS, .sh_name = 7, .sh_offset = 4096, .sh_size = 16}};
	int fd = elf_file(4096 + MANY * HOLE, sections, 3, 1);
	uint64_t before = resident_bytes();
	struct image *image;

	elf_put(fd, ".nv_fatbin", sizeof(".nv_fatbin"), 4096 + 7);
	assert_int_equal(image_open(fd, &image), 0);
	assert_true(image_has_section(image, ".nv_fatbin"));
	assert_false(image_has_section(image, ".nv_fat"));
	assert_true(resident_bytes() < before + HOLE);
	image_close(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_soname_is_read),
		cmocka_unit_test(an_exported_symbol_is_found_with_its_contents),
		cmocka_unit_test(the_default_version_of_a_symbol_is_preferred),
		cmocka_unit_test(a_local_symbol_comes_from_the_static_table),
		cmocka_unit_test(hashes_lead_to_each_symbol_of_the_table),
		cmocka_unit_test(a_library_without_such_hashes_has_its_symbols_too),
		cmocka_unit_test(what_a_library_needs_and_whether_it_is_a_program_is_known),
		cmocka_unit_test(imported_and_absent_symbols_are_not_found),
		cmocka_unit_test(an_address_finds_the_function_around_it),
		cmocka_unit_test(an_address_and_its_offset_hold_the_same),
		cmocka_unit_test(no_mapping_of_a_library_gives_a_bias_but_the_loaders),
		cmocka_unit_test(every_symbol_of_both_tables_is_visited_until_asked_to_stop),
		cmocka_unit_test(what_is_not_elf_of_this_machine_is_refused),
		cmocka_unit_test(a_file_that_shrinks_while_open_does_no_harm),
		cmocka_unit_test(truncated_symbols_are_absent_not_fatal),
		cmocka_unit_test(of_many_tables_of_symbols_one_is_read),
		cmocka_unit_test(the_names_of_sections_are_not_read_as_a_whole),
	};

	return cmocka_run_group_tests_name("target/image", tests, build_fixture, clean_fixture);
}
