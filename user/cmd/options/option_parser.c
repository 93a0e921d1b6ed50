/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/option_parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "cmd/options/nearest.h"

int option_fail(struct parse *parse, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(parse->why, parse->why_size, format, args);
	va_end(args);
	return -EINVAL;
}

int option_refuse(struct parse *parse, const char *option, const char *value, const char *names)
{
	return option_fail(parse, "--%s %s: accepted are %s%s", option, value, names,
			   nearest_question(value, names).text);
}
