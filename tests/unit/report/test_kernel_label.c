/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The label of a kernel on a page. The names are kernels of PyTorch 2.15, CUTLASS and Triton. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "report/table/kernel_label.h"

static void assert_label(const char *name, const char *expected)
{
	char *label = kernel_label(name);

	assert_string_equal(label, expected);
	free(label);
}

static void a_short_name_keeps_its_arguments(void **state)
{
	(void)state;
	assert_label("void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)",
		     "vectorized_gather_kernel<16, long>");
	assert_label("void gemm<float,128>(float*)", "gemm<float,128>");
	assert_label("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn");
	assert_label("cutlass::Kernel2<cutlass_80_gemm>(Params)", "cutlass::Kernel2<cutlass_80_gemm>");
}

static void a_long_name_keeps_the_arguments_that_say_something(void **state)
{
	(void)state;
	assert_label("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
		     "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul>, false>(int, "
		     "at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, "
		     "std::array<char*, 2ul>)",
		     "vectorized_elementwise_kernel<AUnaryFunctor<MulFunctor>>");
	assert_label("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
		     "namespace)::TensorListMetadata<1>, at::native::LpNormFunctor<float, (at::native::NormType)2, "
		     "float, 1, 1, 0>, float*, long const*>(int)",
		     "multi_tensor_apply_kernel<LpNormFunctor>");
	assert_label(
		"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false, 32>(float*)",
		"softmax_warp_forward");
}

static void a_lambda_is_called_by_the_function_that_it_is_in(void **state)
{
	(void)state;
	assert_label("void at::native::vectorized_elementwise_kernel<4, at::native::tanh_backward_kernel_cuda("
		     "at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::"
		     "{lambda(float, float)#1}, std::array<char*, 3ul>, false>(int)",
		     "vectorized_elementwise_kernel<tanh_backward_kernel_cuda>");
	assert_label("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<"
		     "float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::"
		     "{lambda(float, float)#1}>, unsigned int, float, 4, 4> >(int)",
		     "reduce_kernel<ReduceOp<func_wrapper_t<sum_functor>>>");
	assert_label("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
		     "CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::"
		     "{lambda(int)#1}>(int)",
		     "elementwise_kernel<gpu_kernel_impl_nocast<CUDAFunctor_add>>");
}

static void a_member_of_a_template_keeps_both_names(void **state)
{
	(void)state;
	assert_label("void flash::enable_sm90<flash::FlashAttnFwdSm90<flash::Traits<128>::Mainloop> >(Params)",
		     "flash::enable_sm90<FlashAttnFwdSm90<Traits::Mainloop>>");
}

static void the_place_of_a_triton_kernel_stays(void **state)
{
	(void)state;
	assert_label("add_kernel (kernels.py:12)", "add_kernel (kernels.py:12)");
}

static void of_numbas_tags_the_number_of_the_function_stays(void **state)
{
	(void)state;
	assert_label("__main__::saxpy[abi:v1][abi:cw51cXTLSUwv1sDUaKthqaNgoKmjgOR3W3Cw6igA9duC0hkwnNGiHEkYkrqQBFBT_3d]("
		     "double, Array<float, 1, C, mutable, aligned>, Array<float, 1, C, mutable, aligned>)",
		     "__main__::saxpy[abi:v1]");
	assert_label("kernel[0]", "kernel[0]");
	assert_label("kernel[abi:v1", "kernel[abi:v1");
}

static void what_is_no_name_of_a_kernel_stays_as_it_is(void **state)
{
	static const char *const names[] = {"",
					    "(name not known)",
					    "a<b",
					    "a>b",
					    "a(b",
					    "a)b",
					    "a{b",
					    "<>",
					    "()",
					    "::",
					    "void",
					    "<<<<<<<<",
					    "a<b,",
					    ",",
					    "operator<",
					    "a::",
					    "(anonymous namespace)"};
	char deep[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_label(names[i], names[i]);
	memset(deep, '<', 200);
	memset(deep + 100, '>', 100);
	deep[200] = '\0';
	assert_label(deep, deep);
}

static void a_kernel_of_tensile_is_named_up_to_its_tile(void **state)
{
	(void)state;
	assert_label("Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT128x128x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_WG64_4_1",
		     "Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT128x128x64");
	assert_label("Custom_Cijk_Alik_Bljk_HHS_BH_MT256x256x64_MI16x16x16x1_PGR2_ShortName_gfx942",
		     "Custom_Cijk_Alik_Bljk_HHS_BH_MT256x256x64");
	assert_label("Cijk_Alik_Bljk_SB_MTA_MT64x64x16", "Cijk_Alik_Bljk_SB_MTA_MT64x64x16");
	assert_label("Cijk_Alik_Bljk_of_a_program_that_has_its_own_names_MTx",
		     "Cijk_Alik_Bljk_of_a_program_that_has_its_own_names_MTx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_name_keeps_its_arguments),
		cmocka_unit_test(a_long_name_keeps_the_arguments_that_say_something),
		cmocka_unit_test(a_lambda_is_called_by_the_function_that_it_is_in),
		cmocka_unit_test(a_member_of_a_template_keeps_both_names),
		cmocka_unit_test(the_place_of_a_triton_kernel_stays),
		cmocka_unit_test(of_numbas_tags_the_number_of_the_function_stays),
		cmocka_unit_test(what_is_no_name_of_a_kernel_stays_as_it_is),
		cmocka_unit_test(a_kernel_of_tensile_is_named_up_to_its_tile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
