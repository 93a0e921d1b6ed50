/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/foreign_trace.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "input/database/database.h"
#include "base/json/bytes.h"

#define BEGIN_BYTES 512

/* Other programs write such files, too. */
#define LOG_HELPS "; if gputrace made it, report and export read the log that it was made from"
#define NSYS_HELPS "report: `nsys export --type sqlite FILE` makes the database that gputrace reads"
#define NSYS_WROTE(type)                                                                                               \
	"as `nsys export --type " type "` writes it: `nsys export --type sqlite` makes the database that gputrace "    \
	"reads"
#define XLA_HELPS                                                                                                      \
	"trace of JAX or TensorFlow: gputrace reads none of these. To see the GPU work of such a program trace it "    \
	"with gputrace or with nsys"

#define AUTOGRAD                                                                                                       \
	"is of PyTorch's old profiler (torch.autograd.profiler), which has times of ops and none of kernels: "         \
	"torch.profiler's export_chrome_trace() writes what gputrace reads"

/* Beginnings of files. */
static const struct {
	const char *begin;
	size_t size;
	const char *sentence;
} beginnings[] = {
#define BEGINS(text) text, sizeof(text) - 1
	{BEGINS("version https://git-lfs"), "is a Git LFS pointer, not the file itself: `git lfs pull` fetches that"},
	{BEGINS("<!doctype html"), "is an HTML page, to be looked at in a browser" LOG_HELPS},
	{BEGINS("<html"), "is an HTML page, to be looked at in a browser" LOG_HELPS},
	{BEGINS("<svg"), "is an SVG picture, to be looked at in a browser" LOG_HELPS},
	{BEGINS("<?xml"), "is XML: gputrace reads its own logs, JSON of torch.profiler, and SQLite of nsys and nvprof"},
	{BEGINS("\x89HDF\r\n"), "is HDF5, " NSYS_WROTE("hdf")},
	{BEGINS("PAR1"), "is Parquet, " NSYS_WROTE("parquetdir")},
	{BEGINS("PERFILE2"), "is a recording of perf, which has no work of a GPU: trace the program with gputrace"},
	{BEGINS("\xff\xfe"), "is text in UTF-16: `iconv -f UTF-16 -t UTF-8` makes the UTF-8 that gputrace reads"},
	{BEGINS("\xfe\xff"), "is text in UTF-16: `iconv -f UTF-16 -t UTF-8` makes the UTF-8 that gputrace reads"},
	{BEGINS("ARROW1"), "is an Arrow file, for pyarrow and pandas" LOG_HELPS},
	{BEGINS("NVR\0"), "is a report of Nsight Compute (ncu): it has counters of kernels and no timeline; trace the "
			  "program with gputrace or with nsys"},
	{BEGINS("{("), "is a profile of Python, for pstats" LOG_HELPS},
	{BEGINS("{)"), "is a profile of Python, for pstats" LOG_HELPS},
	{BEGINS("{\xa9"), "is a profile of Python, for pstats" LOG_HELPS},
	{BEGINS("\xfb("), "is a profile of Python, for pstats" LOG_HELPS}, /* marshal marks what it refers to again */
	{BEGINS("\xfb)"), "is a profile of Python, for pstats" LOG_HELPS},
	{BEGINS("\xfb\xa9"), "is a profile of Python, for pstats" LOG_HELPS},
	{BEGINS("PK\3\4"), "is a ZIP archive: unpack it, and name the file that was in it"},
	{BEGINS("\x28\xb5\x2f\xfd"), "is packed with zstd: unpack it with `zstd -d`"},
	{BEGINS("\xfd"
		"7zXZ"),
	 "is packed with xz: unpack it with `xz -d`"},
	{BEGINS("BZh"), "is packed with bzip2: unpack it with `bzip2 -d`"},
#undef BEGINS
};

/* Texts near the beginning: JSON that gputrace reads has none of these. */
static const struct {
	const char *text, *sentence;
} near_begin[] = {
	{"speedscope.app/file-format-schema", "is a profile for speedscope" LOG_HELPS},
	{"-chakra.",
	 "is an execution trace of PyTorch, which has no times of the GPU: gputrace reads what torch.profiler's "
	 "export_chrome_trace() writes"},
	{"\"CPU functions\"", AUTOGRAD},
	{"\"CUDA functions\"", AUTOGRAD},
	/* a line for all strings, then a line for each event */
	{"[\"[Unknown]\"", "is JSON lines, " NSYS_WROTE("json")},
	{"\"CudaEvent\"", "is JSON lines, " NSYS_WROTE("json")},
	{"\"TraceProcessEvent\"", "is JSON lines, " NSYS_WROTE("json")},
	{"\"gputrace-tables\"", "has tables of a report, for programs" LOG_HELPS},
};

