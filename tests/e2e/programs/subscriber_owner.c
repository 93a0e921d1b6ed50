/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Another tool's injected profiler: holds CUPTI's only subscriber and says so on standard error.
 */
#include <stdio.h>

unsigned cuptiSubscribe(void **subscriber, void *callback, void *user);
int InitializeInjection(void);

static void ignore_callback(void)
{
}

int InitializeInjection(void)
{
	void *subscriber;
	unsigned result = cuptiSubscribe(&subscriber, (void *)ignore_callback, NULL);

	fprintf(stderr, "holder: cuptiSubscribe %u\n", result);
	return result == 0;
}
