/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Runs on the application's threads: nothing here allocates, and the layout of everything read was checked before. */
#include "agent/torch/collectives.h"

#include <dlfcn.h>
#include <string.h>

#include <gputrace/values.h>

#include "agent/process/old_glibc.h"

#define ROOM 512u /* for torch::ParamCommsDebugInfo */
#define NAME_MAX_KEPT 256u
#define LIST_MAX 30u /* torch.profiler writes longer lists as their first 29 elements and the last one */

#define SEPARATOR_BYTES (sizeof(GPT_COLLECTIVE_SEPARATOR) - 1)

#define CONSTRUCTOR                                                                                                    \
	"_ZN5torch19ParamCommsDebugInfoC1ESt5tupleIJNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES7_EEiOS7_ll"  \
	"N3c1010ScalarTypeESt6vectorIlSaIlEESE_iii"

/* libstdc++'s std::string and std::vector<int64_t>. */
struct cxx_string {
	const char *data;
	uint64_t size;
	char own[16];
};

struct cxx_numbers {
	const int64_t *begin, *end;
};

static struct {
	const struct torch_layout *layout;
	void *(*get)(void *kind);
	void *kind;
	const void *vtable; /* at the address that objects store */
} collectives;

/* ---- what is there ------------------------------------------------------------------------------ */

static const void *member_at(const void *comms, unsigned offset)
{
	return (const char *)comms + offset;
}

static int64_t number_at(const void *comms, unsigned offset)
{
	int64_t value;

	memcpy(&value, member_at(comms, offset), sizeof(value));
	return value;
}

static int32_t integer_at(const void *comms, unsigned offset)
{
	int32_t value;

	memcpy(&value, member_at(comms, offset), sizeof(value));
	return value;
}

static uint8_t byte_at(const void *comms, unsigned offset)
{
	return *(const uint8_t *)member_at(comms, offset);
}

static bool is_string(const struct cxx_string *string, const char *text)
{
	return string->size == strlen(text) && !memcmp(string->data, text, string->size);
}

/* ---- as text ------------------------------------------------------------------------------------ */

struct writer {
	char *text;
	size_t used; /* never more than COLLECTIVE_TEXT_MAX: every item is bounded */
};

static void put_bytes(struct writer *out, const char *bytes, size_t count)
{
	memcpy(out->text + out->used, bytes, count);
	out->used += count;
}

static void end_field(struct writer *out)
{
	put_bytes(out, GPT_COLLECTIVE_SEPARATOR, SEPARATOR_BYTES);
}

