/*
 * nccl.c: simulated libnccl: communicators and collectives. Each group of operations on a communicator
 * launches one kernel on its stream, by the driver API as the real library does. Kernels wait for those
 * of the other ranks (kernels.c). Processes exchange no data: a rank gets its own data in place of other
 * ranks' data.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "kernels.h"

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
enum { IS_SEND = -2, IS_RECEIVE = -3 }; /* in place of an op */

static const char *const type_names[TYPES] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
					      "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
static const size_t type_sizes[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
static const char *const op_names[OPS] = {"Sum", "Prod", "Max", "Min", "SumPostDiv"};

struct ncclComm {
	uint64_t magic; /* the real struct, too, begins with another field */
	int ranks, rank;
	struct peers *peers; /* NULL: its kernels wait for no one */
	uint64_t hash;	     /* the same on all ranks */
	CUcontext context;   /* its GPU's, in which its kernels are launched */
};

struct grouped {
	struct ncclComm *comm;
	CUstream stream;
	const char *name; /* "AllReduce" */
	int type, op;	  /* -1: none */
	int peer;	  /* of a send or receive */
	uint64_t bytes;
};

static _Thread_local struct {
	int depth, count;
	struct grouped list[GROUPED_MAX];
} group;

/* ---- launches ---------------------------------------------------------------------------------- */

/* Kernel names of NCCL's versions: 2.30, 2.20 (up to 2.22), 2.18. */
enum naming { NAMES_OF_2_30, NAMES_OF_2_20, NAMES_OF_2_18 };

static enum naming naming(void)
{
	const char *wanted = getenv("SIMGPU_NCCL_NAMES");

	return !wanted			 ? NAMES_OF_2_30
	       : !strcmp(wanted, "2.20") ? NAMES_OF_2_20
	       : !strcmp(wanted, "2.18") ? NAMES_OF_2_18
					 : NAMES_OF_2_30;
}

static void name_kernel(const struct grouped *first, int count, char *text, size_t size)
{
	const char *end = naming() == NAMES_OF_2_30 ? "(ncclDevKernelArgsStorage<4096ul>)"
						    : "(ncclDevComm*, unsigned long, ncclWork*)";

	if (naming() == NAMES_OF_2_18)
		snprintf(text, size, "ncclKernel_%s_RING_LL_Sum_%s%s", first->name,
			 !strcmp(first->name, "SendRecv") || first->op < 0 ? "int8_t" : "float", end);
	else if (!strcmp(first->name, "SendRecv"))
		snprintf(text, size, "ncclDevKernel_SendRecv%s", end);
	else if (count > 1)
		snprintf(text, size, "ncclDevKernel_Generic_1%s", end);
	else if (first->op >= 0)
		snprintf(text, size, "ncclDevKernel_%s_%s_%s_RING_LL%s", first->name, op_names[first->op],
			 type_names[first->type], end);
	else
		snprintf(text, size, "ncclDevKernel_%s_RING_LL%s", first->name, end);
}

static int send_launch(const char *name, const struct ncclComm *comm, CUstream stream,
		       const struct operation *operations, int count)
{
	int status;
	CUcontext other = NULL;

	cuCtxGetCurrent(&other);
	if (comm->context && other != comm->context)
		cuCtxPushCurrent_v2(comm->context);
	sim_thread()->meeting =
		comm->peers ? kernels_meet(comm->peers, comm->ranks, comm->rank, operations, count) : NULL;
	status = cuLaunchKernel((CUfunction)sim_kernel_intern(name), SIM_NCCL_GRID, 1, 1, SIM_NCCL_BLOCK, 1, 1, 0,
				stream, NULL, NULL)
			 ? STATUS_INVALID_USAGE
			 : STATUS_SUCCESS;
	sim_thread()->meeting = NULL;
	if (comm->context && other != comm->context)
		cuCtxPopCurrent_v2(&other);
	return status;
}

/* What the kernel transfers.  An all-to-all is a send and a receive for each rank. */
static int operations_of(const struct grouped *call, struct operation *list)
{
	uint64_t transfer_ns = kernels_transfer_ns(call->bytes);
	int count = 0;

	if (!strcmp(call->name, "SendRecv") && call->peer >= 0)
		list[count++] = (struct operation){.name = call->op == IS_SEND ? "Send" : "Recv",
						   .kind = call->op == IS_SEND ? OPERATION_SEND : OPERATION_RECEIVE,
						   .peer = call->peer,
						   .transfer_ns = transfer_ns};
	else if (!strcmp(call->name, "SendRecv"))
		for (int i = 0; i < 2 * call->comm->ranks; i++)
			list[count++] = (struct operation){.name = "AllToAll",
							   .kind = i % 2 ? OPERATION_RECEIVE : OPERATION_SEND,
							   .peer = i / 2,
							   .transfer_ns = transfer_ns};
	else
		list[count++] = (struct operation){.name = call->name, .transfer_ns = transfer_ns};
	return count;
}

/* Whether the library launches a kernel for each collective of a group (a real one: where they differ too much). */
static bool has_kernel_for_each(void)
{
	const char *wanted = getenv("SIMGPU_NCCL_GROUPS");

	return wanted && !strcmp(wanted, "each");
}

/* The first call of the communicator whose turn it is; group.count: none is left. */
static int next_to_launch(void)
{
	int next = group.count;

	for (int i = group.count; i-- > 0;)
		if (group.list[i].comm &&
		    (next == group.count || group.list[i].comm->hash <= group.list[next].comm->hash))
			next = i;
	return next;
}

/*
 * One kernel for all operations of a communicator in one stream.  Of several communicators those launch first whose
 * hash is least, as in NCCL 2.30.7 (src/include/group.h), and not in the program's order.
 */
static int launch_group(void)
{
	int i, j, count, status = STATUS_SUCCESS, operation_count;
	static _Thread_local struct operation operations[KERNEL_OPERATIONS_MAX];
	struct grouped first;
	char name[160];

	while (!status && (i = next_to_launch()) < group.count) {
		first = group.list[i];
		for (operation_count = count = 0, j = i; j < group.count; j++) {
			if (group.list[j].comm != first.comm || group.list[j].stream != first.stream)
				continue;
			if (count && has_kernel_for_each() && strcmp(first.name, "SendRecv") != 0)
				continue;
			if (operation_count + 2 * PEERS_MAX <= KERNEL_OPERATIONS_MAX)
				operation_count += operations_of(&group.list[j], operations + operation_count);
			group.list[j].comm = NULL;
			count++;
		}
		name_kernel(&first, count, name, sizeof(name));
		status = send_launch(name, first.comm, first.stream, operations, operation_count);
	}
	group.count = 0;
	return status;
}

/* For tests: a kernel of another library, which no call of NCCL launches, that all ranks take part in. */
int simNcclKernel(const char *name, uint64_t bytes, struct ncclComm *comm, CUstream stream);
int simNcclKernel(const char *name, uint64_t bytes, struct ncclComm *comm, CUstream stream)
{
	struct operation operation = {.name = "Custom", .transfer_ns = kernels_transfer_ns(bytes)};

	return send_launch(name, comm, stream, &operation, 1);
}

static int add_with_peer(struct ncclComm *comm, CUstream stream, const char *name, size_t count, int type, int op,
			 int peer)
{
	if (type < 0 || type >= TYPES || op >= OPS || group.count == GROUPED_MAX || peer >= comm->ranks)
		return STATUS_INVALID_ARGUMENT;
	group.list[group.count++] = (struct grouped){comm, stream, name, type, op, peer, count * type_sizes[type]};
	return group.depth ? STATUS_SUCCESS : launch_group();
}

static int add_call(struct ncclComm *comm, CUstream stream, const char *name, size_t count, int type, int op)
{
	return add_with_peer(comm, stream, name, count, type, op, -1);
}

static void put_elements(void *to, const void *from, size_t elements, int type)
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
	put_elements(to, from, count, type);
	return add_call(comm, stream, "AllReduce", count, type, op);
}

