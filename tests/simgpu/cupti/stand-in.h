/*
 * stand-in.h: declarations that the files of the simulated libcupti share. The core calls `tool_*`;
 * `records_*` makes records, `buffers_*` delivers them to the client, `layout_*` knows their sizes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "../core/sim.h"

#define LOCAL __attribute__((visibility("hidden")))
#define KIND_LIMIT 64
#define RECORD_MAX 256

/* ---- layout.c ---- */
LOCAL uint32_t layout_version(void);	 /* returned by cuptiGetVersion */
LOCAL size_t layout_size(uint32_t kind); /* 0: a kind that has no records here */

/* ---- clock.c ---- */
LOCAL uint64_t clock_now(void);		     /* the client's clock, or CLOCK_REALTIME */
LOCAL uint64_t clock_convert(uint64_t mono); /* GPU time to that clock */

/* ---- kinds.c ---- */
LOCAL bool kind_enabled(uint32_t kind);
LOCAL bool kinds_any_enabled(void);
LOCAL bool pool_is_limited(void); /* a client has set DEVICE_BUFFER_POOL_LIMIT */
LOCAL bool api_recorded(enum sim_api_domain domain, uint32_t cbid);
LOCAL uint32_t thread_id(void);
LOCAL bool buffers_per_thread(void); /* the attribute's value; the client may set it */

/* ---- subscribe.c ---- */
LOCAL void subscriber_api(struct sim_api *call, int exiting);
LOCAL void subscriber_resource(uint32_t cbid, const struct sim_resource *resource);

/* ---- external.c ---- */
LOCAL void external_emit(uint32_t correlation);

struct buffers_queue; /* the queue of a thread's buffers */

/* ---- faults.c ---- */
enum fault_times { TIMES_RIGHT, TIMES_NONE, TIMES_BACKWARDS };

LOCAL enum fault_times faults_of_kernel(void); /* of the next kernel record */
LOCAL void faults_clock_registered(void);
LOCAL bool faults_clock_falls(void);				   /* the next GPU record has CUPTI's own clock */
LOCAL void faults_enable(uint32_t kind);			   /* returns when the kind may be enabled */
LOCAL void faults_enable_callback(uint32_t domain, uint32_t cbid); /* the same for a callback */
LOCAL bool faults_dropped(void);				   /* the count of dropped records is not available */

/* ---- records.c ---- */
LOCAL void records_emit(void *record); /* its length follows from its kind */
LOCAL void records_work(const struct sim_work *work, enum sim_fate fate, struct buffers_queue *queue);
LOCAL size_t records_work_size(const struct sim_work *work);
LOCAL uint32_t records_work_kind(const struct sim_work *work);
LOCAL void records_device(int device);
LOCAL void records_context(CUcontext context);
LOCAL void records_stream(CUstream stream);

/* ---- buffers.c ---- */
LOCAL void buffers_register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
LOCAL bool buffers_append(const void *record, size_t size); /* false: no buffer; counts the record as dropped */
/* Requests a buffer on this thread if needed. The caller must write the reserved bytes. */
LOCAL struct buffers_queue *buffers_reserve(size_t size);
LOCAL void buffers_append_reserved(struct buffers_queue *queue, const void *record, size_t size);
LOCAL void buffers_hand_over(bool all);
LOCAL void buffers_drop(void);	      /* counts one lost record */
LOCAL uint64_t buffers_dropped(void); /* returns the count and clears it */
LOCAL void buffers_forked(void);

/* ---- delivery.c ---- */
LOCAL void delivery_start(void);
LOCAL void delivery_add(const struct sim_work *work, enum sim_fate fate, struct buffers_queue *queue);
LOCAL void delivery_flush(bool forced);
