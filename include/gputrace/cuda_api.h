/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The CUDA calls that gputrace follows: one row per public entry point.
 *
 * Used by target/ (symbols to probe), bpf/ (where the arguments are), agent/ (callback ids to
 * subscribe to), model/ (names, classes) and input/ (names in files of other tools).  Nothing else may list CUDA
 * functions.
 *
 * Source of the callback ids: cupti_runtime_cbid.h and cupti_driver_cbid.h of CUDA 13.0; CUPTI only
 * appends to them.  `make check-cupti` compares this table with them.
 * Source of the argument positions: cuda_runtime_api.h, cuda.h (13.0), x86-64 System V ABI.
 */
#pragma once

/*
 * The id of a call everywhere, also in the log: the domain in the upper bits, CUPTI's callback id in the lower twelve.
 * Stable across versions of gputrace and of CUDA.
 */
#define GPT_API(domain, cbid) ((unsigned short)(((domain) << 12) | (cbid)))
#define GPT_API_DOMAIN(api) ((api) >> 12)
#define GPT_API_CBID(api) ((api)&0xfff)

/* Values as CUpti_CallbackDomain (cupti_callbacks.h). */
enum gpt_api_domain {
	GPT_DOMAIN_DRIVER = 1,
	GPT_DOMAIN_RUNTIME = 2,
};

enum gpt_api_class {
	GPT_CLASS_NONE,
	GPT_CLASS_LAUNCH,    /* one kernel */
	GPT_CLASS_GRAPH,     /* one graph: any number of kernels, memcpys and memsets */
	GPT_CLASS_HOST_FUNC, /* a host function in stream order: no GPU work */
	GPT_CLASS_MEMCPY,
	GPT_CLASS_MEMSET,
	GPT_CLASS_SYNC, /* the calling thread waits for the GPU */
	GPT_CLASS_WAIT, /* a stream waits for an event; the thread does not */
	GPT_CLASS_EVENT,
	GPT_CLASS_ALLOC,
	GPT_CLASS_FREE,
	GPT_CLASS_MODULE, /* code for the GPU is loaded, and compiled where it must be */
	GPT_CLASS_COUNT,
};

/* Where the arguments worth keeping are at entry; "1ST" is the first argument. */
enum gpt_api_args {
	GPT_ARGS_NONE,
	GPT_ARGS_RT_LAUNCH,	/* (func, dim3 grid, dim3 block, args, shmem, stream) */
	GPT_ARGS_RT_LAUNCH_EX,	/* (cudaLaunchConfig_t *, func, args) */
	GPT_ARGS_DRV_LAUNCH,	/* (func, gx, gy, gz, bx, by, bz, shmem, stream, ...) */
	GPT_ARGS_DRV_LAUNCH_EX, /* (CUlaunchConfig *, func, ...) */
	GPT_ARGS_RT_MEMCPY,	/* (dst, src, bytes, kind[, stream]) */
	GPT_ARGS_RT_MEMCPY_2D,	/* (dst, dpitch, src, spitch, width, height, kind, stream) */
	GPT_ARGS_RT_MEMSET,	/* (dst, value, bytes[, stream]) */
	GPT_ARGS_SIZE_2ND,	/* (ptr *, bytes, ...) */
	GPT_ARGS_SIZE_3RD,	/* (dst, src, bytes[, stream]) */
	GPT_ARGS_STREAM_1ST,	/* (stream, ...) */
	GPT_ARGS_STREAM_2ND,	/* (object, stream) */
	GPT_ARGS_COUNT,
};

/* The per-thread-default-stream twin: same arguments, NAME_ptsz or NAME_ptds. */
enum gpt_api_twin {
	GPT_TWIN_NONE,
	GPT_TWIN_PTSZ,
	GPT_TWIN_PTDS,
};

