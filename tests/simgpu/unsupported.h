/*
 * unsupported.h: functions that the real libraries export and the simulated ones do not have. Each
 * only answers "not supported", so that loading and symbol look-up work as with the real ones. The
 * lists beside it are made by list-unsupported.sh.
 */
#ifndef SIMGPU_UNSUPPORTED_H
#define SIMGPU_UNSUPPORTED_H

#include "core/frame.h"

#define UNSUPPORTED_ANSWER(name, answer)                                                                               \
	int name(void);                                                                                                \
	int name(void)                                                                                                 \
	{                                                                                                              \
		SIM_FRAME();                                                                                           \
		return answer;                                                                                         \
	}

#endif
