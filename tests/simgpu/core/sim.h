/*
 * sim.h: interface of the simulated GPU's core (in libcuda.so.1) for the other simulated libraries
 * (libcudart, libcupti, libcublas, libcublasLt) and for programs that use labels and kernels.
 *
 * The opaque types of cuda.h are completed here: a CUstream is a struct CUstream_st.
 * All times are CLOCK_MONOTONIC nanoseconds unless a name says otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#define SIM_EXPORT __attribute__((visibility("default")))
#define SIM_MAX_DEVICES 8
#define SIM_LABEL_SIZE 160
#define SIM_QUEUE_MAX 1024

/* ---- options (environment, read once; README.md lists them) ---- */

struct sim_options {
	int devices;
	uint32_t queue;	     /* launches that a stream holds; the next one has to wait */
	uint64_t latency_ns; /* from submission to the earliest start */
	uint64_t kernel_ns;  /* duration of a kernel whose name has none; 0: by a hash of the name */
	uint32_t drop_every; /* every Nth GPU record is dropped; 0: none */
	uint32_t zero_every; /* every Nth kernel record has start = end = 0; 0: none */
	uint64_t delay_ns;   /* records become deliverable this long after their end */
	bool verbose;
	const char *injection;	   /* CUDA_INJECTION64_PATH, or NULL */
	const char *truth;	   /* SIMGPU_TRUTH, or NULL; %p stands for the pid */
	const char *cupti;	   /* SIMGPU_CUPTI_VERSION, or NULL */
	const char *open_buffers;  /* SIMGPU_OPEN_BUFFERS, or NULL */
	uint32_t correlation;	   /* SIMGPU_CORRELATION */
	int thread_buffers;	   /* SIMGPU_THREAD_BUFFERS; -1: the version's default */
	uint64_t pool_records;	   /* SIMGPU_POOL; 0: no limit */
	bool dropped_fails;	   /* SIMGPU_DROPPED_FAILS */
	bool clock_falls;	   /* SIMGPU_CLOCK_FALLS */
	bool unsubscribe_ends;	   /* SIMGPU_UNSUBSCRIBE_ENDS */
	const char *enable_gate;   /* SIMGPU_ENABLE_GATE, or NULL */
	const char *callback_gate; /* SIMGPU_CALLBACK_GATE, or NULL */
	uint64_t callback_ns;	   /* SIMGPU_CALLBACK_US */
	const char *clocks;	   /* SIMGPU_CLOCKS, or NULL: the highest one all the time */
};

SIM_EXPORT const struct sim_options *sim_options(void);
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- clocks ---- */

SIM_EXPORT uint64_t sim_now(void);		    /* CLOCK_MONOTONIC */
SIM_EXPORT uint64_t sim_to_realtime(uint64_t mono); /* by the offset sampled at start */
SIM_EXPORT void sim_sleep_until(uint64_t mono);
uint64_t sim_duration_at(uint64_t mono, uint64_t duration_ns); /* of a kernel that begins then (SIMGPU_CLOCKS) */

/* ---- threads and labels ---- */

struct sim_thread {
	int tid;
	int pid;
	int depth;	      /* nested API calls of this thread */
	uint32_t correlation; /* of the outermost call */
	int device;
	CUcontext context; /* NULL: none current; the runtime makes the primary one current */
	int last_error;	   /* cudaGetLastError */
	CUstreamCaptureMode capture_mode;
	const struct sim_meeting *meeting; /* of the kernels that it launches now; NULL: none */
	char label[SIM_LABEL_SIZE];
};

SIM_EXPORT struct sim_thread *sim_thread(void);
SIM_EXPORT void sim_label(const char *label); /* NULL or "": no label */

/* ---- one call of an API function ---- */

enum sim_api_class {
	SIM_QUIET, /* not in the ground truth */
	SIM_LAUNCH,
	SIM_COPY,
	SIM_SET,
	SIM_SYNC,
	SIM_ALLOC,
	SIM_FREE,
	SIM_EVENT,
	SIM_GRAPH,
	SIM_MODULE,
};

enum sim_api_domain { SIM_DRIVER = 1, SIM_RUNTIME = 2 }; /* as CUpti_CallbackDomain */

struct sim_api_info {
	enum sim_api_domain domain;
	enum sim_api_class class;
	uint32_t cbid;
	const char *name;
};

struct sim_api {
	const struct sim_api_info *info;
	const void *params;
	const void *result; /* pointer to the return value, at exit */
	const char *symbol; /* mangled kernel name, for launches */
	CUcontext context;
	uint32_t correlation;
	bool outer; /* not called by another API function */
	uint64_t enter;
	uint64_t tool_enter; /* the tool's own time stamp at entry */
	uint64_t tool_slot;  /* the subscriber's 64 bits between entry and exit */
};

SIM_EXPORT void sim_api_enter(struct sim_api *call, const struct sim_api_info *info, const void *params,
			      const char *symbol);
SIM_EXPORT void sim_api_exit(struct sim_api *call, const void *result, int status);

/* ---- kernels ---- */

