/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which CPython a file is: since 3.11 by the exported word Py_Version, before by the file's name and its PY_VERSION
 * string.  Nothing here looks at a process.
 */
#include "target/python/python_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

/* The supported series without Py_Version; _PyRuntime itself came with 3.7. */
#define TEXT_MINOR_FIRST 6
#define TEXT_MINOR_LAST 10
#define PY_VERSION_SINCE_MINOR 11

#define SCAN_CHUNK (1u << 20)
#define SCAN_BYTES_MAX (64u << 20) /* the text lies in .rodata, before any debug information */
#define TEXT_MAX 24		   /* "3.10.13rc1+" and room */

#define MICRO_NONE (-1)
#define MICRO_SEVERAL (-2)

void python_version_print(const struct python_version *version, char *text, size_t size)
{
	if (version->micro < 0)
		snprintf(text, size, "%u.%u", version->major, version->minor);
	else
		snprintf(text, size, "%u.%u.%d%s", version->major, version->minor, version->micro, version->suffix);
}

/* PY_VERSION_HEX (Include/patchlevel.h): a byte each of major, minor, micro, then level and serial. */
static void from_hex(unsigned hex, struct python_version *out)
{
	static const struct {
		unsigned level;
		const char *name;
	} levels[] = {{0xa, "a"}, {0xb, "b"}, {0xc, "rc"}};
	unsigned level = hex >> 4 & 0xf;

	*out = (struct python_version){
		.major = hex >> 24,
		.minor = hex >> 16 & 0xff,
		.micro = (int)(hex >> 8 & 0xff),
		.early = level < 0xc,
		.hex = hex,
	};
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (levels[i].level == level)
			snprintf(out->suffix, sizeof(out->suffix), "%s%u", levels[i].name, hex & 0xf);
}

/* "libpython3.8.so.1.0", "python3.8": the numbers after the last "python". */
static bool from_name(const char *name, struct python_version *out)
{
	const char *at = NULL;
	unsigned major, minor;

	for (const char *next = name; (next = strstr(next, "python")); next++)
		at = next;
	if (!at || sscanf(at, "python%1u.%2u", &major, &minor) != 2)
		return false;
	*out = (struct python_version){.major = major, .minor = minor, .micro = MICRO_NONE};
	return true;
}

/* For each minor version: micro version and suffix of the text like "3.8.18" that was found. */
struct text_versions {
	int micro[TEXT_MINOR_LAST + 1];
	char suffix[TEXT_MINOR_LAST + 1][8];
};

/* `text` begins with "3.": takes it if it is a complete version that ends with a NUL. */
static void take_text(const char *text, struct text_versions *out)
{
	unsigned minor, micro;
	int used = 0;
	size_t rest;

	if (!isdigit((unsigned char)text[2]) || sscanf(text, "3.%2u.%2u%n", &minor, &micro, &used) != 2 ||
	    minor < TEXT_MINOR_FIRST || minor > TEXT_MINOR_LAST)
		return;
	rest = strlen(text + used);
	if (rest >= sizeof(out->suffix[0]) || strspn(text + used, "abrc+0123456789") != rest)
		return;
	if (out->micro[minor] == MICRO_NONE) {
		out->micro[minor] = (int)micro;
		memcpy(out->suffix[minor], text + used, rest + 1);
	} else if (out->micro[minor] != (int)micro) {
		out->micro[minor] = MICRO_SEVERAL;
	}
}

static void scan_chunk(const char *chunk, size_t bytes, struct text_versions *out)
{
	const char *at = chunk, *end = chunk + bytes;

	while ((at = memchr(at, '3', (size_t)(end - at)))) {
		size_t room = (size_t)(end - at);
		bool starts = at == chunk || (!isdigit((unsigned char)at[-1]) && at[-1] != '.');

		if (room < TEXT_MAX)
			return; /* the next chunk begins with it */
		if (starts && at[1] == '.' && memchr(at, '\0', TEXT_MAX))
			take_text(at, out);
		at++;
	}
}

/*
 * The linker merges strings with equal ends, so PY_VERSION may be the tail of some other text ("/opt/3.8.18"):
 * any such tail is taken.
 */
