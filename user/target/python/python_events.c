/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the probe sites of python_events.h.  What the interpreters examined offer:
 *
 *   Debian's 3.11, 3.14, 3.15 (--with-dtrace)  USDT gc__start, gc__done, import__find__load__start, ..._done
 *   others, 3.6 to 3.13, with .symtab          collections: invoke_gc_callback, which is called with "start" and "stop"
 *   others, also stripped                      imports: the function through which C calls importlib._find_and_load
 *                                              (_PyObject_CallMethodIdObjArgs up to 3.10, PyObject_CallMethodObjArgs
 * from 3.11), and after its calls in PyImport_ImportModuleLevelObject
 */
#include "target/python/python_events.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "target/function.h"
#include "target/site.h"
#include "target/usdt.h"

#define NOTES_BYTES_MAX (1u << 20)
#define SITES_MAX 64 /* a compiler makes two or three copies of a probe */

struct search {
	const struct image *image;
	struct python_sites *out;
	uint64_t base;	/* linked address of .stapsdt.base, 0: none */
	unsigned found; /* bits by enum gpt_py_site_kind */
};

static struct python_site *add_site(struct search *search, uint64_t address, uint32_t kind, int32_t sp_adjust)
{
	struct python_site site = {.address = address, .what = {.kind = kind, .sp_adjust = sp_adjust}};

	if (search->out->list.count >= SITES_MAX || image_file_offset(search->image, address, &site.offset))
		return NULL;
	for (size_t i = 0; i < search->out->list.count; i++)
		if (search->out->list.items[i].offset == site.offset)
			return NULL; /* an alias */
	search->found |= 1u << kind;
	return array_push(&search->out->list, site);
}

/* Adds a function's entry, at a cheap instruction of its prologue. */
static int add_entry(struct search *search, const struct image_symbol *function, uint32_t kind)
{
	struct python_site *site;
	struct probe_site chosen;

	if (site_choose(search->image, function->address, &chosen))
		return -ENOENT;
	/* above the return address: where the stack pointer is when the function has returned */
	site = add_site(search, function->address + chosen.skipped, kind, chosen.sp_adjust + 8);
	return site ? 0 : -ENOENT;
}

/* ---- USDT -------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t kind;
	bool argument; /* the first argument is wanted */
} probes[] = {
	{"gc__start", GPT_PY_GC_BEGIN, true},
	{"gc__done", GPT_PY_GC_END, false},
	{"import__find__load__start", GPT_PY_IMPORT_BEGIN, true},
	{"import__find__load__done", GPT_PY_IMPORT_END, false},
};

/* sys/sdt.h puts a nop at each probe; if there is anything else, the note is wrong. */
static bool is_nop(const struct image *image, uint64_t address)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	uint8_t code[sizeof(nop5)];

	if (image_read(image, address, code, sizeof(code)))
		return false;
	return code[0] == 0x90 || memcmp(code, nop5, sizeof(nop5)) == 0;
}

static int take_note(const struct usdt_note *note, void *context)
{
	struct search *search = context;
	/* If the file was relinked (prelink), the note has the old addresses: the bases give the difference. */
	uint64_t moved = search->base && note->base ? search->base - note->base : 0;
	struct python_site *site;
	struct gpt_py_arg arg = {0};
	uint64_t semaphore = 0;

	if (strcmp(note->provider, "python") != 0)
		return 0;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (strcmp(note->name, probes[i].name) != 0)
			continue;
		if (probes[i].argument && usdt_argument(note->arguments, 0, &arg) &&
		    probes[i].kind == GPT_PY_IMPORT_BEGIN)
			return 0;
		if (!is_nop(search->image, note->address + moved))
			return 0;
		if (note->semaphore && image_file_offset(search->image, note->semaphore + moved, &semaphore))
			return 0;
		site = add_site(search, note->address + moved, probes[i].kind, 0);
		if (site) {
			site->what.arg = arg;
			site->semaphore = semaphore;
		}
	}
	return 0;
}

static void find_usdt(struct search *search)
{
	const uint8_t *notes;
	uint64_t address;
	size_t bytes;

	if (image_section(search->image, ".stapsdt.base", SHT_PROGBITS, 4096, &search->base, &notes, &bytes))
		search->base = 0;
	if (!image_section(search->image, ".note.stapsdt", SHT_NOTE, NOTES_BYTES_MAX, &address, &notes, &bytes))
		usdt_each(notes, bytes, take_note, search);
}

