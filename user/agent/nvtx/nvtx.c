/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The functions that NVTX calls, on the application's threads: nothing here allocates or waits. Registered strings and
 * domains live in tables that never shrink. A program gets the same results as without a tool.
 */
#include "agent/nvtx/nvtx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "agent/process/thread_id.h"
#include "agent/process/clock.h"
#include "agent/nvtx/nvtx_abi.h"
#include "agent/send/points.h"
#include "agent/nvtx/range_queue.h"

#define STRINGS_MAX 8192u /* registered; 1.7 MB of address space */
#define DOMAINS_MAX 256u
#define TRUNCATION_MARK "..."

struct text {
	uint32_t bytes;
	char text[RANGES_TEXT_MAX];
};

struct domain {
	_Atomic uint32_t ready;
	char name[NVTX_DOMAIN_BYTES];
};

static struct {
	struct text *_Atomic strings;
	_Atomic uint32_t string_count, domain_count;
	struct domain domains[DOMAINS_MAX]; /* number 1 is the first */
	_Atomic uint64_t last_range;
	_Atomic uint32_t fork_registered;
} nvtx;

/* ---- text -------------------------------------------------------------------------------------- */

/* Whether a character of `bytes` bytes and TRUNCATION_MARK after it have room. */
static bool has_room_for(const struct text *out, unsigned bytes)
{
	return out->bytes + bytes + sizeof(TRUNCATION_MARK) - 1 <= RANGES_TEXT_MAX;
}

static void put_truncation_mark(struct text *out)
{
	memcpy(out->text + out->bytes, TRUNCATION_MARK, sizeof(TRUNCATION_MARK) - 1);
	out->bytes += sizeof(TRUNCATION_MARK) - 1;
}

static void take_ascii(struct text *out, const char *from)
{
	size_t bytes = from ? strnlen(from, RANGES_TEXT_MAX + 1) : 0;

	out->bytes = (uint32_t)(bytes <= RANGES_TEXT_MAX ? bytes : RANGES_TEXT_MAX - (sizeof(TRUNCATION_MARK) - 1));
	if (out->bytes)
		memcpy(out->text, from, out->bytes);
	if (bytes > RANGES_TEXT_MAX)
		put_truncation_mark(out);
}

/* Converts to UTF-8; invalid characters become U+FFFD. */
static void take_wide(struct text *out, const wchar_t *from)
{
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	uint32_t c;
	unsigned bytes, i;

	for (out->bytes = 0; from && (c = (uint32_t)*from); from++) {
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = 0xfffd;
		bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		if (!has_room_for(out, bytes)) {
			put_truncation_mark(out);
			return;
		}
		for (i = bytes; i-- > 1; c >>= 6)
			out->text[out->bytes + i] = (char)(0x80 | (c & 0x3f));
		out->text[out->bytes] = (char)(lead[bytes] | c);
		out->bytes += bytes;
	}
}

static void take_registered(struct text *out, const void *handle)
{
	const struct text *strings = atomic_load(&nvtx.strings);
	uintptr_t at = (uintptr_t)handle - (uintptr_t)strings;

	out->bytes = 0;
	if (strings && at < STRINGS_MAX * sizeof(*strings) && at % sizeof(*strings) == 0)
		memcpy(out, handle, sizeof(*out));
}

static void take_message(struct text *out, const struct nvtx_attributes *attributes)
{
	out->bytes = 0;
	if (!attributes || attributes->size < sizeof(*attributes))
		return;
	switch (attributes->message_type) {
	case NVTX_MESSAGE_IS_ASCII:
		take_ascii(out, attributes->message);
		return;
	case NVTX_MESSAGE_IS_WIDE:
		take_wide(out, attributes->message);
		return;
	case NVTX_MESSAGE_IS_REGISTERED:
		take_registered(out, attributes->message);
		return;
	default:
		return;
	}
}

/* ---- events ------------------------------------------------------------------------------------ */

static bool is_wanted(void)
{
	return points_listening() && points_take_ranges();
}

