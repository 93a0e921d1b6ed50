/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

#include "cmd/commands.h"

enum exit_code why_command(const struct options *options)
{
	return options->log ? report_command(options) : record_command(options);
}
