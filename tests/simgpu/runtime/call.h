/*
 * call.h: macros that define libcudart's functions. RUNTIME(class, name, version, (parameters),
 * (arguments)) { body } makes the body an API call with entry and exit; `version` is the suffix of its
 * name in CUPTI's callback ids. Bodies call libcuda's exported functions, as the real library does.
 */
#pragma once

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include "../core/frame.h"
#include "../core/sim.h"

/*
 * The driver is initialised inside the first runtime call, and calls that touch a device make its
 * primary context the thread's current one.
 */
void runtime_ready(enum sim_api_class class);

/* The runtime's errors have the driver's numbers. A failure is kept for cudaGetLastError. */
static inline cudaError_t runtime_result(int status)
{
	if (status)
		sim_thread()->last_error = status;
	return (cudaError_t)status;
}

#define SIM_UNPAREN(...) __VA_ARGS__

#define SIM_RUNTIME_CALL(class, name, version, parameters, arguments, declare, pointer, symbol)                        \
	static cudaError_t name##_body parameters;                                                                     \
	cudaError_t name parameters                                                                                    \
	{                                                                                                              \
		static const struct sim_api_info info = {SIM_RUNTIME, class,                                           \
							 CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name};          \
		struct sim_api call;                                                                                   \
		cudaError_t result;                                                                                    \
		declare;                                                                                               \
		runtime_ready(class);                                                                                  \
		sim_api_enter(&call, &info, pointer, symbol);                                                          \
		result = name##_body arguments;                                                                        \
		sim_api_exit(&call, &result, (int)result);                                                             \
		return result;                                                                                         \
	}                                                                                                              \
	static cudaError_t name##_body parameters

#define RUNTIME_SYMBOL(class, name, version, parameters, arguments, symbol)                                            \
	SIM_RUNTIME_CALL(class, name, version, parameters, arguments,                                                  \
			 name##_##version##_params params = {SIM_UNPAREN arguments}, &params, symbol)
#define RUNTIME(class, name, version, parameters, arguments)                                                           \
	RUNTIME_SYMBOL(class, name, version, parameters, arguments, NULL)
#define RUNTIME0(class, name, version) SIM_RUNTIME_CALL(class, name, version, (void), (), , NULL, NULL)
