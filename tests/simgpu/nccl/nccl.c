/*
 * nccl.c: simulated libnccl: communicators and collectives. Each group of operations on a communicator
 * launches one kernel on its stream, by the driver API as the real library does. Processes exchange
 * no data: a rank gets its own data in place of other ranks' data.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/sim.h"

/* nccl.h of NCCL 2.30.7: ncclResult_t, ncclUniqueId, the order of ncclDataType_t and ncclRedOp_t. */
enum { STATUS_SUCCESS = 0, STATUS_INVALID_ARGUMENT = 4, STATUS_INVALID_USAGE = 5 };
struct unique_id {
	char bytes[128];
};

#define LIBRARY_VERSION 23007
#define SIM_NCCL_GRID 24
#define SIM_NCCL_BLOCK 544
#define GROUPED_MAX 256
#define TYPES 12
#define OPS 5

static const char *const type_names[TYPES] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
					      "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
static const size_t type_sizes[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
static const char *const op_names[OPS] = {"Sum", "Prod", "Max", "Min", "SumPostDiv"};

struct ncclComm {
	uint64_t magic; /* the real struct, too, begins with another field */
	int ranks, rank;
};

struct grouped {
	struct ncclComm *comm;
	CUstream stream;
	const char *name; /* "AllReduce" */
	int type, op;	  /* -1: none */
};

static _Thread_local struct {
	int depth, count;
	struct grouped list[GROUPED_MAX];
} group;

/* ---- launches ---------------------------------------------------------------------------------- */

static int launch(const struct grouped *first, int count)
{
	const char *end = "(ncclDevKernelArgsStorage<4096ul>)";
	char text[160];

	if (!strcmp(first->name, "SendRecv"))
		snprintf(text, sizeof(text), "ncclDevKernel_SendRecv%s", end);
	else if (count > 1)
		snprintf(text, sizeof(text), "ncclDevKernel_Generic_1%s", end);
	else if (first->op >= 0)
		snprintf(text, sizeof(text), "ncclDevKernel_%s_%s_%s_RING_LL%s", first->name, op_names[first->op],
			 type_names[first->type], end);
	else
		snprintf(text, sizeof(text), "ncclDevKernel_%s_RING_LL%s", first->name, end);
	return cuLaunchKernel((CUfunction)sim_kernel_intern(text), SIM_NCCL_GRID, 1, 1, SIM_NCCL_BLOCK, 1, 1, 0,
			      first->stream, NULL, NULL)
		       ? STATUS_INVALID_USAGE
		       : STATUS_SUCCESS;
}

/* One kernel for all operations of a communicator in one stream. */
static int launch_group(void)
{
	int i, j, count, status = STATUS_SUCCESS;
	struct grouped first;

	for (i = 0; i < group.count && !status; i++) {
		first = group.list[i];
		if (!first.comm)
			continue;
		for (count = 0, j = i; j < group.count; j++) {
			if (group.list[j].comm != first.comm || group.list[j].stream != first.stream)
				continue;
			group.list[j].comm = NULL;
			count++;
		}
		status = launch(&first, count);
	}
	group.count = 0;
	return status;
}

static int add(struct ncclComm *comm, CUstream stream, const char *name, int type, int op)
{
	if (type < 0 || type >= TYPES || op >= OPS || group.count == GROUPED_MAX)
		return STATUS_INVALID_ARGUMENT;
	group.list[group.count++] = (struct grouped){comm, stream, name, type, op};
	return group.depth ? STATUS_SUCCESS : launch_group();
}

static void put(void *to, const void *from, size_t elements, int type)
{
	if (to != from && to && from && type >= 0 && type < TYPES)
		memmove(to, from, elements * type_sizes[type]);
}

int ncclGroupStart(void);
int ncclGroupStart(void)
{
	group.depth++;
	return STATUS_SUCCESS;
}

int ncclGroupEnd(void);
int ncclGroupEnd(void)
{
	if (!group.depth)
		return STATUS_INVALID_USAGE;
	return --group.depth ? STATUS_SUCCESS : launch_group();
}

/* ---- collectives ------------------------------------------------------------------------------- */

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, CUstream stream);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, CUstream stream)
{
	put(to, from, count, type);
	return add(comm, stream, "AllReduce", type, op);
}

int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, struct ncclComm *comm,
	       CUstream stream);
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, struct ncclComm *comm,
	       CUstream stream)
{
	if (comm->rank == root)
		put(to, from, count, type);
	return add(comm, stream, "Reduce", type, op);
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct ncclComm *comm, CUstream stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct ncclComm *comm, CUstream stream)
{
	(void)root;
	put(to, from, count, type);
	return add(comm, stream, "Broadcast", type, -1);
}

int ncclBcast(void *data, size_t count, int type, int root, struct ncclComm *comm, CUstream stream);
int ncclBcast(void *data, size_t count, int type, int root, struct ncclComm *comm, CUstream stream)
{
	return ncclBroadcast(data, data, count, type, root, comm, stream);
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm,
		      CUstream stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm,
		      CUstream stream)
{
	put(to, from, count, type);
	return add(comm, stream, "ReduceScatter", type, op);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream)
{
	int i;

	for (i = 0; i < comm->ranks && type >= 0 && type < TYPES; i++)
		put((char *)to + (size_t)i * count * type_sizes[type], from, count, type);
	return add(comm, stream, "AllGather", type, -1);
}

