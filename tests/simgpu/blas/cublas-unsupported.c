/*
 * cublas-unsupported.c: the rest of libcublas's functions, which answer "not supported".
 */
#include "../unsupported.h"

#define UNSUPPORTED(name) UNSUPPORTED_ANSWER(name, 15)

#include "cublas-unsupported.inc"
