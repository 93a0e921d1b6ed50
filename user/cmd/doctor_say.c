/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/safe_text.h"
#include "cmd/doctor_checks.h"

#define COLUMNS 100
#define TEXT_COLUMN 25 /* "%-16s%-9s" */

void doctor_say(enum health health, const char *name, const char *format, ...)
{
	static const char *const words[] = {
		[HEALTH_OK] = "ok", [HEALTH_LIMITED] = "limited", [HEALTH_MISSING] = "missing"};
	char text[512], safe[SAFE_TEXT_MAX(COLUMNS) + 1];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (strlen(text) > COLUMNS - TEXT_COLUMN)
		strcpy(text + COLUMNS - TEXT_COLUMN - 3, "...");
	safe[safe_text_copy(safe, text, strlen(text))] = 0;
	printf("%-16s%-9s%s\n", name, words[health], safe);
}