static void put_digits(struct writer *out, int64_t value)
{
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[20], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		put_bytes(out, "-", 1);
	put_bytes(out, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_number(struct writer *out, int64_t value)
{
	put_digits(out, value);
	end_field(out);
}

static void put_string(struct writer *out, const struct cxx_string *string)
{
	uint64_t i, size = string->size < NAME_MAX_KEPT ? string->size : NAME_MAX_KEPT;

	for (i = 0; i < size; i++)
		out->text[out->used++] = string->data[i] ? string->data[i] : ' ';
	end_field(out);
}

static void put_list(struct writer *out, const struct cxx_numbers *list)
{
	uint64_t count = (uint64_t)(list->end - list->begin), i;

	put_bytes(out, "[", 1);
	for (i = 0; i < count; i++) {
		if (i)
			put_bytes(out, ", ", 2);
		if (count > LIST_MAX && i == LIST_MAX - 1) {
			put_bytes(out, "..., ", 5);
			i = count - 1;
		}
		put_digits(out, list->begin[i]);
	}
	put_bytes(out, "]", 1);
	end_field(out);
}

/* The peer's global rank of a send or a receive. */
static int64_t peer_of(const void *comms)
{
	const struct torch_layout *layout = collectives.layout;
	const struct cxx_string *name = member_at(comms, layout->comms_name);
	const struct cxx_numbers *ranks = member_at(comms, layout->comms_ranks);
	int32_t rank = integer_at(comms, layout->comms_rank);

	if (!is_string(name, "send") && !is_string(name, "recv"))
		return -1;
	return rank >= 0 && rank < ranks->end - ranks->begin ? ranks->begin[rank] : -1;
}

/* The order is that of enum gpt_collective_field. */
static size_t write_text(char *text, const void *comms)
{
	const struct torch_layout *layout = collectives.layout;
	struct writer out = {.text = text};

	put_string(&out, member_at(comms, layout->comms_name));
	put_string(&out, member_at(comms, layout->comms_group_name));
	put_string(&out, member_at(comms, layout->comms_group_description));
	put_list(&out, member_at(comms, layout->comms_ranks));
	put_list(&out, member_at(comms, layout->comms_in_split));
	put_list(&out, member_at(comms, layout->comms_out_split));
	put_number(&out, number_at(comms, layout->comms_in_elements));
	put_number(&out, number_at(comms, layout->comms_out_elements));
	put_number(&out, byte_at(comms, layout->comms_dtype));
	put_number(&out, integer_at(comms, layout->comms_rank));
	put_number(&out, integer_at(comms, layout->comms_group_size));
	put_number(&out, integer_at(comms, layout->comms_rank_start));
	put_number(&out, integer_at(comms, layout->comms_rank_stride));
	put_number(&out, peer_of(comms));
	put_number(&out, layout->comms_point_to_point ? byte_at(comms, layout->comms_point_to_point) != 0 : -1);
	put_number(&out, layout->comms_async ? byte_at(comms, layout->comms_async) != 0 : -1);
	return out.used - SEPARATOR_BYTES;
}

size_t collectives_text(char text[COLLECTIVE_TEXT_MAX], int64_t *sequence)
{
	const struct torch_layout *layout = collectives.layout;
	const void *comms = layout ? collectives.get(collectives.kind) : NULL;

	if (!comms || *(const void *const *)comms != collectives.vtable)
		return 0;
	*sequence = layout->comms_sequence ? number_at(comms, layout->comms_sequence) : -1;
	return write_text(text, comms);
}

/* ---- its layout --------------------------------------------------------------------------------- */

static struct cxx_string *string_make(struct cxx_string *string, const char *text)
{
	string->data = string->own;
	string->size = strlen(text);
	strcpy(string->own, text);
	return string;
}

static bool is_list(const struct cxx_numbers *list, const int64_t *numbers, size_t count)
{
	return (size_t)(list->end - list->begin) == count &&
	       (!count || !memcmp(list->begin, numbers, count * sizeof(*numbers)));
}

static bool is_as_expected(const struct torch_layout *layout, const void *comms)
{
	static const int64_t ranks[] = {5, 7, 9};

	return *(const void *const *)comms == collectives.vtable &&
	       is_string(member_at(comms, layout->comms_group_name), "a group") &&
	       is_string(member_at(comms, layout->comms_group_description), "its description") &&
	       is_string(member_at(comms, layout->comms_name), "a collective") &&
	       integer_at(comms, layout->comms_rank) == 1 && integer_at(comms, layout->comms_group_size) == 3 &&
	       number_at(comms, layout->comms_in_elements) == 1001 &&
	       number_at(comms, layout->comms_out_elements) == 1002 && byte_at(comms, layout->comms_dtype) == 7 &&
	       is_list(member_at(comms, layout->comms_in_split), NULL, 0) &&
	       is_list(member_at(comms, layout->comms_out_split), NULL, 0) &&
	       integer_at(comms, layout->comms_rank_start) == 5 && integer_at(comms, layout->comms_rank_stride) == 2 &&
	       is_list(member_at(comms, layout->comms_ranks), ranks, 3) &&
	       (!layout->comms_async || byte_at(comms, layout->comms_async) == 1) &&
	       (!layout->comms_sequence || number_at(comms, layout->comms_sequence) == -1) &&
	       (!layout->comms_point_to_point || byte_at(comms, layout->comms_point_to_point) == 0);
}

/* Classes are passed by address, and arguments are moved from; the last argument exists since 2.12. */
typedef void (*constructor)(void *self, struct cxx_string names[2], int rank, struct cxx_string *name,
			    int64_t in_elements, int64_t out_elements, int8_t dtype, struct cxx_numbers *in_split,
			    struct cxx_numbers *out_split, int rank_start, int rank_stride, int group_size,
			    bool is_async);

static bool check_layout(const struct torch_layout *layout, constructor construct)
{
	uint8_t comms[ROOM] __attribute__((aligned(16)));
	struct cxx_string names[2], name; /* libstdc++ stores the elements of a tuple in reverse order */
	struct cxx_numbers in_split = {0}, out_split = {0};
	void (*const *functions)(void *self) = collectives.vtable;
	bool right;

	memset(comms, 0xa5, sizeof(comms));
	string_make(&names[0], "its description");
	string_make(&names[1], "a group");
	construct(comms, names, 1, string_make(&name, "a collective"), 1001, 1002, 7, &in_split, &out_split, 5, 2, 3,
		  true);
	right = is_as_expected(layout, comms);
	if (right)
		functions[0](comms); /* the complete destructor, by the C++ ABI's order */
	return right;
}

bool collectives_open(const struct torch *torch)
{
	const struct torch_layout *layout = torch->layout;
	constructor construct;
	const char *vtable;
	void **kind;

	collectives.layout = NULL;
	if (!layout->comms_bytes || layout->comms_bytes > ROOM)
		return false;
	*(void **)&construct = dlsym(torch->handle, CONSTRUCTOR "b");
	if (!construct)
		*(void **)&construct = dlsym(torch->handle, CONSTRUCTOR);
	*(void **)&collectives.get = dlsym(torch->handle, "_ZN3c1020ThreadLocalDebugInfo3getENS_13DebugInfoKindE");
	kind = dlsym(torch->handle, "_ZN3c1013DebugInfoKind16PARAM_COMMS_INFOE");
	vtable = dlsym(torch->handle, "_ZTVN5torch19ParamCommsDebugInfoE");
	if (!construct || !collectives.get || !vtable || (!kind && !layout->comms_kind))
		return false;
	collectives.kind = kind ? *kind : (void *)(uintptr_t)layout->comms_kind;
	collectives.vtable = vtable + 2 * sizeof(void *); /* after the offset to the top and the type */
	if (check_layout(layout, construct))
		collectives.layout = layout;
	return collectives.layout != NULL;
}
