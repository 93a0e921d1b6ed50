/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of calls, of kernels, and of functions, which a target may name as it likes. */
#include "model_of.h"

#include "base/path.h"
#include "model/demangle.h"
#include "model/string_pool.h"

static struct string_pool pool;

static int open_pool(void **state)
{
	pool = (struct string_pool){0};
	return 0;
}

static int close_pool(void **state)
{
	string_pool_close(&pool);
	string_blocks_free(pool.blocks);
	free(pool.strings.items);
	return 0;
}

static const char *keep_utf8(const char *bytes)
{
	return string_keep(&pool, bytes, strlen(bytes));
}

static const char *keep_kind(const void *bytes, size_t size, unsigned bytes_per_character)
{
	return string_at(&pool, string_intern_kind(&pool, bytes, size, bytes_per_character));
}

static void valid_utf8_stays_as_it_is(void **state)
{
	const char *texts[] = {"",
			       "plain",
			       "gr\xc3\xbc\xc3\x9f",
			       "\xe2\x82\xac",
			       "\xef\xbf\xbf",
			       "\xf0\x9f\x98\x80",
			       "\xf4\x8f\xbf\xbf",
			       "\xc2\xa0"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_string_equal(keep_utf8(texts[i]), texts[i]);
}

static void invalid_utf8_becomes_replacement_characters(void **state)
{
	assert_string_equal(keep_utf8("a\x80z"), "a\xef\xbf\xbdz");
	assert_string_equal(keep_utf8("a\xffz"), "a\xef\xbf\xbdz");
	assert_string_equal(keep_utf8("\xc0\xafz"), "\xef\xbf\xbd\xef\xbf\xbdz"); /* overlong */
	assert_string_equal(keep_utf8("\xe0\x80\xafz"), "\xef\xbf\xbdz");	  /* overlong */
	assert_string_equal(keep_utf8("\xed\xa0\x80z"), "\xef\xbf\xbdz");	  /* a surrogate */
	assert_string_equal(keep_utf8("\xf4\x90\x80\x80z"), "\xef\xbf\xbdz");	  /* beyond Unicode */
	assert_string_equal(keep_utf8("\xf5\x80z"), "\xef\xbf\xbd\xef\xbf\xbdz");
	assert_string_equal(keep_utf8("\xe2\x82z"), "\xef\xbf\xbdz"); /* truncated */
	assert_string_equal(keep_utf8("z\xf0\x9f"), "z\xef\xbf\xbd"); /* truncated at the end */
}

static void what_steers_a_terminal_is_kept_out(void **state)
{
	assert_string_equal(keep_utf8("a\x1b[31mb"), "a\xef\xbf\xbd[31mb");
	assert_string_equal(keep_utf8("a\x7f"), "a\xef\xbf\xbd");
	assert_string_equal(keep_utf8("a\xc2\x9b"), "a\xef\xbf\xbd");	  /* C1: CSI */
	assert_string_equal(keep_utf8("a\xe2\x80\xae"), "a\xef\xbf\xbd"); /* right to left override */
	assert_string_equal(keep_utf8("a\nb\tc\rd"), "a b c d");
	assert_string_equal(string_keep(&pool, "a\0b", 3), "a\xef\xbf\xbd"
							   "b");
}

static void strings_of_cpython_are_converted(void **state)
{
	const uint16_t ucs2[] = {'a', 0xfc, 0x20ac, 0xdc80, 0xd83d, 0xde00};
	const uint32_t ucs4[] = {'a', 0x1f600, 0x110000, 0xffffffff, '\n'};

	assert_string_equal(keep_kind("f\xfc"
				      "r",
				      3, 1),
			    "f\xc3\xbcr");
	assert_string_equal(keep_kind(ucs2, 2 * sizeof(ucs2[0]) + 2, 2), "a\xc3\xbc\xe2\x82\xac");
	/* surrogateescape, and UCS-2 is not UTF-16 */
	assert_string_equal(keep_kind(ucs2 + 3, 6, 2), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_string_equal(keep_kind(ucs4, sizeof(ucs4), 4), "a\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd ");
	assert_string_equal(keep_kind(ucs2, 5, 2), "a\xc3\xbc"); /* half a character */
}

static void equal_strings_are_one(void **state)
{
	char text[32];

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++) {
			int length = snprintf(text, sizeof(text), "unique string %u", i);

			assert_int_equal(string_intern(&pool, text, length), i);
			assert_string_equal(string_at(&pool, i), text);
		}
	/* the same text through another function */
	assert_int_equal(string_intern_kind(&pool, "unique string 7", 15, 1), 7);
}

static void a_string_larger_than_a_block_is_kept(void **state)
{
	size_t size = 200000;
	char *text = xmalloc(size + 1);

	memset(text, 'x', size);
	text[size] = 0;
	assert_string_equal(string_keep(&pool, text, size), text);
	free(text);
}

static bool demangles_to(const char *mangled, size_t size, const char *expected)
{
	text_buffer out = {0};
	bool known = demangle(mangled, size, &out), same;

	same = known && out.count == strlen(expected) && !memcmp(out.items, expected, out.count);
	array_free(&out);
	return expected[0] ? same : !known;
}

static void kernels_are_demangled(void **state)
{
	const char *name =
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_";

	assert_true(
		demangles_to(name, strlen(name),
			     "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
			     "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"));
	assert_true(demangles_to("_Z4gemmPKfi", 11, "gemm(float const*, int)"));
	assert_true(demangles_to("triton_poi_fused_add_0", 22, ""));
	assert_true(demangles_to("_Zgarbage", 9, ""));
	assert_true(demangles_to("_Z", 2, ""));
	assert_true(demangles_to("_Z1f\0i", 6, ""));
}

static void functions_of_rust_are_demangled(void **state)
{
	const char *name = "_RNvMs4_NtNtCscxzlFi8rOL3_10tokenizers9tokenizer13pre_tokenizerNtB5_26BytesToCharOffset"
			   "Converter7convert";

	assert_true(demangles_to(name, strlen(name),
				 "<tokenizers::tokenizer::pre_tokenizer::BytesToCharOffsetConverter>::convert"));
	assert_true(demangles_to("_RNvC4pool4work", 15, "pool::work"));
	assert_true(demangles_to("_Rgarbage", 9, ""));
	assert_true(demangles_to("_R", 2, ""));
}

static void hostile_names_of_rust_end_in_bounded_time_and_stack(void **state)
{
	/* Each tuple holds the previous one twice. */
	static const char doubling[] =
		"_RINvC1a1fThhETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX_ETB15_B15_E"
		"TB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b_B2b_ETB2l_B2l_ETB2v_B2v"
		"_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB39_B39_EE";
	static const char *const deep[] = {"R", "TR", "NvNv", "INv", "FK", "S", "A", "Y", "M", "NvB_", "IC1aB_"};
	char name[DEMANGLE_INPUT_MAX + 2];
	text_buffer out = {0};
	size_t at;

	for (size_t i = 0; i < sizeof(deep) / sizeof(deep[0]); i++) {
		at = sprintf(name, "_RINvC1a1f");
		while (at + strlen(deep[i]) < DEMANGLE_INPUT_MAX - 1)
			at += sprintf(name + at, "%s", deep[i]);
		name[at++] = 'E';
		demangle(name, at, &out);
		assert_true(out.count <= DEMANGLE_OUTPUT_MAX);
	}
	assert_false(demangle(doubling, strlen(doubling), &out));
	assert_true(out.count <= DEMANGLE_OUTPUT_MAX);
	array_free(&out);
}

static void names_longer_than_the_demanglers_own_limit_are_demangled(void **state)
{
	char name[DEMANGLE_INPUT_MAX], expected[DEMANGLE_INPUT_MAX + 16];
	int at = 0;

	/* a template argument list as CUTLASS makes them: f<1, 1, ...>() */
	at += sprintf(name, "_Z1fI");
	for (int i = 0; i < 500; i++)
		at += sprintf(name + at, "Li1E");
	at += sprintf(name + at, "Evv");
	sprintf(expected, "void f<1");
	for (int i = 1; i < 500; i++)
		strcat(expected, ", 1");
	strcat(expected, ">()");
	assert_true(at > 2000);
	assert_true(demangles_to(name, at, expected));
}

static void hostile_names_end_in_bounded_time_and_stack(void **state)
{
	const char *deep[] = {"P", "1aI", "N1aI", "F", "K", "A_", "DpT", "Dt", "X", "U1aI", "L", "sr", "cv", "T_", "M"};
	char name[DEMANGLE_INPUT_MAX + 2];
	text_buffer out = {0};
	size_t at;

	for (size_t i = 0; i < sizeof(deep) / sizeof(deep[0]); i++) {
		at = sprintf(name, "_Z1f");
		while (at + strlen(deep[i]) < DEMANGLE_INPUT_MAX - 1)
			at += sprintf(name + at, "%s", deep[i]);
		name[at++] = 'i';
		demangle(name, at, &out);
		assert_true(out.count <= DEMANGLE_OUTPUT_MAX);
	}
	/* each parameter holds the previous one twice: 2^60 names */
	at = sprintf(name, "_Z1f1aIiiE");
	for (int i = 0; i < 60; i++)
		at += i ? sprintf(name + at, "S_IS%c_S%c_E", '0' + (i - 1) % 10, '0' + (i - 1) % 10)
			: sprintf(name + at, "S_IS0_S0_E");
	demangle(name, at, &out);
	assert_true(out.count <= DEMANGLE_OUTPUT_MAX);
	array_free(&out);

	memset(name, 'i', sizeof(name));
	memcpy(name, "_Z1f", 4);
	assert_true(demangles_to(name, DEMANGLE_INPUT_MAX + 1, ""));
}

static void doubling_names_are_given_up(void **state)
{
	/* S_ is the vector type, S0_ the pair of it, S1_ the pair of pairs ... */
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512];
	text_buffer out = {0};
	int at = sprintf(name, "_Z1f1pIiiES_IS0_S0_E");

	for (int i = 1; i < 30; i++)
		at += sprintf(name + at, "S_IS%c_S%c_E", digits[i], digits[i]);
	assert_false(demangle(name, at, &out));
	assert_true(out.count <= DEMANGLE_OUTPUT_MAX);
	array_free(&out);
	/* they are shown unchanged */
	assert_string_equal(string_at(&pool, string_intern_mangled(&pool, name, at)), name);
}

