/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds PyTorch by its file name. Whatever is not certain is refused, never guessed. See torch.h. */
#include "agent/torch/torch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/values.h>

#include "agent/process/old_glibc.h"
#include "agent/process/own_maps.h"
#include "agent/process/path.h"

#define NAME "libtorch_cpu.so"
#define ROOM 2048u /* for an op of any known version */
#define MARGIN 64u
#define COPIES 16u /* the most copies that are examined */
#define FILL 0xa5
#define CHECKED_SCOPE 7u /* GPT_AGENT_OP_USER_SCOPE: differs from an empty op's */

/* ---- which ------------------------------------------------------------------------------------- */

static bool is_torch(const char *path)
{
	return path_names(path, NAME);
}

/* The copy with that index, in the loader's order. */
struct wanted_copy {
	struct torch *torch;
	unsigned left;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted_copy *wanted = context;

	if (!info->dlpi_name || !is_torch(info->dlpi_name) || strlen(info->dlpi_name) >= sizeof(wanted->torch->path) ||
	    wanted->left--)
		return 0;
	strcpy(wanted->torch->path, info->dlpi_name);
	return 1;
}

static void count_code(char *line, void *copies)
{
	const char *path = strchr(line, '/'), *access = strchr(line, ' ');

	*(unsigned *)copies += path && access && strnlen(access, 4) == 4 && access[3] == 'x' && is_torch(path);
}

/* Counts mappings: the loader does not list libraries in another namespace (dlmopen). */
unsigned torch_copies(void)
{
	unsigned copies = 0;

	own_maps_each(count_code, &copies);
	return copies;
}

uint32_t torch_version_of_name(const char *path)
{
	const char *at = path_base(path);
	unsigned long major, minor;
	char *end;

	if (strncmp(at, NAME ".", strlen(NAME ".")))
		return 0;
	major = strtoul(at + strlen(NAME "."), &end, 10);
	if (*end != '.')
		return 0;
	minor = strtoul(end + 1, &end, 10);
	if (!major || major > 255 || minor > 255)
		return 0;
	return (uint32_t)(major << 16 | minor << 8);
}

uint32_t torch_version_of_text(const char *text)
{
	static const char key[] = "__version__ = '";
	const char *at = strstr(text, key);
	unsigned long part[3];
	char *end;
	int i;

	if (!at)
		return 0;
	at += sizeof(key) - 1;
	for (i = 0; i < 3; i++, at = end + 1) {
		part[i] = strtoul(at, &end, 10);
		if (end == at || part[i] > 255 || (i < 2 && *end != '.'))
			return 0;
	}
	return (uint32_t)(part[0] << 16 | part[1] << 8 | part[2]);
}

/* A wheel has torch/lib/libtorch_cpu.so and torch/version.py. */
static uint32_t version_of_package(const char *path)
{
	char text[1024], file[sizeof(((struct torch *)0)->path) + 16];
	ssize_t length;
	int fd;

	snprintf(file, sizeof(file), "%.*s../version.py", (int)(path_base(path) - path), path);
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return torch_version_of_text(text);
}

/*
 * From 2.9 on PyTorch has a function for it; Debian has it in file names, wheels in a file next to the library. Any of
 * them may be wrong: the resulting layout is checked.
 */
static uint32_t find_version(const struct torch *torch)
{
	uint64_t (*read_version)(void), version;
	uint32_t named;

	*(void **)&read_version = dlsym(torch->handle, "aoti_torch_abi_version");
	version = read_version ? read_version() : 0;
	if (version)
		return (uint32_t)(version >> 40); /* major, minor, patch: one byte each */
	named = torch_version_of_name(torch->path);
	return named ? named : version_of_package(torch->path);
}

/* c10::detail::torchCheckFail takes a std::string; its mangled name shows the ABI. */
static bool has_old_strings(const struct torch *torch)
{
	return dlsym(torch->handle, "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs");
}

/* ---- its functions ----------------------------------------------------------------------------- */

bool torch_find(const struct torch *torch, const struct torch_symbol *wanted, size_t count)
{
	void *found;
	size_t i;

	for (i = 0; i < count; i++) {
		found = dlsym(torch->handle, wanted[i].name);
		if (!found)
			return false;
		memcpy(wanted[i].pointer, &found, sizeof(found));
	}
	return true;
}