int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, struct ncclComm *comm,
	       CUstream stream);
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, struct ncclComm *comm,
	       CUstream stream)
{
	if (comm->rank == root)
		put_elements(to, from, count, type);
	return add_call(comm, stream, "Reduce", count, type, op);
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct ncclComm *comm, CUstream stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct ncclComm *comm, CUstream stream)
{
	(void)root;
	put_elements(to, from, count, type);
	return add_call(comm, stream, "Broadcast", count, type, -1);
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
	put_elements(to, from, count, type);
	return add_call(comm, stream, "ReduceScatter", count, type, op);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream)
{
	int i;

	for (i = 0; i < comm->ranks && type >= 0 && type < TYPES; i++)
		put_elements((char *)to + (size_t)i * count * type_sizes[type], from, count, type);
	return add_call(comm, stream, "AllGather", count, type, -1);
}

int ncclSend(const void *from, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream);
int ncclSend(const void *from, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream)
{
	(void)from;
	return add_with_peer(comm, stream, "SendRecv", count, type, IS_SEND, peer);
}

int ncclRecv(void *to, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream);
int ncclRecv(void *to, size_t count, int type, int peer, struct ncclComm *comm, CUstream stream)
{
	(void)to;
	return add_with_peer(comm, stream, "SendRecv", count, type, IS_RECEIVE, peer);
}

