/*
 * unsupported.c: the rest of libcupti's functions, which answer "not supported".
 */
#include "../unsupported.h"

#define UNSUPPORTED(name) UNSUPPORTED_ANSWER(name, 27)

#include "unsupported.inc"
