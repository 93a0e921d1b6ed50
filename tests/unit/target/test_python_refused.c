/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interpreters that cannot be walked, most of them made up: each is refused with a reason that names it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "built_library.h"
#include "python_child.h"

static void load_and_wait(const void *path)
{
	if (path && !dlopen(path, RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		_exit(1);
	for (;;)
		pause();
}

static int find_mapped(void (*map_and_wait)(const void *path), const char *path, char *why, size_t why_size)
{
	struct python_info info;
	struct child child;
	char line[32];
	int err;

	start_child(&child, (const char *const[]){"none", NULL}, map_and_wait, path);
	assert_non_null(fgets(line, sizeof(line), child.from));
	err = find_python(child.pid, &info, why, why_size);
	python_info_free(&info);
	end_child(&child);
	return err;
}

static int find_with_library(const char *path, char *why, size_t why_size)
{
	return find_mapped(load_and_wait, path, why, why_size);
}

static void a_process_without_python_has_none(void **state)
{
	char why[256];

	(void)state;
	assert_int_equal(find_with_library(NULL, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "");
}

static const struct {
	const char *what, *name, *source;
	int err;
	const char *why; /* part of it */
} made_up[] = {
	{"a release to come", "libpython3.16.so.1.0", "unsigned long Py_Version = 0x031000f0; long _PyRuntime[500];\n",
	 -ENOTSUP, "CPython 3.16.0 is not supported yet"},
	{"a beta release", "libpython3.12.so.1.0", "unsigned long Py_Version = 0x030c00b2; long _PyRuntime[500];\n",
	 -ENOTSUP, "CPython 3.12.0b2 is a pre-release"},
	{"a name and a content that differ", "libpython3.12.so.1.0",
	 "unsigned long Py_Version = 0x030b01f0; long _PyRuntime[500];\n", -ENOTSUP,
	 "named CPython 3.12, but says it is 3.11"},
	{"a name alone where there is more since 3.11", "libpython3.12.so.1.0", "long _PyRuntime[500];\n", -ENOTSUP,
	 "is named CPython 3.12, but has no Py_Version to confirm it"},
	{"no runtime", "libpython3.9.so.1.0", "long something;\n", -ENOTSUP, "CPython 3.9 cannot be examined"},
	{"an interpreter that has not begun", "libpython3.9.so.1.0", "long _PyRuntime[500];\n", -EAGAIN, ""},
	{"a state that is not laid out so", "libpython3.9.so.1.0",
	 "long interpreter[500] = {0, 1}; long *_PyRuntime[500] = {[4] = interpreter};\n", -EPROTO,
	 "not laid out as in its headers"},
	{"no debug offsets", "libpython3.13.so.1.0", "unsigned long Py_Version = 0x030d00f0; long _PyRuntime[500];\n",
	 -EPROTO, "no debug offsets"},
	{"debug offsets of another version", "libpython3.13.so.1.0",
	 "unsigned long Py_Version = 0x030d00f0;\n"
	 "unsigned long _PyRuntime[500] = {0x7970677562656478, 0x030d01f0, 0};\n",
	 -EPROTO, "another version"},
	{"a free-threaded build", "libpython3.13t.so.1.0",
	 "unsigned long Py_Version = 0x030d00f0;\n"
	 "unsigned long _PyRuntime[500] = {0x7970677562656478, 0x030d00f0, 1};\n",
	 -ENOTSUP, "free-threaded"},
	{"a free-threaded build of the next version", "libpython3.14t.so.1.0",
	 "unsigned long Py_Version = 0x030e00f0;\n"
	 "unsigned long _PyRuntime[500] = {0x7970677562656478, 0x030e00f0, 1};\n",
	 -ENOTSUP, "free-threaded"},
	{"debug offsets beyond their structures", "libpython3.13.so.1.0",
	 "unsigned long Py_Version = 0x030d00f0;\n"
	 "unsigned long _PyRuntime[500] = {0x7970677562656478, 0x030d00f0, 0, 400, 0, 400};\n",
	 -EPROTO, "no sense"},
};

static void what_cannot_be_walked_is_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++) {
		char *path = build_file(tests_folder, made_up[i].name, made_up[i].source, NULL, "-shared -fPIC");
		char why[512];
		int err = find_with_library(path, why, sizeof(why));

		if (err != made_up[i].err || !strstr(why, made_up[i].why))
			fail_msg("%s: %d, \"%s\"", made_up[i].what, err, why);
		if (err != -EAGAIN)
			assert_memory_equal(why, path, strlen(path)); /* says which file */
		unlink(path);
		free(path);
	}
}

static void a_program_that_embeds_one_of_no_version_is_refused(void **state)
{
	static const char source[] = "#include <unistd.h>\n"
				     "void Py_Initialize(void) {}\n"
				     "int main(void) { for (;;) if (write(1, \"ready\\n\", 6)) pause(); }\n";
	char *path = build_file(tests_folder, "embeds", source, NULL, "-rdynamic"), line[32], why[512];
	struct python_info info;
	struct child child;

	(void)state;
	start_child(&child, (const char *const[]){path, NULL}, NULL, NULL);
	assert_non_null(fgets(line, sizeof(line), child.from));
	assert_int_equal(find_python(child.pid, &info, why, sizeof(why)), -ENOTSUP);
	assert_memory_equal(why, path, strlen(path));
	assert_non_null(strstr(why, "looks like CPython, but nothing says which version it is"));
	python_info_free(&info);
	end_child(&child);
	unlink(path);
	free(path);
}

/* The mapping is of what follows the last segment. */
static void map_the_end_and_wait(const void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = lseek(fd, 0, SEEK_END) & ~4095l;

	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, end - 8192) == MAP_FAILED)
		_exit(1);
	load_and_wait(NULL);
}

static void one_that_is_mapped_where_no_segment_is_is_refused(void **state)
{
	static const char source[] = "long _PyRuntime[500] = {1};\n"
				     "__asm__(\".section .far,\\\"\\\",@progbits; .zero 65536; .previous\");\n";
	char *path = build_file(tests_folder, "libpython3.9.so.1.0", source, NULL, "-shared -fPIC");
	char why[512] = "";

	(void)state;
	assert_int_equal(find_mapped(map_the_end_and_wait, path, why, sizeof(why)), -EPROTO);
	assert_memory_equal(why, path, strlen(path));
	assert_non_null(strstr(why, "the file does not explain how it is mapped"));
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_without_python_has_none),
		cmocka_unit_test(what_cannot_be_walked_is_refused_with_the_reason),
		cmocka_unit_test(a_program_that_embeds_one_of_no_version_is_refused),
		cmocka_unit_test(one_that_is_mapped_where_no_segment_is_is_refused),
	};

	return cmocka_run_group_tests_name("target/python, refused", tests, make_tests_folder, remove_tests_folder);
}