static void calls_are_known_by_their_cupti_number(void **state)
{
	assert_string_equal(api_name(GPT_API(GPT_DOMAIN_RUNTIME, 211)), "cudaLaunchKernel");
	assert_string_equal(api_name(GPT_API(GPT_DOMAIN_RUNTIME, 214)), "cudaLaunchKernel_ptsz");
	assert_string_equal(api_name(GPT_API(GPT_DOMAIN_RUNTIME, 215)), "cudaMemcpy_ptds");
	assert_string_equal(api_name(GPT_API(GPT_DOMAIN_DRIVER, 307)), "cuLaunchKernel");
	assert_int_equal(api_class(GPT_API(GPT_DOMAIN_RUNTIME, 311)), GPT_CLASS_GRAPH);
	assert_int_equal(api_class(GPT_API(GPT_DOMAIN_DRIVER, 126)), GPT_CLASS_SYNC);
	/* nvcc 13's stubs */
	assert_string_equal(api_name(GPT_API(GPT_DOMAIN_RUNTIME, 505)), "cudaLaunchKernel");
	assert_string_equal(api_name(GPT_API(GPT_DOMAIN_RUNTIME, 506)), "cudaLaunchKernel_ptsz");
	assert_int_equal(api_class(GPT_API(GPT_DOMAIN_RUNTIME, 506)), GPT_CLASS_LAUNCH);
}

