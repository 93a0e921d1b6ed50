/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/safe_text.h"
#include "cmd/doctor/doctor_checks.h"
#include "cmd/process/print.h"
#include "report/table/text.h"

#define TEXT_COLUMN 25	/* "%-16s%-9s" */
#define WIDTH_LEAST 60u /* of a terminal; a narrower one breaks lines itself */

void doctor_say(enum health health, const char *name, const char *format, ...)
{
	static const char *const words[] = {
		[HEALTH_OK] = "ok", [HEALTH_LIMITED] = "limited", [HEALTH_MISSING] = "missing"};
	unsigned width = print_screen().width;
	AUTO_FREE char *text = NULL, *safe = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	safe = xmalloc(SAFE_TEXT_MAX(strlen(text)) + 1);
	safe[safe_text_copy(safe, text, strlen(text))] = 0;
	printf("%-16s%-9s", name, words[health]);
	text_wrap(stdout, safe, TEXT_COLUMN, TEXT_COLUMN,
		  !width		? UINT_MAX
		  : width < WIDTH_LEAST ? WIDTH_LEAST
					: width,
		  TEXT_WHOLE);
}
