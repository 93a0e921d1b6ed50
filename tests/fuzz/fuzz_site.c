/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: any bytes as a function; the site must lie within them and within the reach of a prologue. */
#include <stdlib.h>

#include "target/instruction.h"
#include "target/site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_site site;
	struct instruction in;

	site_choose_in(data, size, &site);
	if (site.skipped >= 16 || (site.skipped && site.skipped >= size) || site.cost > SITE_STEPPED)
		abort();
	if (site.cost == SITE_STEPPED && (site.skipped || site.sp_adjust))
		abort();
	if (instruction_decode(data, size, &in) && (in.length == 0 || in.length > 15 || in.length > size))
		abort();
	return 0;
}
