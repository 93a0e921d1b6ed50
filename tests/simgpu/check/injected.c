/*
 * injected.c: a library for CUDA_INJECTION64_PATH that only prints that it was called.
 */
#include <stdio.h>

int InitializeInjection(void);

int InitializeInjection(void)
{
	puts("injected");
	fflush(stdout);
	return 1;
}
