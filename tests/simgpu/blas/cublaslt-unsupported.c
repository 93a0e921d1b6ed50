/*
 * cublaslt-unsupported.c: the rest of libcublasLt's functions, which answer "not supported".
 */
#include "../unsupported.h"

#define UNSUPPORTED(name) UNSUPPORTED_ANSWER(name, 15)

#include "cublaslt-unsupported.inc"