/* clang-format off */
/* X(domain, symbol, class, args, twin, cbid, cbid of the twin or 0) */
#define GPT_CUDA_API_TABLE(X) \
	X(RUNTIME, cudaLaunchKernel,                       LAUNCH,    RT_LAUNCH,     PTSZ, 211, 214) \
	X(RUNTIME, cudaLaunchCooperativeKernel,            LAUNCH,    RT_LAUNCH,     PTSZ, 269, 270) \
	X(RUNTIME, cudaLaunchKernelExC,                    LAUNCH,    RT_LAUNCH_EX,  PTSZ, 430, 431) \
	X(RUNTIME, cudaLaunchCooperativeKernelMultiDevice, LAUNCH,    NONE,          NONE, 272, 0) \
	X(RUNTIME, cudaLaunchHostFunc,                     HOST_FUNC, STREAM_1ST,    PTSZ, 284, 285) \
	X(RUNTIME, cudaGraphLaunch,                        GRAPH,     STREAM_2ND,    PTSZ, 311, 312) \
	X(RUNTIME, cudaMemcpy,                             MEMCPY,    RT_MEMCPY,     PTDS, 31,  215) \
	X(RUNTIME, cudaMemcpyAsync,                        MEMCPY,    RT_MEMCPY,     PTSZ, 41,  225) \
	X(RUNTIME, cudaMemcpy2D,                           MEMCPY,    RT_MEMCPY_2D,  PTDS, 32,  216) \
	X(RUNTIME, cudaMemcpy2DAsync,                      MEMCPY,    RT_MEMCPY_2D,  PTSZ, 44,  228) \
	X(RUNTIME, cudaMemcpy3D,                           MEMCPY,    NONE,          PTDS, 144, 245) \
	X(RUNTIME, cudaMemcpy3DAsync,                      MEMCPY,    NONE,          PTSZ, 145, 246) \
	X(RUNTIME, cudaMemcpyPeer,                         MEMCPY,    NONE,          NONE, 160, 0) \
	X(RUNTIME, cudaMemcpyPeerAsync,                    MEMCPY,    NONE,          NONE, 161, 0) \
	X(RUNTIME, cudaMemcpy3DPeer,                       MEMCPY,    NONE,          PTDS, 162, 249) \
	X(RUNTIME, cudaMemcpy3DPeerAsync,                  MEMCPY,    NONE,          PTSZ, 163, 250) \
	X(RUNTIME, cudaMemcpyToSymbol,                     MEMCPY,    NONE,          PTDS, 39,  223) \
	X(RUNTIME, cudaMemcpyToSymbolAsync,                MEMCPY,    NONE,          PTSZ, 47,  231) \
	X(RUNTIME, cudaMemcpyFromSymbol,                   MEMCPY,    NONE,          PTDS, 40,  224) \
	X(RUNTIME, cudaMemcpyFromSymbolAsync,              MEMCPY,    NONE,          PTSZ, 48,  232) \
	X(RUNTIME, cudaMemcpyToArray,                      MEMCPY,    NONE,          PTDS, 33,  217) \
	X(RUNTIME, cudaMemcpyFromArray,                    MEMCPY,    NONE,          PTDS, 35,  219) \
	X(RUNTIME, cudaMemcpy2DToArray,                    MEMCPY,    NONE,          PTDS, 34,  218) \
	X(RUNTIME, cudaMemcpy2DFromArray,                  MEMCPY,    NONE,          PTDS, 36,  220) \
	X(RUNTIME, cudaMemcpyBatchAsync,                   MEMCPY,    NONE,          PTSZ, 509, 510) \
	X(RUNTIME, cudaMemset,                             MEMSET,    RT_MEMSET,     PTDS, 49,  233) \
	X(RUNTIME, cudaMemsetAsync,                        MEMSET,    RT_MEMSET,     PTSZ, 51,  235) \
	X(RUNTIME, cudaMemset2D,                           MEMSET,    NONE,          PTDS, 50,  234) \
	X(RUNTIME, cudaMemset2DAsync,                      MEMSET,    NONE,          PTSZ, 52,  236) \
	X(RUNTIME, cudaMemset3D,                           MEMSET,    NONE,          PTDS, 142, 243) \
	X(RUNTIME, cudaMemset3DAsync,                      MEMSET,    NONE,          PTSZ, 143, 244) \
	X(RUNTIME, cudaStreamSynchronize,                  SYNC,      STREAM_1ST,    PTSZ, 131, 239) \
	X(RUNTIME, cudaDeviceSynchronize,                  SYNC,      NONE,          NONE, 165, 0) \
	X(RUNTIME, cudaEventSynchronize,                   SYNC,      NONE,          NONE, 137, 0) \
	X(RUNTIME, cudaStreamWaitEvent,                    WAIT,      STREAM_1ST,    PTSZ, 147, 247) \
	X(RUNTIME, cudaEventRecord,                        EVENT,     STREAM_2ND,    PTSZ, 135, 242) \
	X(RUNTIME, cudaEventRecordWithFlags,               EVENT,     STREAM_2ND,    PTSZ, 370, 371) \
	X(RUNTIME, cudaMalloc,                             ALLOC,     SIZE_2ND,      NONE, 20,  0) \
	X(RUNTIME, cudaMallocAsync,                        ALLOC,     SIZE_2ND,      PTSZ, 373, 374) \
	X(RUNTIME, cudaMallocFromPoolAsync,                ALLOC,     SIZE_2ND,      PTSZ, 391, 392) \
	X(RUNTIME, cudaMallocManaged,                      ALLOC,     SIZE_2ND,      NONE, 206, 0) \
	X(RUNTIME, cudaMallocHost,                         ALLOC,     SIZE_2ND,      NONE, 25,  0) \
	X(RUNTIME, cudaHostAlloc,                          ALLOC,     SIZE_2ND,      NONE, 27,  0) \
	X(RUNTIME, cudaMallocPitch,                        ALLOC,     NONE,          NONE, 21,  0) \
	X(RUNTIME, cudaMalloc3D,                           ALLOC,     NONE,          NONE, 140, 0) \
	X(RUNTIME, cudaFree,                               FREE,      NONE,          NONE, 22,  0) \
	X(RUNTIME, cudaFreeAsync,                          FREE,      NONE,          PTSZ, 375, 376) \
	X(RUNTIME, cudaFreeHost,                           FREE,      NONE,          NONE, 26,  0) \
	X(RUNTIME, cudaLibraryLoadData,                    MODULE,    NONE,          NONE, 470, 0) \
	X(RUNTIME, cudaLibraryLoadFromFile,                MODULE,    NONE,          NONE, 471, 0) \
	X(DRIVER,  cuLaunchKernel,                         LAUNCH,    DRV_LAUNCH,    PTSZ, 307, 442) \
	X(DRIVER,  cuLaunchCooperativeKernel,              LAUNCH,    DRV_LAUNCH,    PTSZ, 477, 478) \
	X(DRIVER,  cuLaunchKernelEx,                       LAUNCH,    DRV_LAUNCH_EX, PTSZ, 652, 653) \
	X(DRIVER,  cuLaunchHostFunc,                       HOST_FUNC, STREAM_1ST,    PTSZ, 527, 528) \
	X(DRIVER,  cuGraphLaunch,                          GRAPH,     STREAM_2ND,    PTSZ, 514, 515) \
	X(DRIVER,  cuMemcpy,                               MEMCPY,    SIZE_3RD,      PTDS, 305, 408) \
	X(DRIVER,  cuMemcpyAsync,                          MEMCPY,    SIZE_3RD,      PTSZ, 306, 418) \
	X(DRIVER,  cuMemcpyHtoD_v2,                        MEMCPY,    SIZE_3RD,      PTDS, 276, 397) \
	X(DRIVER,  cuMemcpyHtoDAsync_v2,                   MEMCPY,    SIZE_3RD,      PTSZ, 277, 421) \
	X(DRIVER,  cuMemcpyDtoH_v2,                        MEMCPY,    SIZE_3RD,      PTDS, 278, 398) \
	X(DRIVER,  cuMemcpyDtoHAsync_v2,                   MEMCPY,    SIZE_3RD,      PTSZ, 279, 422) \
	X(DRIVER,  cuMemcpyDtoD_v2,                        MEMCPY,    SIZE_3RD,      PTDS, 280, 399) \
	X(DRIVER,  cuMemcpyDtoDAsync_v2,                   MEMCPY,    SIZE_3RD,      PTSZ, 281, 423) \
	X(DRIVER,  cuMemcpyPeer,                           MEMCPY,    NONE,          PTDS, 318, 409) \
	X(DRIVER,  cuMemcpyPeerAsync,                      MEMCPY,    NONE,          PTSZ, 319, 426) \
	X(DRIVER,  cuMemcpy2D_v2,                          MEMCPY,    NONE,          PTDS, 287, 405) \
	X(DRIVER,  cuMemcpy2DUnaligned_v2,                 MEMCPY,    NONE,          PTDS, 288, 406) \
	X(DRIVER,  cuMemcpy2DAsync_v2,                     MEMCPY,    NONE,          PTSZ, 289, 424) \
	X(DRIVER,  cuMemcpy3D_v2,                          MEMCPY,    NONE,          PTDS, 290, 407) \
	X(DRIVER,  cuMemcpy3DAsync_v2,                     MEMCPY,    NONE,          PTSZ, 291, 425) \
	X(DRIVER,  cuMemcpy3DPeer,                         MEMCPY,    NONE,          PTDS, 320, 410) \
	X(DRIVER,  cuMemcpy3DPeerAsync,                    MEMCPY,    NONE,          PTSZ, 321, 427) \
	X(DRIVER,  cuMemcpyBatchAsync,                     MEMCPY,    NONE,          PTSZ, 776, 777) \
	X(DRIVER,  cuMemsetD8_v2,                          MEMSET,    NONE,          PTDS, 249, 411) \
	X(DRIVER,  cuMemsetD16_v2,                         MEMSET,    NONE,          PTDS, 250, 412) \
	X(DRIVER,  cuMemsetD32_v2,                         MEMSET,    NONE,          PTDS, 251, 413) \
	X(DRIVER,  cuMemsetD2D8_v2,                        MEMSET,    NONE,          PTDS, 252, 414) \
	X(DRIVER,  cuMemsetD2D16_v2,                       MEMSET,    NONE,          PTDS, 253, 415) \
	X(DRIVER,  cuMemsetD2D32_v2,                       MEMSET,    NONE,          PTDS, 254, 416) \
	X(DRIVER,  cuMemsetD8Async,                        MEMSET,    NONE,          PTSZ, 216, 428) \
	X(DRIVER,  cuMemsetD16Async,                       MEMSET,    NONE,          PTSZ, 218, 429) \
	X(DRIVER,  cuMemsetD32Async,                       MEMSET,    NONE,          PTSZ, 220, 430) \
	X(DRIVER,  cuMemsetD2D8Async,                      MEMSET,    NONE,          PTSZ, 222, 431) \
	X(DRIVER,  cuMemsetD2D16Async,                     MEMSET,    NONE,          PTSZ, 224, 432) \
	X(DRIVER,  cuMemsetD2D32Async,                     MEMSET,    NONE,          PTSZ, 226, 433) \
	X(DRIVER,  cuStreamSynchronize,                    SYNC,      STREAM_1ST,    PTSZ, 126, 440) \
	X(DRIVER,  cuCtxSynchronize,                       SYNC,      NONE,          NONE, 17,  0) \
	X(DRIVER,  cuEventSynchronize,                     SYNC,      NONE,          NONE, 121, 0) \
	X(DRIVER,  cuStreamWaitEvent,                      WAIT,      STREAM_1ST,    PTSZ, 295, 436) \
	X(DRIVER,  cuEventRecord,                          EVENT,     STREAM_2ND,    PTSZ, 119, 441) \
	X(DRIVER,  cuEventRecordWithFlags,                 EVENT,     STREAM_2ND,    PTSZ, 587, 588) \
	X(DRIVER,  cuMemAlloc_v2,                          ALLOC,     SIZE_2ND,      NONE, 243, 0) \
	X(DRIVER,  cuMemAllocAsync,                        ALLOC,     SIZE_2ND,      PTSZ, 598, 599) \
	X(DRIVER,  cuMemAllocFromPoolAsync,                ALLOC,     SIZE_2ND,      PTSZ, 611, 612) \
	X(DRIVER,  cuMemAllocManaged,                      ALLOC,     SIZE_2ND,      NONE, 371, 0) \
	X(DRIVER,  cuMemAllocHost_v2,                      ALLOC,     SIZE_2ND,      NONE, 294, 0) \
	X(DRIVER,  cuMemHostAlloc,                         ALLOC,     SIZE_2ND,      NONE, 39,  0) \
	X(DRIVER,  cuMemCreate,                            ALLOC,     SIZE_2ND,      NONE, 549, 0) \
	X(DRIVER,  cuMemAllocPitch_v2,                     ALLOC,     NONE,          NONE, 244, 0) \
	X(DRIVER,  cuMemFree_v2,                           FREE,      NONE,          NONE, 245, 0) \
	X(DRIVER,  cuMemFreeAsync,                         FREE,      NONE,          PTSZ, 600, 601) \
	X(DRIVER,  cuMemFreeHost,                          FREE,      NONE,          NONE, 38,  0) \
	X(DRIVER,  cuMemRelease,                           FREE,      NONE,          NONE, 550, 0) \
	X(DRIVER,  cuModuleLoad,                           MODULE,    NONE,          NONE, 18,  0) \
	X(DRIVER,  cuModuleLoadData,                       MODULE,    NONE,          NONE, 19,  0) \
	X(DRIVER,  cuModuleLoadDataEx,                     MODULE,    NONE,          NONE, 20,  0) \
	X(DRIVER,  cuModuleLoadFatBinary,                  MODULE,    NONE,          NONE, 21,  0) \
	X(DRIVER,  cuLibraryLoadData,                      MODULE,    NONE,          NONE, 678, 0) \
	X(DRIVER,  cuLibraryLoadFromFile,                  MODULE,    NONE,          NONE, 679, 0) \
	X(DRIVER,  cuLinkAddData_v2,                       MODULE,    NONE,          NONE, 382, 0) \
	X(DRIVER,  cuLinkComplete,                         MODULE,    NONE,          NONE, 365, 0)
