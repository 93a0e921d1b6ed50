/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which libraries are recognised, and which CUDA calls are found in one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <glob.h>

#include <gputrace/cuda_api.h>

#include "built_library.h"
#include "target/library.h"

static void names_give_the_kind(void **state)
{
	static const struct {
		const char *path;
		enum library_kind kind;
	} names[] = {
		{"/usr/local/cuda/lib64/libcudart.so.13.0.96", LIBRARY_CUDART},
		{"libcudart.so", LIBRARY_CUDART},
		{"/opt/torch.libs/libcudart-9335f6a2.so.11.0", LIBRARY_CUDART},
		{"/usr/lib/libcuda.so.1", LIBRARY_CUDA},
		{"/usr/lib/libcuda.so.550.163.01", LIBRARY_CUDA},
		{"/usr/lib/libcudadebugger.so.1", LIBRARY_OTHER},
		{"/usr/lib/libcudart_something.so.1", LIBRARY_OTHER},
		{"/x/libcupti.so.2025.3.0", LIBRARY_CUPTI},
		{"/x/libpython3.12.so.1.0", LIBRARY_PYTHON},
		{"/x/libpython3.7m.so.1.0", LIBRARY_PYTHON},
		{"/x/libpython3.13t.so.1.0", LIBRARY_PYTHON},
		{"/x/libpython2.7.so.1.0", LIBRARY_PYTHON},
		{"/x/libpython3.so", LIBRARY_OTHER},
		{"/x/libpython3.12.txt", LIBRARY_OTHER},
		{"/x/torch/lib/libtorch_cpu.so", LIBRARY_TORCH},
		{"/x/torch/lib/libtorch_python.so", LIBRARY_OTHER},
		{"/x/libgputrace-agent.so", LIBRARY_AGENT},
		{"/usr/bin/python3.11", LIBRARY_OTHER},
		{"/libcuda.so.1/other.txt", LIBRARY_OTHER},
		{"", LIBRARY_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (library_kind_of_name(names[i].path) != names[i].kind)
			fail_msg("%s is taken for kind %d", names[i].path, (int)library_kind_of_name(names[i].path));
}

static struct image *build_image(const char *source, const char *versions, const char *flags)
{
	char *path = build_file(tests_folder, "sample", source, versions, flags);
	struct image *image;

	assert_int_equal(image_open(open_file(path), &image), 0);
	free(path);
	return image;
}

static const struct library_site *site_of(const struct library_sites *sites, const char *symbol)
{
	for (size_t i = 0; i < sites->list.count; i++)
		if (strcmp(sites->list.items[i].symbol, symbol) == 0)
			return &sites->list.items[i];
	return NULL;
}

/* A thunk as in libcuda: cmpl, je, jmp *table. */
#define THUNK(name)                                                                                                    \
	".globl " name "\\n.type " name ",@function\\n" name                                                           \
	":\\n.byte 0x81,0x3d,0,0,0x20,0,0,0xba,0x1c,0x32,0x74,0x0c,0xff,0x25,0,0,0,0\\n"                               \
	".byte 0x66,0x0f,0x1f,0x44,0,0,0xb8,4,0,0,0,0xc3\\n.size " name ",.-" name "\\n"

static void driver_thunks_are_probed_at_their_jump_by_the_names_of_the_table(void **state)
{
	struct image *image =
		build_image("__asm__(\".text\\n" THUNK("cuLaunchKernel") THUNK("cuLaunchKernel_ptsz")
				    THUNK("cuMemAlloc") THUNK("cuMemAlloc_v2") THUNK("cuMemcpyHtoDAsync_v2")
					    THUNK("cuMemcpyHtoDAsync_v2_ptsz") THUNK("cudaMalloc") "\");\n",
			    NULL, "-shared -fPIC -Wl,-soname,libcuda.so.1");
	struct library_sites sites;
	const struct library_site *launch, *twin;
	struct image_symbol symbol;
	uint64_t offset;

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/renamed"), LIBRARY_CUDA);
	assert_int_equal(library_sites_find(image, LIBRARY_CUDA, &sites), 0);
	assert_int_equal(sites.list.count, 5);
	assert_int_equal(sites.launches, 2);
	assert_int_equal(sites.stepped, 0);
	launch = site_of(&sites, "cuLaunchKernel");
	twin = site_of(&sites, "cuMemcpyHtoDAsync_v2_ptsz");
	assert_non_null(launch);
	assert_non_null(twin);
	assert_int_equal(launch->api, GPT_API(GPT_DOMAIN_DRIVER, 307));
	assert_int_equal(twin->api, GPT_API(GPT_DOMAIN_DRIVER, 421));
	assert_int_equal(launch->site.skipped, 10);
	assert_int_equal(launch->site.cost, SITE_EMULATED);
	assert_int_equal(image_symbol(image, "cuLaunchKernel", &symbol), 0);
	assert_int_equal(image_file_offset(image, symbol.address, &offset), 0);
	assert_int_equal(launch->site.offset, offset + 10);
	assert_null(site_of(&sites, "cuMemAlloc")); /* the old interface has another meaning and is not in the table */
	assert_null(site_of(&sites, "cudaMalloc"));
	library_sites_free(&sites);
	image_close(image);
}

static void versioned_runtime_symbols_and_aliases_give_one_site_each(void **state)
{
	struct image *image =
		build_image("int cudaLaunchKernel(int x) { return x + 1; }\n"
			    "int __cudaLaunchKernel(int x) __attribute__((alias(\"cudaLaunchKernel\")));\n"
			    "int cudaMalloc(int x) { return x + 2; }\n"
			    "int cudaFree(int x) __attribute__((alias(\"cudaMalloc\")));\n"
			    "int cudaMemcpy_ptds(int x) { return x + 3; }\n"
			    "int cuLaunchKernel(int x) { return x + 4; }\n"
			    "int cudaGraphLaunch = 3;\n",
			    "libcudart.so.13 { global: *; };", "-O1 -shared -fPIC -Wl,-soname,libcudart.so.13");
	struct library_sites sites;

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/renamed"), LIBRARY_CUDART);
	assert_int_equal(library_sites_find(image, LIBRARY_CUDART, &sites), 0);
	assert_int_equal(sites.list.count, 3);
	assert_non_null(site_of(&sites, "cudaLaunchKernel"));
	assert_non_null(site_of(&sites, "cudaMalloc"));
	assert_null(site_of(&sites, "cudaGraphLaunch")); /* data */
	assert_int_equal(site_of(&sites, "cudaMemcpy_ptds")->api, GPT_API(GPT_DOMAIN_RUNTIME, 215));
	library_sites_free(&sites);
	image_close(image);
}

static void a_static_runtime_is_found_by_its_local_symbols(void **state)
{
	struct image *image =
		build_image("__attribute__((noinline)) static int cudaLaunchKernel(volatile int *x) { return *x; }\n"
			    "int main(void) { int x = 3; return cudaLaunchKernel(&x); }\n",
			    NULL, "-O1");
	struct library_sites sites;

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/usr/bin/simulation"), LIBRARY_CUDART_STATIC);
	assert_int_equal(library_sites_find(image, LIBRARY_CUDART_STATIC, &sites), 0);
	assert_int_equal(sites.list.count, 1);
	assert_string_equal(sites.list.items[0].symbol, "cudaLaunchKernel");
	library_sites_free(&sites);
	image_close(image);
}

/* As nvcc links it into an extension module: with local symbols, next to code for the GPU. */
static void a_static_runtime_of_a_library_is_found_where_it_needs_no_other(void **state)
{
	static const char source[] =
		"__attribute__((section(\".nv_fatbin\"), used)) static int code = 1;\n"
		"const char *name(int i) { return &\"\\0cudaErrorMemoryAllocation\"[i]; }\n"
		"__attribute__((noinline)) static int cudaLaunchKernel(volatile int *x) { return *x; }\n"
		"int entry(void) { int x = 3; return cudaLaunchKernel(&x); }\n";
	char *other = build_file(tests_folder, "libcudart.so.13", "int other;\n", NULL,
				 "-shared -fPIC -Wl,-soname,libcudart.so.13");
	char *flags = xasprintf("-O1 -shared -fPIC -fno-merge-constants -Wl,--no-as-needed '%s'", other);
	struct image *image = build_image(source, NULL, "-O1 -shared -fPIC -fno-merge-constants");

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/x/extension.so"), LIBRARY_CUDART_STATIC);
	assert_true(library_hides_runtime(image));
	image_close(image);
	image = build_image(source, NULL, flags);
	assert_int_equal(library_kind_of_image(image, "/x/extension.so"), LIBRARY_OTHER);
	assert_false(library_hides_runtime(image));
	image_close(image);
	free(flags);
	free(other);
}

static void a_runtime_without_names_is_known_by_what_it_holds(void **state)
{
	static const char stripped[] = "__attribute__((section(\".nv_fatbin\"), used)) static int code = 1;\n"
				       "const char *name(int i) { return &\"\\0cudaErrorMemoryAllocation\"[i]; }\n";
	static const char none[] = "const char *name(int i) { return &\"\\0cudaErrorMemoryAllocation\"[i]; }\n";
	struct image *image = build_image(stripped, NULL, "-O1 -shared -fPIC -s -fno-merge-constants");

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/x/extension.so"), LIBRARY_OTHER);
	assert_true(library_hides_runtime(image));
	image_close(image);
	image = build_image(none, NULL, "-O1 -shared -fPIC -s -fno-merge-constants");
	assert_false(library_hides_runtime(image));
	image_close(image);
}

/* The file is read in pieces of 256 KB. */
static void a_runtime_without_names_is_known_where_pieces_of_the_file_meet(void **state)
{
	static const int before[] = {262144 - 26, 262144 - 13, 262144 - 1, 3 * 262144 - 60, 5 * 262144};

	(void)state;
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		char source[256];
		struct image *image;

		snprintf(
			source, sizeof(source),
			"__attribute__((section(\".nv_fatbin\"), used)) static int code = 1;\n"
			"const struct { char before[%d], text[32]; } held = {{1}, \"\\0cudaErrorMemoryAllocation\"};\n",
			before[i]);
		image = build_image(source, NULL, "-O1 -shared -fPIC -s");
		assert_true(library_hides_runtime(image));
		image_close(image);
	}
}

static void a_program_that_only_calls_the_runtime_is_not_one(void **state)
{
	struct image *image = build_image("extern int cudaLaunchKernel(void);\n"
					  "int call(void) { return cudaLaunchKernel(); }\n",
					  NULL, "-O1 -shared -fPIC");
	struct library_sites sites;

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/x/app"), LIBRARY_OTHER);
	assert_int_equal(library_sites_find(image, LIBRARY_OTHER, &sites), -EINVAL);
	image_close(image);
}

static void an_executable_with_the_interpreter_inside_is_python(void **state)
{
	struct image *image = build_image("int _PyRuntime; int main(void) { return _PyRuntime; }\n", NULL, "-O1");

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/usr/bin/app"), LIBRARY_PYTHON_STATIC);
	image_close(image);
}

/*
 * Extension modules cannot use a _PyRuntime that the library does not export: it is not CPython's, whatever its name.
 */
static void a_library_that_exports_the_interpreter_is_python(void **state)
{
	struct image *image = build_image("int _PyRuntime;\n", NULL, "-O1 -shared -fPIC");

	(void)state;
	assert_int_equal(library_kind_of_image(image, "/x/libengine.so"), LIBRARY_PYTHON_STATIC);
	image_close(image);
	image = build_image("__attribute__((used)) static int _PyRuntime;\n", NULL, "-O1 -shared -fPIC");
	assert_int_equal(library_kind_of_image(image, "/x/libengine.so"), LIBRARY_OTHER);
	image_close(image);
}

/* Every entry of the real libraries begins with a push; all calls but those that 13 dropped are there. */
static void every_call_of_a_real_libcudart_has_a_cheap_site(void **state)
{
	const char *named = getenv("GPUTRACE_CUDART"); /* the path that tools/get-cudart prints */
	const char *patterns[] = {named ? named : "/nowhere", "/usr/local/cuda*/lib*/libcudart.so.[0-9][0-9]",
				  "/usr/local/lib/libcudart.so.*", "/usr/lib/*/libcudart.so.[0-9][0-9]"};
	glob_t found = {0};
	unsigned checked = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct library_sites sites;
		struct image *image;

		assert_int_equal(image_open(open_file(found.gl_pathv[i]), &image), 0);
		assert_int_equal(library_sites_find(image, library_kind_of_image(image, found.gl_pathv[i]), &sites), 0);
		print_message("%s: %zu sites\n", found.gl_pathv[i], sites.list.count);
		assert_true(sites.list.count >= 75);
		assert_true(sites.launches >= 8);
		assert_int_equal(sites.stepped, 0);
		library_sites_free(&sites);
		image_close(image);
		checked++;
	}
	globfree(&found);
	if (!checked) {
		print_message("no libcudart on this machine\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_give_the_kind),
		cmocka_unit_test(driver_thunks_are_probed_at_their_jump_by_the_names_of_the_table),
		cmocka_unit_test(versioned_runtime_symbols_and_aliases_give_one_site_each),
		cmocka_unit_test(a_static_runtime_is_found_by_its_local_symbols),
		cmocka_unit_test(a_static_runtime_of_a_library_is_found_where_it_needs_no_other),
		cmocka_unit_test(a_runtime_without_names_is_known_by_what_it_holds),
		cmocka_unit_test(a_runtime_without_names_is_known_where_pieces_of_the_file_meet),
		cmocka_unit_test(a_program_that_only_calls_the_runtime_is_not_one),
		cmocka_unit_test(an_executable_with_the_interpreter_inside_is_python),
		cmocka_unit_test(a_library_that_exports_the_interpreter_is_python),
		cmocka_unit_test(every_call_of_a_real_libcudart_has_a_cheap_site),
	};

	return cmocka_run_group_tests_name("target/library", tests, make_tests_folder, remove_tests_folder);
}
