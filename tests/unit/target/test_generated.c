/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The comments in a file written by PyTorch's compiler: what they say about the lines that launch. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "target/generated.h"

/* The reported lines, as "LINE kernel|nodes|ops|file:line", one after the other. */
struct said {
	char text[4096];
	unsigned lines;
};

static void add_line(void *context, const struct generated_line *line)
{
	struct said *said = context;
	size_t used = strlen(said->text);

	said->lines++;
	snprintf(said->text + used, sizeof(said->text) - used, "%u %.*s|%.*s|%.*s|%.*s:%u\n", line->line,
		 (int)line->kernel.size, line->kernel.bytes, (int)line->nodes.size, line->nodes.bytes,
		 (int)line->ops.size, line->ops.bytes, (int)line->file.size, line->file.bytes, line->file_line);
}

/* Reads from memory of exactly this length, so that a sanitizer sees a read beyond it. */
static struct said read_generated(const char *text, size_t bytes)
{
	char *copy = malloc(bytes + !bytes);
	struct said said = {.lines = 0};

	memcpy(copy, text, bytes);
	generated_read(copy, bytes, add_line, &said);
	free(copy);
	return said;
}

static void assert_says(const char *text, const char *expected)
{
	struct said said = read_generated(text, strlen(text));

	assert_string_equal(said.text, expected);
}

#define NODES(nodes, ops) "# Topologically Sorted Source Nodes: [" nodes "], Original ATen: [" ops "]\n"
#define KERNEL(name, path)                                                                                             \
	path NODES("of " name, "aten." name) "# Source node to ATen node mapping:\n" name                              \
					     " = async_compile.triton('" name "', '''\n"                               \
					     "import triton\n"                                                         \
					     "def helper():\n"                                                         \
					     "@triton.jit\n"                                                           \
					     "def " name "(in_ptr0):\n"                                                \
					     "    tmp0 = 1\n"                                                          \
					     "''', device_str='cuda')\n"

static void a_launch_has_the_nodes_of_the_comment_above_it_and_its_kernels_function(void **state)
{
	assert_says(
		KERNEL("triton_0",
		       "# kernel path: /cache/rt/crt.py\n") "def call(args):\n"
							    "    " NODES(
								    "sin, z",
								    "aten.sin, aten.mul") "    raw_stream0 = "
											  "get_raw_stream(0)\n"
											  "    triton_0.run(arg0_1, "
											  "buf0, 64, "
											  "stream=raw_stream0)\n",
		"14 triton_0|sin, z|aten.sin, aten.mul|/cache/rt/crt.py:5\n");
}

static void a_launch_without_a_comment_has_the_nodes_of_its_kernel(void **state)
{
	assert_says(KERNEL("triton_0", "# kernel path: /cache/rt/crt.py\n") "triton_0.run(1)\ntriton_0.run(2)\n",
		    "11 triton_0|of triton_0|aten.triton_0|/cache/rt/crt.py:5\n"
		    "12 triton_0|of triton_0|aten.triton_0|/cache/rt/crt.py:5\n");
}

static void a_kernel_of_the_users_own_has_the_place_that_its_comment_names(void **state)
{
	assert_says("# Original path: /src/a:b/model.py:42\n"
		    "own_0 = async_compile.triton('own', '''\n"
		    "@triton.jit\n"
		    "def own():\n"
		    "''', device_str='cuda')\n"
		    "own_0.run(x)\n",
		    "6 own_0|||/src/a:b/model.py:42\n");
}

static void of_two_kernels_with_one_name_the_later_counts(void **state)
{
	assert_says(KERNEL("t", "# kernel path: /cache/a.py\n") KERNEL("t", "# kernel path: /cache/b.py\n") "t.run()\n",
		    "21 t|of t|aten.t|/cache/b.py:5\n");
}