static bool find_functions(struct torch *torch)
{
	const struct torch_symbol wanted[] = {
		{&torch->add, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"},
		{&torch->remove, "_ZN2at14removeCallbackEm"},
		{&torch->name, "_ZNK2at14RecordFunction4nameEv"},
		{&torch->thread, "_ZN2at14RecordFunction15currentThreadIdEv"},
		{&torch->construct, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE"},
		{&torch->destroy, "_ZN2at14RecordFunctionD1Ev"},
		{&torch->set_async, "_ZN2at14RecordFunction9_setAsyncEv"},
	};

	return torch_find(torch, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

void torch_name(const struct torch *torch, char *name, size_t size)
{
	if (torch->version)
		snprintf(name, size, "PyTorch %u.%u.%u", torch->version >> 16, torch->version >> 8 & 255,
			 torch->version & 255);
	else
		snprintf(name, size, "a PyTorch that does not say its version");
}

static enum torch_answer refuse_torch(struct torch *torch)
{
	dlclose(torch->handle);
	torch->handle = NULL;
	return TORCH_REFUSED;
}

static enum torch_answer open_copy(struct torch *torch, unsigned number, char *why, size_t why_size)
{
	struct wanted_copy wanted = {torch, number};
	char name[48];

	memset(torch, 0, sizeof(*torch));
	dl_iterate_phdr(look_at, &wanted);
	if (!torch->path[0])
		return TORCH_NONE;
	torch->handle = dlopen(torch->path, RTLD_NOW | RTLD_NOLOAD);
	if (!torch->handle)
		return TORCH_NONE; /* unloaded meanwhile */
	torch->version = find_version(torch);
	torch->layout = torch_layout(torch->version, has_old_strings(torch));
	torch_name(torch, name, sizeof(name));
#if !defined(__x86_64__)
	snprintf(why, why_size, "not on this kind of machine yet");
	return refuse_torch(torch);
#endif
	if (!torch->layout || torch->layout->callback_bytes != TORCH_CALLBACK_BYTES ||
	    torch->layout->op_bytes > ROOM - MARGIN) {
		snprintf(why, why_size, "%s is not known to this gputrace", name);
		return refuse_torch(torch);
	}
	if (!find_functions(torch)) {
		snprintf(why, why_size, "%s does not export what an observer needs", name);
		return refuse_torch(torch);
	}
	return TORCH_READY;
}

enum torch_answer torch_open(struct torch *torch, char *why, size_t why_size)
{
	enum torch_answer answer = open_copy(torch, 0, why, why_size);
	struct torch further;
	char why_not[160];
	unsigned number;

	for (number = 1; answer == TORCH_REFUSED && number < COPIES; number++)
		if (open_copy(&further, number, why_not, sizeof(why_not)) == TORCH_READY) {
			*torch = further;
			answer = TORCH_READY;
		}
	return answer;
}

void torch_close(struct torch *torch)
{
	if (torch->handle)
		dlclose(torch->handle);
	torch->handle = NULL;
}

/* ---- its layout -------------------------------------------------------------------------------- */

static uint64_t read_member(const uint8_t *op, unsigned offset)
{
	uint64_t value;

	memcpy(&value, op + offset, sizeof(value));
	return value;
}

static bool is_as_expected(const struct torch *torch, const uint8_t *op)
{
	const struct torch_layout *layout = torch->layout;
	uint64_t thread = torch->thread();
	unsigned i;

	for (i = 0; i < MARGIN; i++)
		if (op[layout->op_bytes + i] != FILL)
			return false;
	return op[layout->op_scope] == CHECKED_SCOPE && thread && read_member(op, layout->op_thread) == thread &&
	       read_member(op, layout->op_sequence) == UINT64_MAX && !read_member(op, layout->op_inputs) &&
	       !read_member(op, layout->op_inputs + 8) && !read_member(op, layout->op_forward_thread) &&
	       !read_member(op, layout->op_handle) && !op[layout->op_async] &&
	       read_member(op, layout->op_debug_handle) == UINT64_MAX;
}

bool torch_check(const struct torch *torch, char *why, size_t why_size)
{
	uint8_t op[ROOM] __attribute__((aligned(16)));
	uint8_t before[ROOM];
	char name[48];
	bool right;

	memset(op, FILL, sizeof(op));
	torch->construct(op, CHECKED_SCOPE);
	right = is_as_expected(torch, op) && !strcmp(torch->name(op), "");
	memcpy(before, op, sizeof(before));
	before[torch->layout->op_async] = 1;
	torch->set_async(op);
	right = right && !memcmp(op, before, sizeof(op));
	torch->destroy(op);
	if (right)
		return true;
	torch_name(torch, name, sizeof(name));
	snprintf(why, why_size, "the ops of %s are not laid out as in its headers", name);
	return false;
}

struct torch_callback torch_callback_make(const struct torch_layout *layout, void *start, void *end, bool needs_inputs,
					  enum torch_scopes scopes)
{
	struct torch_callback callback = {{0}};
	double always = 1.0;

	memcpy(callback.bytes + layout->callback_start, &start, sizeof(start));
	memcpy(callback.bytes + layout->callback_end, &end, sizeof(end));
	memcpy(callback.bytes + layout->callback_probability, &always, sizeof(always));
	if (scopes == TORCH_ALL_SCOPES)
		memset(callback.bytes + layout->callback_scopes, 1, layout->callback_scope_count);
	else
		callback.bytes[layout->callback_scopes + GPT_AGENT_OP_USER_SCOPE] = 1;
	callback.bytes[layout->callback_needs_inputs] = needs_inputs;
	return callback;
}
