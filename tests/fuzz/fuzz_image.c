/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: any bytes as an ELF file, through every function that reads one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/image.h"
#include "target/function.h"
#include "target/library.h"
#include "target/python/python_events.h"
#include "target/python/python_internal.h"
#include "target/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t probes[] = {0, 1, 0xfff, 0x1000, 0x2000, 0x401000, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};

static int touch_symbol(const struct image_symbol *symbol, void *context)
{
	*(size_t *)context += strlen(symbol->name) + symbol->address;
	return 0;
}

static void read_addresses(struct image *image)
{
	struct image_symbol symbol;
	struct probe_site site;
	uint64_t value;
	char bytes[64];

	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		struct mapping mapping = {
			.start = probes[i],
			.end = probes[i] + 1,
			.offset = probes[i] & ~0xfffull,
			.path = "",
			.executable = i & 1,
		};

		if (image_symbol_at(image, probes[i], &symbol) == 0 && symbol.name[0] == '\0')
			abort();
		if (image_file_offset(image, probes[i], &value) == 0 && image_read(image, probes[i], bytes, 1))
			abort(); /* the offset is not in the file */
		image_bias(image, &mapping, &value);
		image_read(image, probes[i], bytes, sizeof(bytes));
		site_choose(image, probes[i], &site);
	}
}

static int read_note(const struct usdt_note *note, void *context)
{
	struct gpt_py_arg arg;

	*(size_t *)context += strlen(note->provider) + strlen(note->name);
	for (unsigned i = 0; i < 12; i++)
		if (usdt_argument(note->arguments, i, &arg) == 0 && arg.kind == GPT_PY_ARG_NONE)
			abort(); /* an argument without a location */
	return 0;
}

static int read_function(const struct image_symbol *symbol, void *context)
{
	const struct image *image = context;
	function_sites sites;

	if (function_exits(image, symbol, &sites) == 0)
		array_free(&sites);
	if (function_returns_of(image, symbol, "helper", &sites) == 0)
		array_free(&sites);
	return 0;
}

static void read_interpreter(const struct image *image)
{
	struct python_sites sites;
	uint64_t offset;

	for (uint16_t minor = 6; minor < 16; minor++) {
		python_events_find(image, (uint16_t)(3 << 8 | minor), &sites);
		for (size_t i = 0; i < sites.list.count; i++)
			if (image_file_offset(image, sites.list.items[i].address, &offset))
				abort();
		python_sites_free(&sites);
		if (python_calls_find(image, (uint16_t)(3 << 8 | minor), &sites) == 0)
			python_sites_free(&sites);
	}
	image_each_symbol(image, read_function, (void *)(uintptr_t)image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum library_kind kinds[] = {LIBRARY_CUDA, LIBRARY_CUDART};
	struct python_version version;
	struct library_sites sites;
	struct image_symbol symbol;
	struct image *image;
	size_t sum = 0;
	char why[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	usdt_each(data, size, read_note, &sum);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (image_open(fd, &image))
		return 0;
	image_each_symbol(image, touch_symbol, &sum);
	image_symbol(image, "_PyRuntime", &symbol);
	if (strlen(image_soname(image)) > 255)
		abort();
	read_addresses(image);
	library_kind_of_image(image, "/x/app");
	for (size_t i = 0; i < 2; i++) {
		if (library_sites_find(image, kinds[i], &sites) == 0)
			library_sites_free(&sites);
	}
	if (python_version_find(image, "/x/app", &version, why, sizeof(why)) == 0)
		python_version_refine(image, &version, why, sizeof(why));
	read_interpreter(image);
	image_close(image);
	return 0;
}