static void a_call_that_is_not_in_the_table_has_one_number_and_what_its_name_says(void **state)
{
	static const struct {
		const char *name;
		enum gpt_api_class class;
	} calls[] = {
		{"hipExtModuleLaunchKernel", GPT_CLASS_LAUNCH}, {"hipMemcpyWithStream", GPT_CLASS_MEMCPY},
		{"hipDeviceSynchronize", GPT_CLASS_SYNC},	{"hipGraphLaunch", GPT_CLASS_GRAPH},
		{"hipStreamWaitEvent", GPT_CLASS_WAIT},		{"urEnqueueKernelLaunch", GPT_CLASS_LAUNCH},
		{"zeEventHostSynchronize", GPT_CLASS_SYNC},	{"cudaGraphAddMemcpyNode", GPT_CLASS_NONE},
		{"cudaDeviceGetAttribute", GPT_CLASS_NONE},	{"hipHostFree", GPT_CLASS_FREE},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		uint16_t api = api_named(calls[i].name, strlen(calls[i].name));

		assert_true(api_is_named(api));
		assert_string_equal(api_name(api), calls[i].name);
		assert_int_equal(api_class(api), calls[i].class);
		assert_int_equal(api_named(calls[i].name, strlen(calls[i].name)), api);
	}
	assert_true(api_is_of_driver(api_named("cuInit", 6)));
	assert_false(api_is_of_driver(api_named("cudaGetDevice", 13)));
}

static void names_without_end_have_a_number_together(void **state)
{
	char name[32];
	uint16_t first = api_named("cuInit", 6), last = 0;

	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "call%d\n", i);
		last = api_named(name, strlen(name));
	}
	assert_string_equal(api_name(last), "other calls");
	assert_string_equal(api_name(first), "cuInit");
	assert_int_equal(api_named("cuInit", 6), first);
}