int ncclSend(const void *from, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream);
int ncclSend(const void *from, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream)
{
	(void)from;
	(void)count;
	(void)peer;
	return add(comm, stream, "SendRecv", type, -1);
}

int ncclRecv(void *to, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream);
int ncclRecv(void *to, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream)
{
	return ncclSend(to, count, type, peer, comm, stream);
}

int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream);
int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream)
{
	put(to, from, count * (size_t)comm->ranks, type);
	return add(comm, stream, "SendRecv", type, -1);
}

/* ---- communicators ----------------------------------------------------------------------------- */

int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	*version = LIBRARY_VERSION;
	return STATUS_SUCCESS;
}

int ncclGetUniqueId(struct unique_id *id);
int ncclGetUniqueId(struct unique_id *id)
{
	memset(id, 0x5a, sizeof(*id));
	return STATUS_SUCCESS;
}

int ncclCommInitRankConfig(struct ncclComm **comm, int ranks, struct unique_id id, int rank, void *config);
int ncclCommInitRankConfig(struct ncclComm **comm, int ranks, struct unique_id id, int rank, void *config)
{
	(void)id;
	(void)config;
	*comm = calloc(1, sizeof(**comm));
	if (!*comm || ranks < 1 || rank < 0 || rank >= ranks)
		return STATUS_INVALID_ARGUMENT;
	(*comm)->ranks = ranks;
	(*comm)->rank = rank;
	return STATUS_SUCCESS;
}

int ncclCommInitRank(struct ncclComm **comm, int ranks, struct unique_id id, int rank);
int ncclCommInitRank(struct ncclComm **comm, int ranks, struct unique_id id, int rank)
{
	return ncclCommInitRankConfig(comm, ranks, id, rank, NULL);
}

int ncclCommDestroy(struct ncclComm *comm);
int ncclCommDestroy(struct ncclComm *comm)
{
	free(comm);
	return STATUS_SUCCESS;
}

int ncclCommAbort(struct ncclComm *comm);
int ncclCommAbort(struct ncclComm *comm)
{
	return ncclCommDestroy(comm);
}

int ncclCommFinalize(struct ncclComm *comm);
int ncclCommFinalize(struct ncclComm *comm)
{
	(void)comm;
	return STATUS_SUCCESS;
}

int ncclCommCount(const struct ncclComm *comm, int *count);
int ncclCommCount(const struct ncclComm *comm, int *count)
{
	*count = comm->ranks;
	return STATUS_SUCCESS;
}

int ncclCommUserRank(const struct ncclComm *comm, int *rank);
int ncclCommUserRank(const struct ncclComm *comm, int *rank)
{
	*rank = comm->rank;
	return STATUS_SUCCESS;
}

int ncclCommGetAsyncError(struct ncclComm *comm, int *error);
int ncclCommGetAsyncError(struct ncclComm *comm, int *error)
{
	(void)comm;
	*error = STATUS_SUCCESS;
	return STATUS_SUCCESS;
}

int ncclCommRegister(struct ncclComm *comm, void *data, size_t size, void **handle);
int ncclCommRegister(struct ncclComm *comm, void *data, size_t size, void **handle)
{
	(void)comm;
	(void)size;
	*handle = data;
	return STATUS_SUCCESS;
}

int ncclCommDeregister(struct ncclComm *comm, void *handle);
int ncclCommDeregister(struct ncclComm *comm, void *handle)
{
	(void)comm;
	(void)handle;
	return STATUS_SUCCESS;
}

const char *ncclGetErrorString(int status);
const char *ncclGetErrorString(int status)
{
	return status ? "the simulated NCCL cannot do this" : "no error";
}

const char *ncclGetLastError(struct ncclComm *comm);
const char *ncclGetLastError(struct ncclComm *comm)
{
	(void)comm;
	return "";
}

/* Functions that PyTorch links with and this library does not implement. */
#define UNSUPPORTED(name)                                                                                              \
	int name(void);                                                                                                \
	int name(void)                                                                                                 \
	{                                                                                                              \
		return STATUS_INVALID_USAGE;                                                                           \
	}

UNSUPPORTED(ncclCommGetUniqueId)
UNSUPPORTED(ncclCommGrow)
UNSUPPORTED(ncclCommInitAll)
UNSUPPORTED(ncclCommInitRankScalable)
UNSUPPORTED(ncclCommMemStats)
UNSUPPORTED(ncclCommResume)
UNSUPPORTED(ncclCommRevoke)
UNSUPPORTED(ncclCommShrink)
UNSUPPORTED(ncclCommSplit)
UNSUPPORTED(ncclCommSuspend)
UNSUPPORTED(ncclCommWindowDeregister)
UNSUPPORTED(ncclCommWindowRegister)
UNSUPPORTED(ncclDevCommCreate)
UNSUPPORTED(ncclDevCommDestroy)
UNSUPPORTED(ncclGather)
UNSUPPORTED(ncclGetLsaMultimemDevicePointer)
UNSUPPORTED(ncclGetPeerDevicePointer)
UNSUPPORTED(ncclGroupSimulateEnd)
UNSUPPORTED(ncclMemAlloc)
UNSUPPORTED(ncclMemFree)
UNSUPPORTED(ncclPutSignal)
UNSUPPORTED(ncclRedOpCreatePreMulSum)
UNSUPPORTED(ncclRedOpDestroy)
UNSUPPORTED(ncclScatter)
UNSUPPORTED(ncclSignal)
UNSUPPORTED(ncclWaitSignal)
UNSUPPORTED(ncclWinGetUserPtr)
