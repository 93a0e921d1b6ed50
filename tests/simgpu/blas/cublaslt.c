/*
 * cublaslt.c: simulated libcublasLt. Descriptors are opaque blocks, the heuristic knows one
 * algorithm, and a multiplication launches one kernel by the driver API.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../core/sim.h"

enum { STATUS_SUCCESS = 0, STATUS_ALLOC_FAILED = 3, STATUS_INVALID_VALUE = 7 };

#define LIBRARY_VERSION 130000
#define DESCRIPTOR_SIZE 512

/* Layout of cublasLt.h: 64 bytes of algorithm, then the other fields. */
struct heuristic_result {
	uint64_t algorithm[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

_Static_assert(sizeof(struct heuristic_result) == 96, "cublasLtMatmulHeuristicResult_t");

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void)
{
	return LIBRARY_VERSION;
}

#define CREATES(name)                                                                                                  \
	int name(void **created);                                                                                      \
	int name(void **created)                                                                                       \
	{                                                                                                              \
		*created = calloc(1, DESCRIPTOR_SIZE);                                                                 \
		return *created ? STATUS_SUCCESS : STATUS_ALLOC_FAILED;                                                \
	}
#define DESTROYS(name)                                                                                                 \
	int name(void *gone);                                                                                          \
	int name(void *gone)                                                                                           \
	{                                                                                                              \
		free(gone);                                                                                            \
		return STATUS_SUCCESS;                                                                                 \
	}
#define ACCEPTS(name)                                                                                                  \
	int name(void *unused);                                                                                        \
	int name(void *unused)                                                                                         \
	{                                                                                                              \
		(void)unused;                                                                                          \
		return STATUS_SUCCESS;                                                                                 \
	}

CREATES(cublasLtCreate)
DESTROYS(cublasLtDestroy)
CREATES(cublasLtMatmulDescCreate)
DESTROYS(cublasLtMatmulDescDestroy)
ACCEPTS(cublasLtMatmulDescSetAttribute)
CREATES(cublasLtMatrixLayoutCreate)
DESTROYS(cublasLtMatrixLayoutDestroy)
ACCEPTS(cublasLtMatrixLayoutSetAttribute)
CREATES(cublasLtMatmulPreferenceCreate)
DESTROYS(cublasLtMatmulPreferenceDestroy)
ACCEPTS(cublasLtMatmulPreferenceSetAttribute)
ACCEPTS(cublasLtMatmulAlgoInit)
ACCEPTS(cublasLtMatmulAlgoConfigSetAttribute)

int cublasLtMatmulAlgoConfigGetAttribute(const void *algorithm, int attribute, void *buffer, size_t size,
					 size_t *written);
int cublasLtMatmulAlgoConfigGetAttribute(const void *algorithm, int attribute, void *buffer, size_t size,
					 size_t *written)
{
	(void)algorithm;
	(void)attribute;
	if (buffer)
		memset(buffer, 0, size);
	if (written)
		*written = size;
	return STATUS_SUCCESS;
}

int cublasLtMatmulAlgoCheck(void *handle, void *operation, void *a, void *b, void *c, void *d, const void *algorithm,
			    struct heuristic_result *result);
int cublasLtMatmulAlgoCheck(void *handle, void *operation, void *a, void *b, void *c, void *d, const void *algorithm,
			    struct heuristic_result *result)
{
	(void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)algorithm;
	memset(result, 0, sizeof(*result));
	return STATUS_SUCCESS;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,
				   int wanted, struct heuristic_result *results, int *found);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,
				   int wanted, struct heuristic_result *results, int *found)
{
	(void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
	if (wanted < 1)
		return STATUS_INVALID_VALUE;
	memset(&results[0], 0, sizeof(results[0]));
	results[0].waves = 1.0f;
	*found = 1;
	return STATUS_SUCCESS;
}

int cublasLtMatmul(void *handle, void *operation, const void *alpha, const void *a, void *a_layout, const void *b,
		   void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
		   const void *algorithm, void *workspace, size_t size, CUstream stream);
int cublasLtMatmul(void *handle, void *operation, const void *alpha, const void *a, void *a_layout, const void *b,
		   void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
		   const void *algorithm, void *workspace, size_t size, CUstream stream)
{
	CUkernel kernel = sim_kernel_intern("sim_cublasLtMatmul_kernel");

	(void)handle, (void)operation, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout;
	(void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algorithm;
	(void)workspace, (void)size;
	return (int)cuLaunchKernel((CUfunction)kernel, 132, 1, 1, 256, 1, 1, 65536, stream, NULL, NULL);
}