struct CUkern_st {
	const void *module; /* the module it was taken from; NULL: the program's own */
	char *name;	    /* mangled */
	uint64_t duration_ns;
	uint32_t registers;
	_Atomic int compiled;
	struct CUkern_st *next;
};

SIM_EXPORT CUkernel sim_kernel_intern(const char *name); /* never NULL */
SIM_EXPORT CUkernel sim_kernel_of(const void *module, const char *name);
SIM_EXPORT void sim_kernel_bind(CUkernel kernel, const void *host);
SIM_EXPORT CUkernel sim_kernel_resolve(const void *host_or_handle); /* NULL: unknown */
void sim_jit_need(CUkernel kernel);				    /* before its launch */
void sim_jit_code(const void *image);				    /* compiles text that begins with //jit */
SIM_EXPORT uint64_t sim_kernel_duration(const char *name);
SIM_EXPORT const void *sim_kernel(const char *name); /* a handle cudaLaunchKernel takes as func */

/* ---- devices, contexts, streams, events ---- */

struct CUctx_st {
	uint32_t id;
	int device;
	bool primary;
	uint64_t blocking_end; /* end of the last work in any blocking stream */
	struct CUstream_st *legacy, *per_thread, *streams;
};

struct CUstream_st {
	CUcontext context;
	uint32_t id;
	unsigned flags;
	int priority;
	uint64_t last_end;
	uint64_t ends[SIM_QUEUE_MAX]; /* end times of the last pieces of work that are placed, in a ring */
	uint32_t submitted;	      /* how many are placed */
	/* what cannot be placed yet, in order (timeline.c) */
	struct sim_deferred *first, *last;
	uint32_t deferred; /* pieces of work among it */
	bool is_listed;
	struct CUstream_st *next_listed;
	CUgraph capture; /* non-NULL while capturing */
	uint64_t capture_id;
	bool capture_origin;
	struct CUstream_st *next;
};

/* A recording of an event.  It outlives the event while a stream waits for it. */
struct sim_recording {
	unsigned references;
	bool is_known; /* the time; false: work before it is not placed yet */
	uint64_t time;
};

struct CUevent_st {
	CUcontext context;
	uint32_t id;
	unsigned flags;
	struct sim_recording *recording; /* the last one; NULL: none */
	uint64_t record;		 /* its number; all events share one count */
	CUgraph capture;
	uint64_t capture_id;
};

SIM_EXPORT CUcontext sim_context_primary(int device);
SIM_EXPORT CUcontext sim_context_current(void); /* makes the device's primary one current */
SIM_EXPORT CUcontext sim_context_create(int device);
SIM_EXPORT bool sim_primary_active(int device);
SIM_EXPORT CUstream sim_stream_create(CUcontext context, unsigned flags, int priority);
SIM_EXPORT void sim_stream_destroy(CUstream stream);
SIM_EXPORT CUstream sim_stream_resolve(CUstream handle); /* 0, 1 and 2 are the default ones */
SIM_EXPORT bool sim_stream_idle(CUstream stream);
SIM_EXPORT void sim_stream_wait_event(CUstream stream, CUevent event);
SIM_EXPORT void sim_stream_synchronize(CUstream stream);
SIM_EXPORT void sim_context_synchronize(CUcontext context);
SIM_EXPORT CUevent sim_event_create(unsigned flags);
SIM_EXPORT void sim_event_record(CUevent event, CUstream stream);
SIM_EXPORT void sim_event_synchronize(CUevent event);
SIM_EXPORT void sim_event_destroy(CUevent event);
SIM_EXPORT bool sim_event_is_recorded(CUevent event);
SIM_EXPORT bool sim_event_time(CUevent event, uint64_t *time); /* false: not recorded, or not known yet */
SIM_EXPORT void sim_for_each_context(void (*visit)(CUcontext));
SIM_EXPORT void sim_for_each_stream(void (*visit)(CUstream));

/* ---- memory ---- */

enum sim_memory { SIM_PAGEABLE = 1, SIM_PINNED = 2, SIM_DEVICE = 3, SIM_MANAGED = 5 }; /* CUPTI's */

SIM_EXPORT void *sim_memory_alloc(enum sim_memory kind, size_t bytes, int device);
SIM_EXPORT bool sim_memory_free(void *address);
SIM_EXPORT enum sim_memory sim_memory_kind(const void *address);
SIM_EXPORT int sim_memory_device(const void *address);
SIM_EXPORT size_t sim_memory_block(const void *address, void **base); /* returns its size; 0: unknown */
SIM_EXPORT void sim_memory_pin(const void *address, size_t bytes);    /* bytes 0: unpin */
SIM_EXPORT void sim_memory_info(size_t *free_bytes, size_t *total_bytes);

/* ---- work for the GPU ---- */

enum sim_kind { SIM_KERNEL, SIM_MEMCPY, SIM_MEMSET };

struct sim_copy {
	void *dst;
	const void *src;
	size_t width, height, dst_pitch, src_pitch;
	uint8_t copy_kind, src_kind, dst_kind; /* CUPTI's numbers */
};

enum sim_fate { SIM_UNSEEN, SIM_SENT, SIM_DROPPED, SIM_ZEROED };