static void report_event(uint16_t what, uint16_t domain, uint64_t id, const struct text *text)
{
	struct range_event event;

	event.time_ns = clock_now_ns();
	event.id = id;
	event.tid = thread_id();
	event.what = what;
	event.domain = domain;
	event.bytes = text ? text->bytes : 0;
	ranges_push(&event, text ? text->text : "");
}

static uint16_t number_of(const void *handle)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)nvtx.domains;

	return at < sizeof(nvtx.domains) && at % sizeof(struct domain) == 0 ? (uint16_t)(at / sizeof(struct domain) + 1)
									    : 0;
}

static uint64_t start_range(uint16_t domain, const struct text *text)
{
	uint64_t id = atomic_fetch_add(&nvtx.last_range, 1) + 1;

	report_event(GPT_AGENT_RANGE_STARTED, domain, id, text);
	return id;
}

/* The three kinds of message: Ex, A, W. */
#define MESSAGES(X)                                                                                                    \
	X(Ex, const struct nvtx_attributes *, take_message)                                                            \
	X(A, const char *, take_ascii)                                                                                 \
	X(W, const wchar_t *, take_wide)

#define DEFINE(suffix, type, take)                                                                                     \
	static void Mark##suffix(type message)                                                                         \
	{                                                                                                              \
		struct text text;                                                                                      \
                                                                                                                       \
		if (!is_wanted())                                                                                      \
			return;                                                                                        \
		take(&text, message);                                                                                  \
		report_event(GPT_AGENT_RANGE_MARK, 0, 0, &text);                                                       \
	}                                                                                                              \
                                                                                                                       \
	static uint64_t RangeStart##suffix(type message)                                                               \
	{                                                                                                              \
		struct text text;                                                                                      \
                                                                                                                       \
		if (!is_wanted())                                                                                      \
			return 0;                                                                                      \
		take(&text, message);                                                                                  \
		return start_range(0, &text);                                                                          \
	}                                                                                                              \
                                                                                                                       \
	static int RangePush##suffix(type message)                                                                     \
	{                                                                                                              \
		struct text text;                                                                                      \
                                                                                                                       \
		if (!is_wanted())                                                                                      \
			return NVTX_NO_TRACKING;                                                                       \
		take(&text, message);                                                                                  \
		report_event(GPT_AGENT_RANGE_PUSHED, 0, 0, &text);                                                     \
		return NVTX_NO_TRACKING;                                                                               \
	}
MESSAGES(DEFINE)

static void RangeEnd(uint64_t id)
{
	if (id && is_wanted())
		report_event(GPT_AGENT_RANGE_ENDED, 0, id, NULL);
}

static int RangePop(void)
{
	if (is_wanted())
		report_event(GPT_AGENT_RANGE_POPPED, 0, 0, NULL);
	return NVTX_NO_TRACKING;
}

static void DomainMarkEx(const void *domain, const struct nvtx_attributes *attributes)
{
	struct text text;

	if (!is_wanted())
		return;
	take_message(&text, attributes);
	report_event(GPT_AGENT_RANGE_MARK, number_of(domain), 0, &text);
}

static uint64_t DomainRangeStartEx(const void *domain, const struct nvtx_attributes *attributes)
{
	struct text text;

	if (!is_wanted())
		return 0;
	take_message(&text, attributes);
	return start_range(number_of(domain), &text);
}

static void DomainRangeEnd(const void *domain, uint64_t id)
{
	RangeEnd(id);
}

static int DomainRangePushEx(const void *domain, const struct nvtx_attributes *attributes)
{
	struct text text;

	if (!is_wanted())
		return NVTX_NO_TRACKING;
	take_message(&text, attributes);
	report_event(GPT_AGENT_RANGE_PUSHED, number_of(domain), 0, &text);
	return NVTX_NO_TRACKING;
}

static int DomainRangePop(const void *domain)
{
	if (is_wanted())
		report_event(GPT_AGENT_RANGE_POPPED, number_of(domain), 0, NULL);
	return NVTX_NO_TRACKING;
}

/* ---- registered strings, domains --------------------------------------------------------------- */

