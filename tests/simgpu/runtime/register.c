/*
 * register.c: functions that nvcc's generated code calls. It registers fat binaries, kernels and
 * variables when their library is loaded, and <<<>>> passes its configuration.
 */
#include <pthread.h>
#include <stdlib.h>

#include "call.h"

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *hostFun, char *deviceFun, const char *deviceName,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterVar(void **handle, char *hostVar, char *deviceAddress, const char *deviceName, int ext, size_t size,
		       int constant, int global);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream);

static void *the_handle;

static struct variable {
	const void *host;
	void *device;
	size_t size;
	struct variable *next;
} * variables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void **__cudaRegisterFatBinary(void *fatCubin)
{
	SIM_FRAME();
	(void)fatCubin;
	return &the_handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	SIM_FRAME();
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	SIM_FRAME();
	(void)handle;
}

void __cudaRegisterFunction(void **handle, const char *hostFun, char *deviceFun, const char *deviceName,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize)
{
	(void)handle, (void)deviceFun, (void)thread_limit;
	(void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
	sim_kernel_bind(sim_kernel_intern(deviceName), hostFun);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	CUkernel found = sim_kernel_resolve(host);

	*kernel = found ? found : (cudaKernel_t)(uintptr_t)host;
	return cudaSuccess;
}

void __cudaRegisterVar(void **handle, char *hostVar, char *deviceAddress, const char *deviceName, int ext, size_t size,
		       int constant, int global)
{
	struct variable *variable = calloc(1, sizeof(*variable));

	(void)handle, (void)deviceAddress, (void)deviceName, (void)ext;
	(void)constant, (void)global;
	if (!variable)
		return;
	variable->host = hostVar;
	variable->size = size;
	pthread_mutex_lock(&lock);
	variable->next = variables;
	variables = variable;
	pthread_mutex_unlock(&lock);
}

/* The variable's device memory, allocated at the first look-up; NULL: never registered. */
static void *variable_address(const void *symbol)
{
	void *address = NULL;

	pthread_mutex_lock(&lock);
	for (struct variable *at = variables; at; at = at->next)
		if (at->host == symbol) {
			if (!at->device)
				at->device = sim_memory_alloc(SIM_DEVICE, at->size, 0);
			address = at->device;
			break;
		}
	pthread_mutex_unlock(&lock);
	return address;
}

RUNTIME(SIM_QUIET, cudaGetSymbolAddress, v3020, (void **devPtr, const void *symbol), (devPtr, symbol))
{
	*devPtr = variable_address(symbol);
	return runtime_result(*devPtr ? cudaSuccess : cudaErrorInvalidSymbol);
}

RUNTIME(SIM_COPY, cudaMemcpyToSymbol, v3020,
	(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind),
	(symbol, src, count, offset, kind))
{
	char *address = variable_address(symbol);

	(void)kind;
	if (!address)
		return runtime_result(cudaErrorInvalidSymbol);
	return runtime_result(cuMemcpyHtoD_v2((CUdeviceptr)(address + offset), src, count));
}

/* ---- <<<grid, block, shared, stream>>> ---- */

static __thread struct {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream)
{
	configuration.grid = gridDim;
	configuration.block = blockDim;
	configuration.shared = sharedMem;
	configuration.stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream)
{
	*gridDim = configuration.grid;
	*blockDim = configuration.block;
	*sharedMem = configuration.shared;
	*(cudaStream_t *)stream = configuration.stream;
	return cudaSuccess;
}
