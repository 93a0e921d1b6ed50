/*
 * thunk.h: macros that define libcuda's functions. DRIVER(class, name, (parameters), (arguments))
 * { body } makes the body an API call with entry and exit. An exported thunk jumps to it. It has the
 * real driver's bytes: `cmpl $0x321cba00,state(%rip); je; jmp *table(%rip)`, 30 bytes; a tracer must
 * put its probe on the je (symbol + 10).
 */
#pragma once

#include <cuda.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#include "../core/sim.h"

extern _Atomic int sim_initialized; /* cuInit has returned; before, most functions return 3 */

#define SIM_UNPAREN(...) __VA_ARGS__

#if defined(__x86_64__)
#define SIM_THUNK_TEXT(name, slot) SIM_THUNK_TEXT_IN(".text", name, slot)
#define SIM_THUNK_TEXT_IN(section, name, slot)                                                                         \
	".pushsection " section "\n"                                                                                   \
	".p2align 4\n"                                                                                                 \
	".globl " name "\n"                                                                                            \
	".type " name ", @function\n" name ":\n"                                                                       \
	"    cmpl $0x321cba00, sim_driver_state(%rip)\n"                                                               \
	"    je 1f\n"                                                                                                  \
	"    jmp *" slot "(%rip)\n"                                                                                    \
	"    .byte 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00\n"                                                               \
	"1:  mov $4, %eax\n"                                                                                           \
	"    ret\n"                                                                                                    \
	".size " name ", . - " name "\n"                                                                               \
	".popsection\n"
#define SIM_THUNK(name, parameters, arguments)                                                                         \
	__attribute__((used)) static CUresult(*name##_slot) parameters = name##_call;                                  \
	__asm__(SIM_THUNK_TEXT(#name, #name "_slot"));
#else
#define SIM_THUNK(name, parameters, arguments)                                                                         \
	SIM_EXPORT CUresult name parameters                                                                            \
	{                                                                                                              \
		return name##_call arguments;                                                                          \
	}
#endif

#define SIM_DRIVER_CALL(class, name, parameters, arguments, declare, pointer, symbol)                                  \
	static CUresult name##_body parameters;                                                                        \
	__attribute__((used)) static CUresult name##_call parameters                                                   \
	{                                                                                                              \
		static const struct sim_api_info info = {SIM_DRIVER, class, CUPTI_DRIVER_TRACE_CBID_##name, #name};    \
		struct sim_api call;                                                                                   \
		CUresult result;                                                                                       \
		declare;                                                                                               \
		sim_api_enter(&call, &info, pointer, symbol);                                                          \
		result = name##_body arguments;                                                                        \
		sim_api_exit(&call, &result, (int)result);                                                             \
		return result;                                                                                         \
	}                                                                                                              \
	SIM_THUNK(name, parameters, arguments)                                                                         \
	static CUresult name##_body parameters

#define DRIVER_SYMBOL(class, name, parameters, arguments, symbol)                                                      \
	SIM_DRIVER_CALL(class, name, parameters, arguments, name##_params params = {SIM_UNPAREN arguments}, &params,   \
			symbol)
#define DRIVER(class, name, parameters, arguments)                                                                     \
	SIM_DRIVER_CALL(class, name, parameters, arguments, name##_params params = {SIM_UNPAREN arguments}, &params,   \
			NULL)
#define DRIVER0(class, name) SIM_DRIVER_CALL(class, name, (void), (), , NULL, NULL)