static void a_call_of_a_library_is_a_launch_where_a_comment_stands_above_it(void **state)
{
	assert_says(
		"extern_kernels.bmm(a, b)\n"
		"    " NODES("linear", "aten.mm") "    extern_kernels.mm(a, b, out=buf0)\n"
						  "    extern_kernels.mm(a, b, out=buf1)\n"
						  "    # Unsorted Source Nodes: [s], Original ATen: [aten._scaled]\n"
						  "    buf1 = torch.ops.aten._scaled.default(a)\n",
		"3 extern_kernels.mm|linear|aten.mm|:0\n"
		"6 torch.ops.aten._scaled.default|s|aten._scaled|:0\n");
}

static void what_stands_in_a_kernels_text_is_no_launch(void **state)
{
	assert_says("t = async_compile.triton('t', '''\n" NODES("a", "b") "t.run()\nextern_kernels.mm(a)\n''')\n", "");
}

static void text_that_is_cut_or_no_code_says_what_it_says(void **state)
{
	const char *whole = KERNEL("triton_0", "# kernel path: /cache/rt/crt.py\n")
		NODES("sin", "aten.sin") "triton_0.run(1)\n# Original path: :99999999999999\nt = "
					 "async_compile.cpp('''\n''')\nt(1)\n";

	for (size_t bytes = 0; bytes <= strlen(whole); bytes++)
		read_generated(whole, bytes);
	assert_says(whole, "12 triton_0|sin|aten.sin|/cache/rt/crt.py:5\n16 t|||:0\n");
	assert_says("# Source Nodes: [a], Original ATen: [\nextern_kernels.x(", "2 extern_kernels.x|a||:0\n");
	assert_says("], Original ATen: [ # Source Nodes: [\nextern_kernels.x(", "");
}

static void more_launches_than_are_reported_are_left_out(void **state)
{
	char *text = calloc(GENERATED_LINES_MAX + 8, 8), *at = text;
	struct said said;

	at = stpcpy(at, "t = async_compile.cpp('')\n");
	for (unsigned i = 0; i < GENERATED_LINES_MAX + 3; i++)
		at = stpcpy(at, "t(1)\n");
	said = read_generated(text, strlen(text));
	assert_int_equal(said.lines, GENERATED_LINES_MAX);
	free(text);
}

static void count_line(void *context, const struct generated_line *line)
{
	++*(unsigned *)context;
}

/* Each statement may call any of the kernels; the thread that attaches probes reads such files. */
static void a_file_of_nothing_but_statements_does_not_take_long(void **state)
{
	enum { KERNELS = GENERATED_KERNELS_MAX, STATEMENTS = 1000000 };
	size_t size = KERNELS * 40 + STATEMENTS * 8, used = 0;
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	char *text = malloc(size);
	unsigned lines = 0;

	for (unsigned i = 0; i < KERNELS; i++)
		used += (size_t)snprintf(text + used, size - used, "k%04x = async_compile.x()\n", i);
	for (unsigned i = 0; i < STATEMENTS; i++)
		used += (size_t)snprintf(text + used, size - used, "n%04x(\n", i % KERNELS);
	used += (size_t)snprintf(text + used, size - used, "k0007(\n");
	generated_read(text, used, count_line, &lines);
	assert_int_equal(lines, 1);
	assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) < begin_ns + 2000000000ull);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_has_the_nodes_of_the_comment_above_it_and_its_kernels_function),
		cmocka_unit_test(a_launch_without_a_comment_has_the_nodes_of_its_kernel),
		cmocka_unit_test(a_kernel_of_the_users_own_has_the_place_that_its_comment_names),
		cmocka_unit_test(of_two_kernels_with_one_name_the_later_counts),
		cmocka_unit_test(a_call_of_a_library_is_a_launch_where_a_comment_stands_above_it),
		cmocka_unit_test(what_stands_in_a_kernels_text_is_no_launch),
		cmocka_unit_test(text_that_is_cut_or_no_code_says_what_it_says),
		cmocka_unit_test(more_launches_than_are_reported_are_left_out),
		cmocka_unit_test(a_file_of_nothing_but_statements_does_not_take_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