static int scan_text(const struct image *image, struct text_versions *out)
{
	char *chunk = xmalloc(SCAN_CHUNK + 2 * TEXT_MAX);
	uint64_t offset = 0;
	int err = 0;

	for (int minor = 0; minor <= TEXT_MINOR_LAST; minor++)
		out->micro[minor] = MICRO_NONE;
	while (offset < SCAN_BYTES_MAX) {
		ssize_t n = pread(image_fd(image), chunk, SCAN_CHUNK + TEXT_MAX, (off_t)offset);

		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		/* The last chunk is followed by a margin of zeros, so that its last bytes are looked at too. */
		memset(chunk + n, 0, n < SCAN_CHUNK ? TEXT_MAX : 0);
		scan_chunk(chunk, (size_t)n + (n < SCAN_CHUNK ? TEXT_MAX : 0), out);
		offset += SCAN_CHUNK;
	}
	free(chunk);
	return err;
}

static void take_scanned(const struct text_versions *texts, unsigned minor, struct python_version *out)
{
	out->micro = texts->micro[minor] < 0 ? MICRO_NONE : texts->micro[minor];
	if (out->micro >= 0)
		memcpy(out->suffix, texts->suffix[minor], sizeof(out->suffix));
	out->early = out->micro >= 0 && (strchr(out->suffix, 'a') || strchr(out->suffix, 'b'));
}

static int from_text(const struct image *image, struct python_version *out)
{
	struct text_versions texts = {0};
	unsigned found = 0;
	int err = scan_text(image, &texts);

	if (err)
		return err;
	for (unsigned minor = TEXT_MINOR_FIRST; minor <= TEXT_MINOR_LAST; minor++) {
		if (texts.micro[minor] == MICRO_NONE)
			continue;
		if (found)
			return -ENOENT; /* several: it is not known which one is CPython's */
		found = minor;
	}
	if (!found)
		return -ENOENT;
	*out = (struct python_version){.major = 3, .minor = found};
	take_scanned(&texts, found, out);
	return 0;
}

int python_version_refine(const struct image *image, struct python_version *version, char *why, size_t why_size)
{
	struct text_versions texts = {0};
	bool any = false;
	int err;

	if (version->micro >= 0 || version->major != 3 || version->minor > TEXT_MINOR_LAST)
		return 0;
	err = scan_text(image, &texts);
	if (err)
		return err;
	if (version->minor >= TEXT_MINOR_FIRST && texts.micro[version->minor] != MICRO_NONE) {
		take_scanned(&texts, version->minor, version);
		return 0;
	}
	for (unsigned minor = TEXT_MINOR_FIRST; minor <= TEXT_MINOR_LAST; minor++)
		any = any || texts.micro[minor] != MICRO_NONE;
	if (!any)
		return 0;
	snprintf(why, why_size, "is named CPython %u.%u, but its text says another version", version->major,
		 version->minor);
	return -ENOTSUP;
}

int python_version_find(const struct image *image, const char *path, struct python_version *out, char *why,
			size_t why_size)
{
	struct python_version named;
	struct image_symbol symbol;
	bool has_name = from_name(image_soname(image), &named) || from_name(path_base(path), &named);
	uint64_t word; /* const unsigned long Py_Version */

	if (image_symbol(image, "Py_Version", &symbol) == 0 &&
	    image_read(image, symbol.address, &word, sizeof(word)) == 0) {
		from_hex((unsigned)word, out);
		if (has_name && (named.major != out->major || named.minor != out->minor)) {
			snprintf(why, why_size, "is named CPython %u.%u, but says it is %u.%u", named.major,
				 named.minor, out->major, out->minor);
			return -ENOTSUP;
		}
		return 0;
	}
	if (!has_name)
		return from_text(image, out);
	if (named.major == 3 && named.minor >= PY_VERSION_SINCE_MINOR) {
		snprintf(why, why_size, "is named CPython %u.%u, but has no Py_Version to confirm it", named.major,
			 named.minor);
		return -ENOTSUP;
	}
	*out = named;
	return 0;
}