static void drop_kinds(struct python_sites *sites, unsigned kinds)
{
	size_t kept = 0;

	for (size_t i = 0; i < sites->list.count; i++)
		if (!(kinds & 1u << sites->list.items[i].what.kind))
			sites->list.items[kept++] = sites->list.items[i];
	sites->list.count = kept;
}

/* ---- by function --------------------------------------------------------------------------------------------- */

/* "invoke_gc_callback", also with a compiler's suffix: ".isra.0", ".constprop.1". */
static int take_gc_callback(const struct image_symbol *symbol, void *context)
{
	static const char name[] = "invoke_gc_callback";
	const char *rest = symbol->name + sizeof(name) - 1;

	if (!symbol->function || strncmp(symbol->name, name, sizeof(name) - 1) != 0 || (*rest && *rest != '.'))
		return 0;
	/* A part of a split function: the function's start is elsewhere, and the arguments are gone. */
	if (strncmp(rest, ".part", 5) == 0 || strncmp(rest, ".cold", 5) == 0)
		return 0;
	(void)add_entry(context, symbol, GPT_PY_GC_CALLBACK);
	return 0;
}

static void find_import_functions(struct search *search, uint16_t version)
{
	const char *callee = version >= (3 << 8 | 11) ? "PyObject_CallMethodObjArgs" : "_PyObject_CallMethodIdObjArgs";
	struct image_symbol import, call;
	function_sites returns;

	if (image_symbol(search->image, "PyImport_ImportModuleLevelObject", &import) ||
	    image_symbol(search->image, callee, &call))
		return;
	if (!function_returns_of(search->image, &import, callee, &returns) &&
	    !add_entry(search, &call, GPT_PY_IMPORT_CALL))
		for (size_t i = 0; i < returns.count; i++)
			add_site(search, returns.items[i].address, GPT_PY_IMPORT_RETURNED, returns.items[i].sp_adjust);
	array_free(&returns);
}

static bool has_kinds(const struct search *search, uint32_t first, uint32_t second)
{
	return search->found & 1u << first && search->found & 1u << second;
}

void python_events_find(const struct image *image, uint16_t version, struct python_sites *out)
{
	struct search search = {.image = image, .out = out};

	memset(out, 0, sizeof(*out));
	find_usdt(&search);
	out->gc = has_kinds(&search, GPT_PY_GC_BEGIN, GPT_PY_GC_END);
	out->imports = has_kinds(&search, GPT_PY_IMPORT_BEGIN, GPT_PY_IMPORT_END);
	if (!out->gc) {
		drop_kinds(out, 1u << GPT_PY_GC_BEGIN | 1u << GPT_PY_GC_END);
		image_each_symbol(image, take_gc_callback, &search);
		out->gc = search.found & 1u << GPT_PY_GC_CALLBACK;
	}
	if (!out->imports) {
		drop_kinds(out, 1u << GPT_PY_IMPORT_BEGIN | 1u << GPT_PY_IMPORT_END);
		find_import_functions(&search, version);
		out->imports = has_kinds(&search, GPT_PY_IMPORT_CALL, GPT_PY_IMPORT_RETURNED);
	}
}

int python_calls_find(const struct image *image, uint16_t version, struct python_sites *out)
{
	struct search search = {.image = image, .out = out};
	struct image_symbol function;
	function_sites exits;
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (version > (3 << 8 | 10))
		return -ENOTSUP;
	if (image_symbol(image, "_PyEval_EvalFrameDefault", &function) || function_exits(image, &function, &exits))
		return -ENOENT;
	if (add_entry(&search, &function, GPT_PY_CALL_ENTER))
		err = -ENOENT;
	for (size_t i = 0; i < exits.count && !err; i++)
		if (!add_site(&search, exits.items[i].address, GPT_PY_CALL_EXIT, exits.items[i].sp_adjust))
			err = -ENOENT;
	array_free(&exits);
	if (err)
		python_sites_free(out);
	return err;
}

void python_sites_free(struct python_sites *sites)
{
	array_free(&sites->list);
}
