/*
 * unsupported.c: the rest of libcudart's functions, which answer "not supported".
 */
#include "../unsupported.h"

#define UNSUPPORTED(name) UNSUPPORTED_ANSWER(name, 801)

#include "unsupported.inc"