/* Returns NULL, which NVTX takes for no string, if there are too many. */
static const void *keep_string(const struct text *text)
{
	struct text *strings = atomic_load(&nvtx.strings);
	uint32_t index;

	if (!strings || atomic_load(&nvtx.string_count) >= STRINGS_MAX)
		return NULL;
	index = atomic_fetch_add(&nvtx.string_count, 1);
	if (index >= STRINGS_MAX)
		return NULL;
	memcpy(&strings[index], text, sizeof(*text));
	return &strings[index];
}

/* A second domain of the same name is the same domain: a pop may use another handle than its push. */
static const void *keep_domain(const struct text *text)
{
	uint32_t bytes = text->bytes < NVTX_DOMAIN_BYTES ? text->bytes : NVTX_DOMAIN_BYTES - 1, count, i;
	struct domain *domain;

	count = atomic_load(&nvtx.domain_count);
	for (i = 0; i < count && i < DOMAINS_MAX; i++) {
		domain = &nvtx.domains[i];
		if (atomic_load(&domain->ready) && strlen(domain->name) == bytes &&
		    !memcmp(domain->name, text->text, bytes))
			return domain;
	}
	if (count >= DOMAINS_MAX)
		return NULL;
	i = atomic_fetch_add(&nvtx.domain_count, 1);
	if (i >= DOMAINS_MAX)
		return NULL;
	domain = &nvtx.domains[i];
	memcpy(domain->name, text->text, bytes);
	atomic_store(&domain->ready, 1);
	return domain;
}

static const void *DomainRegisterStringA(const void *domain, const char *string)
{
	struct text text;

	take_ascii(&text, string);
	return keep_string(&text);
}

static const void *DomainRegisterStringW(const void *domain, const wchar_t *string)
{
	struct text text;

	take_wide(&text, string);
	return keep_string(&text);
}

static const void *DomainCreateA(const char *name)
{
	struct text text;

	take_ascii(&text, name);
	return keep_domain(&text);
}

static const void *DomainCreateW(const wchar_t *name)
{
	struct text text;

	take_wide(&text, name);
	return keep_domain(&text);
}

const char *nvtx_domain_name(uint32_t number)
{
	return number && number <= DOMAINS_MAX ? nvtx.domains[number - 1].name : "";
}

/* ---- entry ------------------------------------------------------------------------------------- */

static void at_fork_in_child(void)
{
	share_forked();
	thread_id_forked();
	ranges_forked();
}

static bool open_tables(void)
{
	struct text *none = NULL;
	size_t bytes = STRINGS_MAX * sizeof(struct text);
	void *memory;

	if (!ranges_open())
		return false;
	if (!atomic_exchange(&nvtx.fork_registered, 1))
		pthread_atfork(NULL, NULL, at_fork_in_child);
	if (atomic_load(&nvtx.strings))
		return true;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	if (!atomic_compare_exchange_strong(&nvtx.strings, &none, memory))
		munmap(memory, bytes);
	return true;
}

static void put_functions(const struct nvtx_callbacks *callbacks, uint32_t module)
{
#define ROW(module, function, id) {NVTX_MODULE_##module, id, (nvtx_function)(function)},
	static const struct {
		uint32_t module, id;
		nvtx_function function;
	} rows[] = {NVTX_CALLBACKS(ROW)};
#undef ROW
	nvtx_function **table = NULL;
	unsigned count = 0;
	size_t i;

	if (!callbacks->module_table(module, &table, &count) || !table)
		return;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].module == module && rows[i].id < count && table[rows[i].id])
			*table[rows[i].id] = rows[i].function;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
	const struct nvtx_callbacks *callbacks = export_table(NVTX_TABLE_CALLBACKS);

	if (!callbacks || callbacks->size < sizeof(*callbacks) || !callbacks->module_table || !open_tables())
		return 0;
	share_join(NULL);
	put_functions(callbacks, NVTX_MODULE_CORE);
	put_functions(callbacks, NVTX_MODULE_CORE2);
	return 1;
}