/*
 * A kernel that waits for kernels of other processes, as a collective's.  Each launch of it, and each replay of a graph
 * that has it, is an execution.
 */
struct sim_work;
struct sim_meeting {
	void *(*submit)(const struct sim_meeting *meeting);	      /* a new execution; in the order of submission */
	void (*begin)(void *execution, uint64_t begin_ns);	      /* the stream lets it begin then: others see it */
	bool (*end)(void *execution, uint64_t *end_ns);		      /* false: not known, as others have not begun */
	void (*placed)(void *execution, const struct sim_work *work); /* frees it */
};

struct sim_work {
	enum sim_kind kind;
	bool async;
	const char *name;
	uint64_t duration_ns;
	uint32_t grid[3], block[3], shared, registers;
	uint64_t bytes;
	uint32_t value, value_size;
	struct sim_copy copy;
	const struct sim_meeting *meeting; /* NULL: it waits for no one */
	void *execution;
	uint64_t submitted;
	/* filled in when it is placed */
	uint32_t device, context, stream, correlation;
	uint64_t start, end;
	uint32_t graph;
	uint64_t node;
	uint32_t source_graph;
	uint64_t source_node;
};

SIM_EXPORT void sim_kernel_work(struct sim_work *work, CUkernel kernel, const uint32_t grid[3], const uint32_t block[3],
				uint32_t shared);
SIM_EXPORT void sim_submit(CUstream stream, struct sim_work *work);
SIM_EXPORT bool sim_submit_copy(CUstream stream, struct sim_copy copy, bool async);
SIM_EXPORT uint64_t sim_copy_ns(const void *dst, const void *src, size_t bytes); /* duration in ns */
SIM_EXPORT void sim_submit_set(CUstream stream, void *dst, uint32_t value, uint32_t value_size, size_t bytes,
			       bool async);

/* ---- graphs ---- */

struct CUgraphNode_st {
	uint64_t id;
	CUgraphNodeType type;
	struct sim_work work;
	CUhostFn host;
	void *host_data;
	struct CUgraphNode_st *source; /* the node it was cloned from */
	struct CUgraphNode_st *next;
};

struct CUgraph_st {
	uint32_t id;
	unsigned nodes;
	struct CUgraphNode_st *first, *last;
};

struct CUgraphExec_st {
	struct CUgraph_st graph;
	uint32_t source;
};

SIM_EXPORT CUgraph sim_graph_create(void);
SIM_EXPORT void sim_graph_destroy(CUgraph graph);
SIM_EXPORT CUgraphNode sim_graph_add(CUgraph graph, CUgraphNodeType type, const struct sim_work *work);
SIM_EXPORT CUgraphExec sim_graph_instantiate(CUgraph graph);
SIM_EXPORT void sim_graph_exec_destroy(CUgraphExec exec);
SIM_EXPORT void sim_graph_launch(CUgraphExec exec, CUstream stream);
SIM_EXPORT bool sim_capture_begin(CUstream stream, CUgraph graph);
SIM_EXPORT CUgraph sim_capture_end(CUstream stream);

/* ---- the tool: libcupti announces itself here when it is loaded ---- */

struct sim_resource {
	CUcontext context;
	CUstream stream;
	CUgraph graph, source_graph;
	CUgraphNode node, source_node;
	CUgraphExec exec;
	const char *image; /* of a module */
	size_t image_bytes;
};

struct sim_sync {
	uint32_t type; /* CUpti_ActivitySynchronizationType */
	uint64_t start, end;
	uint32_t context, stream, event, correlation;
	uint64_t record; /* number of the event's recording; 0: none */
};

struct sim_event_record {
	uint32_t device, context, stream, event, correlation;
	uint64_t record;
};

struct sim_memory_event {
	bool release;
	enum sim_memory kind;
	uint64_t address, bytes;
	uint32_t device, context, correlation;
};

/* Work of the driver's compiler or its cache, on the thread of the call that needed a kernel. */
struct sim_jit {
	uint32_t operation; /* CUpti_ActivityJitOperationType */
	uint32_t device, correlation;
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
	uint64_t unit, bytes;
};

struct sim_tool {
	void (*api)(struct sim_api *call, int exiting, int status);
	enum sim_fate (*work)(const struct sim_work *work);
	void (*resource)(uint32_t cbid, const struct sim_resource *resource);
	void (*sync)(const struct sim_sync *sync);
	void (*event)(const struct sim_event_record *event);
	void (*memory)(const struct sim_memory_event *event);
	void (*jit)(const struct sim_jit *jit);
};

SIM_EXPORT void sim_tool_set(const struct sim_tool *tool);
const struct sim_tool *sim_tool(void); /* NULL: no CUPTI in this process */
void sim_resource(uint32_t cbid, const struct sim_resource *resource);

/* ---- ground truth ---- */

SIM_EXPORT bool sim_truth_on(void);
void sim_truth_api(const struct sim_api *call, uint64_t exit, int status);
void sim_truth_work(const struct sim_work *work, enum sim_fate fate, int tid, const char *label);
SIM_EXPORT void sim_truth_line(const char *line); /* a whole line of JSON, with its newline */
