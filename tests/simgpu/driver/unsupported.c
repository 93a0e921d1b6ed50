/*
 * unsupported.c: the rest of libcuda's functions: thunks like all others, answering 801.
 */
#include "thunk.h"

__attribute__((used)) static CUresult unsupported_call(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

#if defined(__x86_64__)
__attribute__((used)) static CUresult (*unsupported_slot)(void) = unsupported_call;
/* In a section of their own: cuGetProcAddress prefers supported functions to these. */
#define UNSUPPORTED(name) __asm__(SIM_THUNK_TEXT_IN("sim_unsupported, \"ax\"", #name, "unsupported_slot"));
#else
#define UNSUPPORTED(name) __asm__(".globl " #name "\n.set " #name ", unsupported_call\n");
#endif

#include "unsupported.inc"