int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream);
int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct ncclComm *comm, CUstream stream)
{
	put_elements(to, from, count * (size_t)comm->ranks, type);
	return add_call(comm, stream, "SendRecv", count, type, -1);
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
	return getrandom(id, sizeof(*id), 0) == sizeof(*id) ? STATUS_SUCCESS : STATUS_INVALID_USAGE;
}

static uint64_t hash_of(const struct unique_id *id)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(id->bytes); i++)
		hash = (hash ^ (uint8_t)id->bytes[i]) * 0x100000001b3u;
	return hash;
}

int ncclCommInitRankConfig(struct ncclComm **comm, int ranks, struct unique_id id, int rank, void *config);
int ncclCommInitRankConfig(struct ncclComm **comm, int ranks, struct unique_id id, int rank, void *config)
{
	(void)config;
	*comm = calloc(1, sizeof(**comm));
	if (!*comm || ranks < 1 || rank < 0 || rank >= ranks)
		return STATUS_INVALID_ARGUMENT;
	(*comm)->ranks = ranks;
	(*comm)->rank = rank;
	(*comm)->hash = hash_of(&id);
	cuCtxGetCurrent(&(*comm)->context);
	if (ranks == 1 || getenv("SIMGPU_NCCL_ALONE"))
		return STATUS_SUCCESS;
	(*comm)->peers = peers_join(&id, ranks, rank);
	return (*comm)->peers ? STATUS_SUCCESS : STATUS_INVALID_ARGUMENT;
}

int ncclCommInitRank(struct ncclComm **comm, int ranks, struct unique_id id, int rank);
int ncclCommInitRank(struct ncclComm **comm, int ranks, struct unique_id id, int rank)
{
	return ncclCommInitRankConfig(comm, ranks, id, rank, NULL);
}

/* A rank for each of these GPUs, NULL: the first ones; all in this process. */
int ncclCommInitAll(struct ncclComm **comms, int count, const int *devices);
int ncclCommInitAll(struct ncclComm **comms, int count, const int *devices)
{
	struct unique_id id;
	int status = ncclGetUniqueId(&id);

	for (int i = 0; i < count && !status; i++) {
		CUcontext context, before = NULL;

		cuCtxGetCurrent(&before);
		if (cuDevicePrimaryCtxRetain(&context, devices ? devices[i] : i))
			return STATUS_INVALID_ARGUMENT;
		cuCtxSetCurrent(context);
		status = ncclCommInitRankConfig(&comms[i], count, id, i, NULL);
		cuCtxSetCurrent(before);
	}
	return status;
}

int ncclCommDestroy(struct ncclComm *comm);
int ncclCommDestroy(struct ncclComm *comm)
{
	free(comm); /* what ranks share stays: kernels may still wait */
	return STATUS_SUCCESS;
}

int ncclCommAbort(struct ncclComm *comm);
int ncclCommAbort(struct ncclComm *comm)
{
	if (comm->peers)
		peers_leave(comm->peers);
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