/* clang-format on */

/*
 * nvcc 13's launch stubs enter through __cudaLaunchKernel[_ptsz], a tail jump to the public symbol: CUPTI
 * may name the call by these ids, which mean cudaLaunchKernel and its twin.
 */
#define GPT_CBID_STUB_LAUNCH 505
#define GPT_CBID_STUB_LAUNCH_PTSZ 506

/*
 * Other ids of calls in the table: X(domain, cbid, the table's cbid).  Besides the stubs: batched memcpys got
 * new arguments, hence new ids, in CUDA 13.0 (runtime 482 is 12.8's and 12.9's, driver 796 is 13.0's _v2).
 */
#define GPT_CUDA_API_ALIASES(X)                                                                                        \
	X(RUNTIME, GPT_CBID_STUB_LAUNCH, 211)                                                                          \
	X(RUNTIME, GPT_CBID_STUB_LAUNCH_PTSZ, 214)                                                                     \
	X(RUNTIME, 482, 509)                                                                                           \
	X(RUNTIME, 483, 510)                                                                                           \
	X(DRIVER, 796, 776)                                                                                            \
	X(DRIVER, 797, 777)

/*
 * Calls that gputrace does not follow. Among CUPTI's own records of calls they bracket a capture: the calls of their
 * thread in between become nodes of a graph. X(domain, symbol, BEGINS or ENDS, cbid, cbid of the twin)
 */
#define GPT_CUDA_CAPTURE_CALLS(X)                                                                                      \
	X(RUNTIME, cudaStreamBeginCapture, BEGINS, 315, 316)                                                           \
	X(RUNTIME, cudaStreamBeginCaptureToGraph, BEGINS, 452, 453)                                                    \
	X(RUNTIME, cudaStreamEndCapture, ENDS, 319, 320)                                                               \
	X(DRIVER, cuStreamBeginCapture, BEGINS, 495, 496)                                                              \
	X(DRIVER, cuStreamBeginCapture_v2, BEGINS, 539, 540)                                                           \
	X(DRIVER, cuStreamBeginCaptureToGraph, BEGINS, 720, 721)                                                       \
	X(DRIVER, cuStreamEndCapture, ENDS, 497, 498)
