/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which CPython a file is, by its exports, its name and its text; two of these must agree. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "built_library.h"
#include "target/python/python_internal.h"

static const struct {
	const char *what, *name, *source;
	int err;
	const char *version; /* after refining */
	bool early;
} files[] = {
	{"the exported word", "app", "unsigned long Py_Version = 0x030c01f0;", 0, "3.12.1", false},
	{"a release candidate", "app", "unsigned long Py_Version = 0x030d00c2;", 0, "3.13.0rc2", false},
	{"an alpha", "app", "unsigned long Py_Version = 0x030e00a7;", 0, "3.14.0a7", true},
	{"a name and a text", "libpython3.9.so.1.0", "char text[] = \"3.9.18\";", 0, "3.9.18", false},
	{"a name alone", "libpython3.9.so.1.0", "char text[] = \"nothing\";", 0, "3.9", false},
	{"the name of an executable", "python3.8", "char text[] = \"\";", 0, "3.8", false},
	{"a text alone", "app", "char text[] = \"3.10.13\";", 0, "3.10.13", false},
	{"the tail of another text", "app", "char text[] = \"/opt/Python-3.8.18\";", 0, "3.8.18", false},
	{"a build from a repository", "app", "char text[] = \"3.8.18+\";", 0, "3.8.18+", false},
	{"a beta by its text", "libpython3.10.so", "char text[] = \"3.10.0b4\";", 0, "3.10.0b4", true},
	{"two micro versions", "libpython3.9.so.1.0", "char text[] = \"3.9.18\\0003.9.17\";", 0, "3.9", false},
	{"texts that are no version of it", "libpython3.9.so.1.0",
	 "char text[] = \"13.9.1\\0002.3.9.2\\0003.9.3 of something\\0003.45.1\\0003.9.\";", 0, "3.9", false},
	{"other libraries' versions beside its own", "libpython3.9.so.1.0", "char text[] = \"3.9.18\\0003.7.17\";", 0,
	 "3.9.18", false},
	{"a text against the name", "libpython3.9.so.1.0", "char text[] = \"3.8.18\";", -ENOTSUP, "", false},
	{"a word against the name", "libpython3.11.so.1.0", "unsigned long Py_Version = 0x030c01f0;", -ENOTSUP, "",
	 false},
	{"two releases by text alone", "app", "char text[] = \"3.9.18\\0003.7.17\";", -ENOENT, "", false},
	{"nothing that says", "app", "char text[] = \"\";", -ENOENT, "", false},
};

static void the_version_is_what_all_sources_agree_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *path = build_file(tests_folder, files[i].name, files[i].source, NULL, "-shared -fPIC");
		char why[128] = "", text[32] = "";
		struct python_version version;
		struct image *image;
		int err;

		assert_int_equal(image_open(open_file(path), &image), 0);
		err = python_version_find(image, path, &version, why, sizeof(why));
		if (!err)
			err = python_version_refine(image, &version, why, sizeof(why));
		if (!err)
			python_version_print(&version, text, sizeof(text));
		if (err != files[i].err || strcmp(text, files[i].version) || (!err && version.early != files[i].early))
			fail_msg("%s: %d, \"%s\", %s", files[i].what, err, text, why);
		assert_int_equal(err == -ENOTSUP, why[0] != '\0');
		image_close(image);
		free(path);
	}
}

#define READ_AT_ONCE (1 << 20) /* SCAN_CHUNK, user/target/python/python_version.c */

/* Builds a library with the text `pad` bytes into its read-only data; returns the text's offset in the file. */
static uint64_t build_with_text_at(size_t pad, struct image **image)
{
	char *source =
		xasprintf("const struct { char pad[%zu], text[7], more[100]; } all = {{1}, \"3.9.18\", {1}};", pad);
	char *path = build_file(tests_folder, "libpython3.9.so", source, NULL, "-shared -fPIC");
	struct image_symbol symbol;
	uint64_t offset;

	assert_int_equal(image_open(open_file(path), image), 0);
	assert_int_equal(image_symbol(*image, "all", &symbol), 0);
	assert_int_equal(image_file_offset(*image, symbol.address, &offset), 0);
	free(path);
	free(source);
	return offset + pad;
}

static void a_text_is_found_across_the_edge_of_what_is_read_at_once(void **state)
{
	static const int shifts[] = {-30, -24, -23, -7, -6, -3, -1, 0, 1, 17, 18, 24};
	struct image *image;
	size_t first = READ_AT_ONCE + 1 - build_with_text_at(1, &image);

	(void)state;
	image_close(image);
	for (size_t i = 0; i < sizeof(shifts) / sizeof(*shifts); i++) {
		struct python_version version;
		char why[128];

		assert_int_equal(build_with_text_at(first + (size_t)shifts[i], &image), READ_AT_ONCE + shifts[i]);
		assert_int_equal(python_version_find(image, "libpython3.9.so", &version, why, sizeof(why)), 0);
		assert_int_equal(python_version_refine(image, &version, why, sizeof(why)), 0);
		if (version.micro != 18)
			fail_msg("not found %d bytes from the edge", shifts[i]);
		image_close(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_is_what_all_sources_agree_on),
		cmocka_unit_test(a_text_is_found_across_the_edge_of_what_is_read_at_once),
	};

	return cmocka_run_group_tests_name("target/python_version", tests, make_tests_folder, remove_tests_folder);
}
