/*
 * unsupported.h: functions that the real libraries export and the simulated ones do not implement.
 * Each only returns "not supported", so that loading and symbol look-up work as with the real ones.
 * list-unsupported.sh makes the lists (*.inc).
 */
#pragma once

#include "core/frame.h"

#define UNSUPPORTED_ANSWER(name, answer)                                                                               \
	int name(void);                                                                                                \
	int name(void)                                                                                                 \
	{                                                                                                              \
		SIM_FRAME();                                                                                           \
		return answer;                                                                                         \
	}