/* Whether the first line is a stack and a count. */
static bool is_folded(const char *begin, size_t size)
{
	const char *end = memchr(begin, '\n', size), *at = end ? end : begin + size;

	while (at > begin && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at > begin + 1 && at[-1] == ' ' && *at >= '0' && *at <= '9';
}

/* Whether it may be a message of protobuf whose field 1 is a message. */
static bool is_messages(const char *begin, size_t size)
{
	return size && begin[0] == '\n';
}

/* Ends of names, for files with an unknown beginning; `may_be`: what the beginning must be like, NULL: not known. */
static const struct {
	const char *end, *sentence;
	bool (*may_be)(const char *begin, size_t size);
} endings[] = {
	{".nsys-rep", "is an nsys " NSYS_HELPS, NULL},
	{".qdrep", "is an nsys " NSYS_HELPS, NULL},
	{".qdstrm",
	 "is an nsys recording that was not made into a report: `nsys import FILE`, then `nsys export --type "
	 "sqlite` of what that makes",
	 NULL},
	{".ncu-rep",
	 "is a report of Nsight Compute (ncu): it has counters of kernels and no timeline; trace the program "
	 "with gputrace or with nsys",
	 NULL},
	{".xplane.pb", "is a " XLA_HELPS, is_messages},
	{".pftrace", "is a trace for Perfetto, to be looked at in its UI" LOG_HELPS, is_messages},
	{".perfetto-trace", "is a trace for Perfetto, to be looked at in its UI" LOG_HELPS, is_messages},
	{".folded", "has folded stacks, for flamegraph.pl" LOG_HELPS, is_folded},
	{".tar", "is a tar archive: unpack it, and name the file that was in it", NULL},
};

/* profile.proto starts with a sample type: the numbers of two of its first strings. */
static bool is_pprof(const char *begin, size_t size)
{
	return size >= 6 && !memcmp(begin, "\x0a\x04\x08", 3) && begin[4] == 0x10;
}

static bool is_tar(const char *begin, size_t size)
{
	return size >= 262 && !memcmp(begin + 257, "ustar", 5);
}

/* Protocol 2 and later: a mark, and the protocol's number. */
static bool is_pickle(const char *begin, size_t size)
{
	return size >= 3 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5;
}

/* For a file that its first bytes do not identify: decides by its contents.  NULL: unknown. */
static const char *sentence_of(const char *begin, size_t size)
{
	if (is_pprof(begin, size))
		return "is a profile for pprof" LOG_HELPS;
	if (is_tar(begin, size))
		return "is a tar archive: unpack it, and name the file that was in it";
	if (is_pickle(begin, size))
		return memmem(begin, size, "segments", strlen("segments")) ||
				       memmem(begin, size, "device_traces", strlen("device_traces"))
			       ? "is a snapshot of PyTorch's memory, for pytorch.org/memory_viz" LOG_HELPS
			       : "is a pickle of Python, which has no times of a GPU";
	for (size_t i = 0; i < sizeof(near_begin) / sizeof(near_begin[0]); i++)
		if (memmem(begin, size, near_begin[i].text, strlen(near_begin[i].text)))
			return near_begin[i].sentence;
	return NULL;
}

/* Reads the beginning of the file, decompressed if it is gzip. */
static size_t read_begin(int fd, char *begin, bool *packed)
{
	struct byte_source source;
	size_t size = 0;
	int64_t got;

	byte_source_open(&source, fd);
	*packed = source.gunzip != NULL;
	while (size < BEGIN_BYTES && (got = byte_source_read(&source, begin + size, BEGIN_BYTES - size)) > 0)
		size += (size_t)got;
	byte_source_close(&source);
	return size;
}

char *foreign_refusal(int fd, const char *name)
{
	char begin[BEGIN_BYTES] = "";
	bool packed;
	size_t size = read_begin(fd, begin, &packed), at = size >= 3 && !memcmp(begin, "\xef\xbb\xbf", 3) ? 3 : 0;
	size_t length = name ? strlen(name) : 0;
	const char *sentence;

	if (!size)
		return NULL;
	while (at < size && strchr(" \t\r\n", begin[at]) && begin[at])
		at++;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (size - at >= beginnings[i].size &&
		    !strncasecmp(begin + at, beginnings[i].begin, beginnings[i].size))
			return xstrdup(beginnings[i].sentence);
	if (!packed && database_is(fd))
		return database_journal(fd);
	/* logs and supported files start with a mark of their own */
	if (!memcmp(begin, "GPT", 3) || !memcmp(begin, "SQLite", 6))
		return packed ? xstrdup("is packed with gzip: unpack it with `gzip -d`") : NULL;
	sentence = sentence_of(begin, size);
	if (sentence)
		return xstrdup(sentence);
	if (begin[at] == '{' || begin[at] == '[')
		return NULL;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t end = strlen(endings[i].end);

		if (length >= end && !strcasecmp(name + length - end, endings[i].end) &&
		    (!endings[i].may_be || endings[i].may_be(begin, size)))
			return xstrdup(endings[i].sentence);
	}
	return NULL;
}