static void every_row_of_the_table_is_found_and_nothing_else(void **state)
{
	unsigned rows = 0, found = 0;

#define TWIN_COUNT_NONE 0
#define TWIN_COUNT_PTSZ 1
#define TWIN_COUNT_PTDS 1
#define CHECK(domain, symbol, class, args, twin, cbid, twin_cbid)                                                      \
	assert_string_equal(api_name(GPT_API(GPT_DOMAIN_##domain, cbid)), #symbol);                                    \
	assert_int_equal(api_class(GPT_API(GPT_DOMAIN_##domain, cbid)), GPT_CLASS_##class);                            \
	rows += 1 + TWIN_COUNT_##twin;
	GPT_CUDA_API_TABLE(CHECK)
	for (unsigned api = 0; api <= UINT16_MAX; api++) {
		bool known = strcmp(api_name(api), "cuda call") != 0;

		if (api_is_named(api))
			continue;
		assert_int_equal(known, api_class(api) != GPT_CLASS_NONE);
		found += known;
	}
	assert_int_equal(found, rows + 2); /* the launch stub and its twin */
}

static void the_last_component_of_a_path_is_its_base(void **state)
{
	assert_string_equal(path_base("/src/model.py"), "model.py");
	assert_string_equal(path_base("model.py"), "model.py");
	assert_string_equal(path_base("/src/"), "");
	assert_string_equal(path_base(""), "");
}

#define POOL_TEST(test) cmocka_unit_test_setup_teardown(test, open_pool, close_pool)

static const char *text_of(const struct model *model, uint32_t string)
{
	return string == NONE ? NULL : model->strings[string];
}

static void a_kernel_has_the_place_that_follows_its_name(void **state)
{
	static const char *const names[] = {"_Z4gemmPf", "_Z4gemmPf", "triton_poi_0", "odd"};
	static const char *const places[] = {"/models/gemm.py:4", NULL,
					     "/c/xj/cxjmxsjizzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz.py:18",
					     "no line"};
	static const char *const labels[] = {"gemm(float*) (gemm.py:4)", "gemm(float*)",
					     "triton_poi_0 (cxjmxsji....py:18)", "odd (no line)"};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 1);
	log_batch(&log, PID, TID, 950);
	for (uint32_t i = 0; i < 4; i++) {
		if (places[i])
			log_agent_name_at(&log, i + 1, names[i], places[i]);
		else
			log_agent_name(&log, i + 1, names[i]);
		log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = 200 + 20 * i,
								 .end_wall_ns = 210 + 20 * i,
								 .corr = 1,
								 .name = i + 1});
	}
	log_end(&log, 2000);
	model = model_of(&log);
	assert_int_equal(model->gpu_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(text_of(model, model->gpu[i].label), labels[i]);
		if (places[i])
			assert_string_equal(text_of(model, model->gpu[i].place), places[i]);
		else
			assert_null(text_of(model, model->gpu[i].place));
	}
	assert_string_equal(text_of(model, model->gpu[0].name), "gemm(float*)");
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		POOL_TEST(valid_utf8_stays_as_it_is),
		POOL_TEST(invalid_utf8_becomes_replacement_characters),
		POOL_TEST(what_steers_a_terminal_is_kept_out),
		POOL_TEST(strings_of_cpython_are_converted),
		POOL_TEST(equal_strings_are_one),
		POOL_TEST(a_string_larger_than_a_block_is_kept),
		cmocka_unit_test(kernels_are_demangled),
		cmocka_unit_test(functions_of_rust_are_demangled),
		cmocka_unit_test(hostile_names_of_rust_end_in_bounded_time_and_stack),
		cmocka_unit_test(names_longer_than_the_demanglers_own_limit_are_demangled),
		cmocka_unit_test(hostile_names_end_in_bounded_time_and_stack),
		POOL_TEST(doubling_names_are_given_up),
		cmocka_unit_test(calls_are_known_by_their_cupti_number),
		cmocka_unit_test(a_call_that_is_not_in_the_table_has_one_number_and_what_its_name_says),
		cmocka_unit_test(names_without_end_have_a_number_together),
		cmocka_unit_test(every_row_of_the_table_is_found_and_nothing_else),
		cmocka_unit_test(the_last_component_of_a_path_is_its_base),
		cmocka_unit_test(a_kernel_has_the_place_that_follows_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
