/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/why_awaited.h"

#include <string.h>

struct waiting_function {
	const char *file, *name; /* name NULL: any */
	enum why_awaited awaited;
};

static const struct waiting_function standard[] = {
	{"threading.py", "wait", WHY_AWAITED_NOTICE},
	{"threading.py", "wait_for", WHY_AWAITED_NOTICE},
	{"queue.py", "get", WHY_AWAITED_ITEM},
	{"concurrent/futures/_base.py", "result", WHY_AWAITED_RESULT},
	{"concurrent/futures/_base.py", "exception", WHY_AWAITED_RESULT},
	{"concurrent/futures/_base.py", "wait", WHY_AWAITED_RESULT},
	{"concurrent/futures/_base.py", "as_completed", WHY_AWAITED_RESULT},
	{"concurrent/futures/thread.py", "_worker", WHY_AWAITED_ITEM},
	{"threading.py", "join", WHY_AWAITED_RESULT},
	{"multiprocessing/pool.py", "wait", WHY_AWAITED_RESULT},
	{"multiprocessing/pool.py", "get", WHY_AWAITED_RESULT},
	{"multiprocessing/pool.py", "next", WHY_AWAITED_RESULT},
	{"socket.py", "accept", WHY_AWAITED_REQUEST},
	{"socketserver.py", "serve_forever", WHY_AWAITED_REQUEST},
	{"multiprocessing/connection.py", "accept", WHY_AWAITED_REQUEST},
	{"asyncio/base_events.py", "_run_once", WHY_AWAITED_LOOP},
	{"asyncio/base_events.py", "run_until_complete", WHY_AWAITED_LOOP},
	{"asyncio/base_events.py", "run_forever", WHY_AWAITED_LOOP},
	{"asyncio/runners.py", "run", WHY_AWAITED_LOOP}, /* of a loop in C: uvloop */
	{"asyncio/tasks.py", "sleep", WHY_AWAITED_SLEEP},
	/* parts of these */
	{"selectors.py", NULL, WHY_AWAITED_UNKNOWN},
	{"threading.py", NULL, WHY_AWAITED_UNKNOWN},
	{"multiprocessing/connection.py", NULL, WHY_AWAITED_UNKNOWN},
};

static const struct waiting_function packages[] = {
	{"grpc/_server.py", NULL, WHY_AWAITED_REQUEST},
	{"zmq/sugar/socket.py", NULL, WHY_AWAITED_REQUEST},
	{"zmq/sugar/poll.py", "poll", WHY_AWAITED_REQUEST},
};

/* The path from the folder of the standard library on, such as /usr/lib/python3.11/queue.py; NULL: it is not in one. */
static const char *in_standard_library(const char *file)
{
	static const char folder[] = "/python3.";
	const char *found = NULL;

	for (const char *at = file; (at = strstr(at, folder)); at += sizeof(folder) - 1)
		found = strchr(at + 1, '/');
	return found ? found + 1 : NULL;
}

static const char *in_packages(const char *file)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *at = strstr(file, folders[i]);

		if (at)
			return at + strlen(folders[i]);
	}
	return NULL;
}

/* "get" of "Queue.get" */
static const char *plain_name(const struct model_code *code)
{
	const char *dot = strrchr(code->name, '.');

	return dot ? dot + 1 : code->name;
}

static const struct waiting_function *look_up(const struct waiting_function *rows, size_t count, const char *file,
					      const char *name)
{
	for (size_t i = 0; file && i < count; i++)
		if (!strcmp(rows[i].file, file) && (!rows[i].name || !strcmp(rows[i].name, name)))
			return &rows[i];
	return NULL;
}

bool why_awaited_in(const struct model_code *code, enum why_awaited *awaited)
{
	const char *name = plain_name(code), *package = in_packages(code->file);
	const struct waiting_function *row =
		package ? look_up(packages, sizeof(packages) / sizeof(packages[0]), package, name)
			: look_up(standard, sizeof(standard) / sizeof(standard[0]), in_standard_library(code->file),
				  name);

	if (row && row->awaited > *awaited)
		*awaited = row->awaited;
	return row;
}

static bool ends_in(const char *file, const char *end)
{
	size_t length = strlen(file), most = strlen(end);

	return length >= most && !strcmp(file + length - most, end);
}

enum why_loads why_loads_in(const struct model_code *code)
{
	const char *name = plain_name(code);

	if (ends_in(code->file, "/torch/utils/data/_utils/fetch.py"))
		return WHY_LOADS_ITSELF;
	if (ends_in(code->file, "/torch/utils/data/dataloader.py") &&
	    (!strcmp(name, "_try_get_data") || !strcmp(name, "_get_data") || !strcmp(name, "_process_data")))
		return WHY_LOADS_WORKERS;
	return WHY_LOADS_UNKNOWN;
}

enum why_loads why_loads_of_op(const char *name)
{
	if (strstr(name, "_SingleProcess"))
		return WHY_LOADS_ITSELF;
	return strstr(name, "_MultiProcessing") ? WHY_LOADS_WORKERS : WHY_LOADS_UNKNOWN;
}
