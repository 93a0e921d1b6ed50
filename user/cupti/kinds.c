/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The table of kinds, and what the table cannot express (names, invalid durations); see kinds.h. */
#include "cupti/kinds.h"

#include <stdlib.h>

#include <gputrace/cuda_api.h>

#include "cupti/apis.h"

#define FIELD(member, offset, size, ours, our_size) {offset, size, offsetof(struct RECORD, ours)},
#define FITS(member, offset, size, ours, our_size)                                                                     \
	_Static_assert(sizeof(((struct RECORD *)0)->ours) == our_size && (size) <= our_size, "agent.h: " #ours);
#define END                                                                                                            \
	{                                                                                                              \
		0, 0, 0                                                                                                \
	}

#define RECORD gpt_agent_kernel
CUPTI_KERNEL_FIELDS(FITS)
CUPTI_KERNEL_FIELDS_13_1(FITS)
static const struct field kernel_fields[] = {CUPTI_KERNEL_FIELDS(FIELD) CUPTI_KERNEL_FIELDS_13_1(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_memcpy
CUPTI_MEMCPY_FIELDS(FITS)
CUPTI_MEMCPY2_FIELDS(FITS)
static const struct field memcpy_fields[] = {CUPTI_MEMCPY_FIELDS(FIELD) END};
static const struct field peer_memcpy_fields[] = {CUPTI_MEMCPY2_FIELDS(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_memset
CUPTI_MEMSET_FIELDS(FITS)
static const struct field memset_fields[] = {CUPTI_MEMSET_FIELDS(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_overhead
CUPTI_OVERHEAD_FIELDS(FITS)
CUPTI_OVERHEAD_FIELDS_12_4(FITS)
static const struct field overhead_fields[] = {CUPTI_OVERHEAD_FIELDS(FIELD) CUPTI_OVERHEAD_FIELDS_12_4(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_sync
CUPTI_SYNC_FIELDS(FITS)
CUPTI_SYNC_FIELDS_12_8(FITS)
static const struct field sync_fields[] = {CUPTI_SYNC_FIELDS(FIELD) CUPTI_SYNC_FIELDS_12_8(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_event
CUPTI_EVENT_FIELDS(FITS)
CUPTI_EVENT_FIELDS_12_8(FITS)
static const struct field event_fields[] = {CUPTI_EVENT_FIELDS(FIELD) CUPTI_EVENT_FIELDS_12_8(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_memory
CUPTI_MEMORY_FIELDS(FITS)
static const struct field memory_fields[] = {CUPTI_MEMORY_FIELDS(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_api_activity
CUPTI_API_FIELDS(FITS)
static const struct field api_fields[] = {CUPTI_API_FIELDS(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_jit
CUPTI_JIT_FIELDS(FITS)
CUPTI_JIT_FIELDS_12_4(FITS)
static const struct field jit_fields[] = {CUPTI_JIT_FIELDS(FIELD) CUPTI_JIT_FIELDS_12_4(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_device
CUPTI_DEVICE_FIELDS(FITS)
static const struct field device_fields[] = {CUPTI_DEVICE_FIELDS(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_context
CUPTI_CONTEXT_FIELDS(FITS)
static const struct field context_fields[] = {CUPTI_CONTEXT_FIELDS(FIELD) END};
#undef RECORD
#define RECORD gpt_agent_stream
CUPTI_STREAM_FIELDS(FITS)
static const struct field stream_fields[] = {CUPTI_STREAM_FIELDS(FIELD) END};
#undef RECORD

static char *load_pointer(const uint8_t *record, unsigned offset)
{
	return (char *)(uintptr_t)kind_load(record, offset, sizeof(void *));
}

/* The text that a record points at: in the agent's own memory, or fetched from the source. */
static const char *load_text(struct records *records, const uint8_t *record, unsigned offset)
{
	const char *text = load_pointer(record, offset);

	if (!text || !records->source)
		return text;
	return records->source->read_text(records->source->context, kind_load(record, offset, sizeof(void *)));
}

/* ---- what the tables cannot express ----------------------------------------------------------- */

static const char *load_place(const struct records *records, const uint8_t *record)
{
	if (!records->kernel_place)
		return NULL;
	return records->kernel_place((uint32_t)kind_load(record, CUPTI_KERNEL_CORR, 4),
				     kind_load(record, CUPTI_KERNEL_NODE, 8));
}

static uint32_t kernel_name(struct records *records, const uint8_t *record, size_t *extra)
{
	const char *text = load_text(records, record, CUPTI_KERNEL_NAME);
	struct gpt_agent_name *announced;
	struct name name;

	if (!text) {
		records->stats.names_dropped += load_pointer(record, CUPTI_KERNEL_NAME) != NULL;
		return 0;
	}
	name = names_intern_pair(records->names, text, load_place(records, record));
	if (!name.id || name.truncated)
		records->stats.names_dropped++;
	if (!name.fresh)
		return name.id;
	announced = batch_add(records->batch, GPT_AGENT_NAME, sizeof(*announced) + name.bytes);
	announced->id = name.id;
	announced->bytes = name.bytes;
	memcpy(announced->text, name.text, name.bytes);
	return name.id;
}

static void kernel_finish(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried)
{
	((struct gpt_agent_kernel *)ours)->name = carried;
}

static void memcpy_finish(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried)
{
	struct gpt_agent_memcpy *copy = ours;

	copy->is_async &= CUPTI_MEMCPY_FLAG_ASYNC;
	copy->from_device = copy->to_device = copy->device;
}

static void peer_memcpy_finish(struct records *records, const uint8_t *record, size_t bytes, void *ours,
			       uint32_t carried)
{
	((struct gpt_agent_memcpy *)ours)->is_async &= CUPTI_MEMCPY_FLAG_ASYNC;
}

static void overhead_finish(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried)
{
	/* how records of another client name threads is that client's choice: cuptiSetThreadIdType */
	if (records->source || kind_load(record, CUPTI_OVERHEAD_OBJECT_KIND, 4) != CUPTI_OBJECT_THREAD)
		((struct gpt_agent_overhead *)ours)->tid = 0;
	if (bytes >= CUPTI_OVERHEAD_DATA + sizeof(void *) && !records->source)
		free(load_pointer(record, CUPTI_OVERHEAD_DATA));
}

static void memory_finish(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried)
{
	struct gpt_agent_memory *memory = ours;

	if (kind_load(record, CUPTI_MEMORY_POOL_TYPE, 4) != CUPTI_POOL_LOCAL)
		memory->pool_bytes = memory->pool_used_bytes = 0;
}

static uint16_t api_of(const uint8_t *record)
{
	bool driver = kind_load(record, 0, 4) == CUPTI_KIND_DRIVER;

	return apis_of(driver ? GPT_DOMAIN_DRIVER : GPT_DOMAIN_RUNTIME, (uint32_t)kind_load(record, CUPTI_API_CBID, 4));
}

static bool api_wants(const struct records *records, const uint8_t *record)
{
	unsigned class = apis_class(api_of(record));

	return class < GPT_CLASS_COUNT && (records->call_classes >> class & 1);
}

static void api_finish(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried)
{
	((struct gpt_agent_api_activity *)ours)->api = api_of(record);
}

/* GPU names are short ("NVIDIA H200"); the bound limits the damage of a broken pointer. */
#define DEVICE_NAME_MAX 256u

static uint32_t device_name(struct records *records, const uint8_t *record, size_t *extra)
{
	const char *text = load_text(records, record, CUPTI_DEVICE_NAME);

	*extra = text ? strnlen(text, DEVICE_NAME_MAX) : 0;
	return (uint32_t)*extra;
}

static void device_finish(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried)
{
	struct gpt_agent_device *device = ours;
	const char *name = carried ? load_text(records, record, CUPTI_DEVICE_NAME) : NULL;

	records->devices_seen++;
	device->max_threads_per_multiprocessor *= device->warp_size; /* CUPTI gives warps */
	if (device->mig)
		memcpy(device->uuid, record + CUPTI_DEVICE_MIG_UUID, sizeof(device->uuid));
	device->bytes = name ? carried : 0;
	if (name)
		memcpy(device->name, name, carried);
}

/* ---- kinds ------------------------------------------------------------------------------------ */

#define COUNTER(member) offsetof(struct gpt_agent_stats, member)
#define TIMES(record) offsetof(struct record, start_wall_ns)
#define TIME(record) (KIND_INSTANT | offsetof(struct record, time_wall_ns))

static const struct kind kinds[] = {
	{CUPTI_KIND_CONCURRENT_KERNEL, GPT_AGENT_KERNEL, CUPTI_KERNEL_MIN, sizeof(struct gpt_agent_kernel),
	 COUNTER(kernels), CUPTI_KERNEL_CORR, TIMES(gpt_agent_kernel), kernel_fields, NULL, kernel_name, kernel_finish},
	{CUPTI_KIND_MEMCPY, GPT_AGENT_MEMCPY, CUPTI_MEMCPY_MIN, sizeof(struct gpt_agent_memcpy), COUNTER(memcpys),
	 CUPTI_MEMCPY_CORR, TIMES(gpt_agent_memcpy), memcpy_fields, NULL, NULL, memcpy_finish},
	{CUPTI_KIND_MEMCPY2, GPT_AGENT_MEMCPY, CUPTI_MEMCPY2_MIN, sizeof(struct gpt_agent_memcpy), COUNTER(memcpys),
	 CUPTI_MEMCPY2_CORR, TIMES(gpt_agent_memcpy), peer_memcpy_fields, NULL, NULL, peer_memcpy_finish},
	{CUPTI_KIND_MEMSET, GPT_AGENT_MEMSET, CUPTI_MEMSET_MIN, sizeof(struct gpt_agent_memset), COUNTER(memsets),
	 CUPTI_MEMSET_CORR, TIMES(gpt_agent_memset), memset_fields, NULL, NULL, NULL},
	{CUPTI_KIND_OVERHEAD, GPT_AGENT_OVERHEAD, CUPTI_OVERHEAD_MIN, sizeof(struct gpt_agent_overhead),
	 COUNTER(others), 0, TIMES(gpt_agent_overhead), overhead_fields, NULL, NULL, overhead_finish},
	{CUPTI_KIND_SYNCHRONIZATION, GPT_AGENT_SYNC, CUPTI_SYNC_MIN, sizeof(struct gpt_agent_sync), COUNTER(others),
	 CUPTI_SYNC_CORR, TIMES(gpt_agent_sync), sync_fields, NULL, NULL, NULL},
	{CUPTI_KIND_CUDA_EVENT, GPT_AGENT_EVENT, CUPTI_EVENT_MIN, sizeof(struct gpt_agent_event), COUNTER(others),
	 CUPTI_EVENT_CORR, 0, event_fields, NULL, NULL, NULL},
	{CUPTI_KIND_MEMORY2, GPT_AGENT_MEMORY, CUPTI_MEMORY_MIN, sizeof(struct gpt_agent_memory), COUNTER(others),
	 CUPTI_MEMORY_CORR, TIME(gpt_agent_memory), memory_fields, NULL, NULL, memory_finish},
	{CUPTI_KIND_RUNTIME, GPT_AGENT_API_ACTIVITY, CUPTI_API_MIN, sizeof(struct gpt_agent_api_activity),
	 COUNTER(others), CUPTI_API_CORR, TIMES(gpt_agent_api_activity), api_fields, api_wants, NULL, api_finish},
	{CUPTI_KIND_DRIVER, GPT_AGENT_API_ACTIVITY, CUPTI_API_MIN, sizeof(struct gpt_agent_api_activity),
	 COUNTER(others), CUPTI_API_CORR, TIMES(gpt_agent_api_activity), api_fields, api_wants, NULL, api_finish},
	{CUPTI_KIND_JIT, GPT_AGENT_JIT, CUPTI_JIT_MIN, sizeof(struct gpt_agent_jit), COUNTER(others), CUPTI_JIT_CORR,
	 TIMES(gpt_agent_jit), jit_fields, NULL, NULL, NULL},
	{CUPTI_KIND_DEVICE, GPT_AGENT_DEVICE, CUPTI_DEVICE_MIN, sizeof(struct gpt_agent_device), COUNTER(others), 0, 0,
	 device_fields, NULL, device_name, device_finish},
	{CUPTI_KIND_CONTEXT, GPT_AGENT_CONTEXT, CUPTI_CONTEXT_MIN, sizeof(struct gpt_agent_context), COUNTER(others), 0,
	 0, context_fields, NULL, NULL, NULL},
	{CUPTI_KIND_STREAM, GPT_AGENT_STREAM, CUPTI_STREAM_MIN, sizeof(struct gpt_agent_stream), COUNTER(others), 0, 0,
	 stream_fields, NULL, NULL, NULL},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/*
 * MEMCPY2 comes with MEMCPY; CUDA_EVENT, before 12.9, with SYNCHRONIZATION (11.8 refuses it).  The API kinds (RUNTIME,
 * DRIVER) are used only where the agent cannot have its own callback, which gives the times.  They come last, so that
 * no call is reported without its GPU work.  They are enabled as a whole: cuptiActivityEnableRuntimeApi (12.5 and
 * later) could select calls, but its selection outlasts the session, and undoing it during another client's session
 * would take it away from that client.  To check on hardware: NVIDIA's guide (13.4) says that correlation ids are
 * filled only while an API kind is on; other tools in production do without.  If kind 10 alone leaves correlationId 0,
 * enable an API kind always.
 */
/* clang-format off */
const struct records_kind records_kinds[RECORDS_KINDS] = {
	{CUPTI_KIND_DEVICE, GPT_AGENT_SET_COUNT, false, true},
	{CUPTI_KIND_CONTEXT, GPT_AGENT_SET_COUNT, false, true},
	{CUPTI_KIND_STREAM, GPT_AGENT_SET_COUNT, false, true},
	{CUPTI_KIND_CONCURRENT_KERNEL, GPT_AGENT_SET_COUNT, false, false},
	{CUPTI_KIND_MEMCPY, GPT_AGENT_SET_CUDA, false, false},
	{CUPTI_KIND_MEMSET, GPT_AGENT_SET_CUDA, false, false},
	{CUPTI_KIND_OVERHEAD, GPT_AGENT_SET_CUDA, false, false},
	{CUPTI_KIND_SYNCHRONIZATION, GPT_AGENT_SET_SYNC, false, false},
	{CUPTI_KIND_CUDA_EVENT, GPT_AGENT_SET_SYNC, false, false},
	{CUPTI_KIND_MEMORY2, GPT_AGENT_SET_MEMORY, false, true},
	{CUPTI_KIND_JIT, GPT_AGENT_SET_CUDA, false, true},
	{CUPTI_KIND_RUNTIME, GPT_AGENT_SET_COUNT, true, false},
	{CUPTI_KIND_DRIVER, GPT_AGENT_SET_COUNT, true, false},
};
/* clang-format on */

const struct kind *kind_find(uint32_t number)
{
	size_t i;

	for (i = 0; i < KIND_COUNT; i++)
		if (kinds[i].kind == number)
			return &kinds[i];
	return NULL;
}
