/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/range_name.h"

#include <string.h>

size_t range_name_length(const char *name)
{
	static const char *const endings[] = {", seq = ", ", sizes = ", ", op_id = "};
	const char *at = name;

	while ((at = strchr(at, ','))) {
		for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
			if (!strncmp(at, endings[i], strlen(endings[i])))
				return (size_t)(at - name);
		at++;
	}
	return strlen(name);
}
