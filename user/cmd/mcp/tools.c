/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of tools, and how their arguments become words of gputrace's command line. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/order.h"
#include "cmd/mcp/mcp.h"
#include "target/library.h"
#include "target/process.h"

#define ARGUMENTS_MAX 5
#define WORDS_MAX 24
#define FILES_MAX 200u

enum kind {
	KIND_FILE,   /* a file in the folder, or below it */
	KIND_TEXT,   /* what an option takes */
	KIND_NUMBER, /* a whole number from 1 to `most` */
	KIND_FLAG,   /* true or false */
};

struct argument {
	const char *name; /* NULL: no more */
	enum kind kind;
	bool required;
	const char *option; /* as "--pid=", or with a blank the words of a flag; NULL: the value is a word of its own */
	const char *about;
	int64_t most;
};

struct tool {
	const char *name, *about;
	bool looks_at_processes; /* needs --allow-record */
	const char *words[4];	 /* of the command line, before the arguments'; none: `own` answers */
	void (*own)(struct mcp_answer *answer);
	bool makes_log; /* adds -o and a new name */
	struct argument arguments[ARGUMENTS_MAX];
};

static void list_traces(struct mcp_answer *answer);
static void list_processes(struct mcp_answer *answer);

#define A_FILE                                                                                                         \
	{                                                                                                              \
		"file", KIND_FILE, true, NULL,                                                                         \
			"a trace in the folder: a log (.gpt), or a file of torch.profiler or nsys", 0                  \
	}
#define A_STEP                                                                                                         \
	{                                                                                                              \
		"step", KIND_TEXT, false, "--step=", "what a step is, as optimizer, range:NAME or py:FUNCTION", 0      \
	}
#define A_PID                                                                                                          \
	{                                                                                                              \
		"pid", KIND_NUMBER, true, "--pid=", "the process; its children are included", INT32_MAX                \
	}

static const struct tool tools[] = {
	{"list_traces", "Lists the traces in the folder, the newest first, with their sizes and times.",
	 .own = list_traces},
	{"why",
	 "Why the GPU stood still: the three largest losses with line, cause, evidence and what to try. Begin here.",
	 .words = {"why"}, .arguments = {A_FILE, A_STEP}},
	{"report", "GPU time by line, kernel, copy, call and step, idle time by line, and how complete the trace is.",
	 .words = {"report"},
	 .arguments = {A_FILE,
		       A_STEP,
		       {"table", KIND_TEXT, false, "--format=json --table=",
			"only this table, with all its rows, as JSON: kernels, gpu_lines, idle, waits, steps, ...",
			0}}},
	{"source_lines",
	 "The source of a function or a file with what each line costs beside it. The source is read from this "
	 "machine.",
	 .words = {"report"},
	 .arguments = {A_FILE, {"of", KIND_TEXT, true, "--lines=", "the name of a function or of a file", 0}}},
	{"diff",
	 "What a step costs more, or less, in the second trace than in the first, by line and kernel, with the noise.",
	 .words = {"diff"},
	 .arguments = {{"before", KIND_FILE, true, NULL, "the trace before the change", 0},
		       {"after", KIND_FILE, true, NULL, "the trace after the change", 0},
		       A_STEP}},
	{"list_processes", "Lists the processes that have CUDA loaded, as far as they may be looked at.",
	 .looks_at_processes = true, .own = list_processes},
	{"dump", "It hangs: what each thread of a running process does and waits for now. Stops nothing.",
	 .looks_at_processes = true, .words = {"dump"}, .arguments = {A_PID}},
	{"record",
	 "Records a running process for some seconds into a new log in the folder, and answers with its name.",
	 .looks_at_processes = true, .words = {"-q"}, .makes_log = true,
	 .arguments = {A_PID,
		       {"seconds", KIND_NUMBER, true, "--duration=", "how long", MCP_RECORD_SECONDS},
		       {"ops", KIND_FLAG, false, "--ops", "PyTorch's ops and steps, too", 0},
		       {"cpu", KIND_FLAG, false, "--cpu --off-cpu", "what runs and what waits on the CPU, too", 0}}},
};

#define TOOLS (sizeof(tools) / sizeof(tools[0]))

static void put_argument(FILE *out, const struct argument *argument)
{
	static const char *const types[] = {
		[KIND_FILE] = "string", [KIND_TEXT] = "string", [KIND_NUMBER] = "integer", [KIND_FLAG] = "boolean"};

	fprintf(out, "\"%s\":{\"type\":\"%s\",\"description\":", argument->name, types[argument->kind]);
	mcp_put_string(out, argument->about, strlen(argument->about));
	if (argument->kind == KIND_NUMBER)
		fprintf(out, ",\"minimum\":1,\"maximum\":%lld", (long long)argument->most);
	putc('}', out);
}

void mcp_tools_list(FILE *out, bool may_record)
{
	const char *between = "[";

	for (const struct tool *tool = tools; tool < tools + TOOLS; tool++) {
		const char *next = "";

		if (tool->looks_at_processes && !may_record)
			continue;
		fprintf(out, "%s{\"name\":\"%s\",\"description\":", between, tool->name);
		mcp_put_string(out, tool->about, strlen(tool->about));
		fputs(",\"inputSchema\":{\"type\":\"object\",\"properties\":{", out);
		for (const struct argument *at = tool->arguments; at < tool->arguments + ARGUMENTS_MAX && at->name;
		     at++) {
			fputs(next, out);
			put_argument(out, at);
			next = ",";
		}
		fputs("},\"required\":[", out);
		next = "";
		for (const struct argument *at = tool->arguments; at < tool->arguments + ARGUMENTS_MAX && at->name;
		     at++) {
			if (!at->required)
				continue;
			fprintf(out, "%s\"%s\"", next, at->name);
			next = ",";
		}
		fprintf(out, "],\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":%s}}",
			tool->makes_log ? "false" : "true");
		between = ",";
	}
	putc(']', out);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

struct call {
	struct mcp_answer *answer;
	const struct tool *tool;
	const char *folder;
	const char *words[WORDS_MAX + 1];
	size_t count;
	char *made[WORDS_MAX]; /* words that are freed */
	size_t made_count;
	unsigned given; /* 1 << index of each argument that is given */
};

static void refuse_argument(struct call *call, const char *argument, const char *why)
{
	if (!call->answer->failed)
		mcp_answer_add(call->answer, "%s: %s\n", argument, why);
	call->answer->failed = true;
}

/* The rows above need at most 4 words, and 2 for each argument. */
static void add_word(struct call *call, char *word)
{
	call->made[call->made_count++] = word;
	call->words[call->count++] = word;
}

/* Adds the words of an option, which are separated by blanks; the value goes behind the last one. */
static void add_option(struct call *call, const char *option, const char *value)
{
	const char *blank;

	while ((blank = strchr(option, ' '))) {
		add_word(call, xasprintf("%.*s", (int)(blank - option), option));
		option = blank + 1;
	}
	add_word(call, xasprintf("%s%s", option, value));
}

static bool is_inside(const char *folder, const char *path)
{
	size_t length = strlen(folder);

	return !strncmp(path, folder, length) && (length == 1 || path[length] == '/' || !path[length]);
}

/* A file in the folder or below it, wherever links lead; what is named is not what is opened if it is changed
 * meanwhile, which is no one's but the user's own folder. */
static void add_file(struct call *call, const char *name, const char *value)
{
	char path[PATH_MAX];
	struct stat of;

	if (!realpath(value, path) || stat(path, &of))
		refuse_argument(call, name, "no such file; list_traces has those that are here");
	else if (!is_inside(call->folder, path))
		refuse_argument(call, name, "is outside of the folder that gputrace mcp was started for");
	else if (!S_ISREG(of.st_mode))
		refuse_argument(call, name, "is no regular file");
	else
		add_word(call, xstrdup(path));
}

static void add_number(struct call *call, const struct argument *argument, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	if (value < 1 || value > argument->most)
		refuse_argument(call, argument->name, "a whole number is needed; the tool's schema has the largest");
	else
		add_option(call, argument->option, text);
}

/* Reads the argument's value, at which the reader is. */
static void read_argument(struct call *call, const struct argument *argument, struct json *json)
{
	char begins = json_peek(json);
	struct json_text text;
	text_buffer value = {0};
	int64_t number;

	if (argument->kind == KIND_NUMBER && begins != '"' && json_number(json, 0, 0, &number)) {
		add_number(call, argument, number);
	} else if (argument->kind == KIND_FLAG && (begins == 't' || begins == 'f') && json_skip(json)) {
		if (begins == 't')
			add_option(call, argument->option, "");
	} else if ((argument->kind == KIND_FILE || argument->kind == KIND_TEXT) && begins == '"' &&
		   json_string(json, &text)) {
		json_unescape(&value, &text);
		text_append(&value, "", 1);
		if (strlen(value.items) + 1 != value.count || value.count == 1)
			refuse_argument(call, argument->name, "is empty, or has a NUL");
		else if (argument->kind == KIND_FILE)
			add_file(call, argument->name, value.items);
		else
			add_option(call, argument->option, value.items);
		array_free(&value);
	} else {
		refuse_argument(call, argument->name, "has another type than the tool's schema says");
		json_skip(json);
	}
}

static void read_arguments(struct call *call, const struct json_text *arguments)
{
	const struct argument *list = call->tool->arguments;
	struct json json;
	struct json_text key;
	bool first = true;

	json_text_open(&json, arguments);
	while (arguments->size && json_member(&json, &first, &key)) {
		unsigned i = 0;

		while (i < ARGUMENTS_MAX && list[i].name && !json_is(&key, list[i].name, strlen(list[i].name)))
			i++;
		if (i == ARGUMENTS_MAX || !list[i].name || call->given & 1u << i) {
			refuse_argument(call, call->tool->name,
					"an argument is unknown, or given twice; the tool's schema has them");
			break;
		}
		call->given |= 1u << i;
		read_argument(call, &list[i], &json);
	}
	json_close(&json);
	for (unsigned i = 0; i < ARGUMENTS_MAX && list[i].name; i++)
		if (list[i].required && !(call->given & 1u << i))
			refuse_argument(call, list[i].name, "is missing");
}

/* ---- tools of its own -------------------------------------------------------------------------------------------- */

static bool is_trace(const char *name)
{
	static const char *const ends[] = {".gpt", ".json", ".json.gz", ".sqlite", ".nvvp"};
	size_t length = strlen(name);

	return any_of(sizeof(ends) / sizeof(ends[0]), i,
		      length > strlen(ends[i]) && !strcmp(name + length - strlen(ends[i]), ends[i]));
}

struct file {
	char *name;
	struct stat of;
};

DEFINE_ORDER(by_time, struct file, higher_first(a->of.st_mtime, b->of.st_mtime) ?: strcmp(a->name, b->name))

static void list_traces(struct mcp_answer *answer)
{
	ARRAY(struct file) files = {0};
	DIR *folder = opendir(".");
	char here[PATH_MAX] = "", path[PATH_MAX];
	struct dirent *entry;
	struct stat of;

	while (folder && realpath(".", here) && (entry = readdir(folder)))
		if (is_trace(entry->d_name) && realpath(entry->d_name, path) && is_inside(here, path) &&
		    !stat(path, &of) && S_ISREG(of.st_mode))
			array_push(&files, ((struct file){xstrdup(entry->d_name), of}));
	if (folder)
		closedir(folder);
	array_sort(&files, by_time);
	if (!files.count)
		mcp_answer_add(answer, "no trace is in this folder\n");
	for (size_t i = 0; i < files.count; i++) {
		text_buffer name = {0};
		struct tm tm;
		char when[32];

		localtime_r(&files.items[i].of.st_mtime, &tm);
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		safe_text_append_utf8(&name, files.items[i].name, strlen(files.items[i].name));
		if (i < FILES_MAX)
			mcp_answer_add(answer, "%s  %12lld bytes  %.*s\n", when, (long long)files.items[i].of.st_size,
				       (int)name.count, name.items);
		array_free(&name);
		free(files.items[i].name);
	}
	if (files.count > FILES_MAX)
		mcp_answer_add(answer, "%zu older ones are left out\n", files.count - FILES_MAX);
	array_free(&files);
}

static int add_if_cuda(pid_t pid, void *context)
{
	struct mcp_answer *answer = context;
	text_buffer line = {0};
	AUTO_FREE char *command = NULL;

	if (answer->text.count > MCP_ANSWER_MAX || !mappings_have(pid, library_is_cuda))
		return 0;
	command = process_cmdline(pid);
	if (command)
		safe_text_append_utf8(&line, command, strlen(command));
	mcp_answer_add(answer, "%8d  %.*s\n", (int)pid, (int)(line.count < 200 ? line.count : 200), line.items);
	array_free(&line);
	return 0;
}

static void list_processes(struct mcp_answer *answer)
{
	process_each(add_if_cuda, answer);
	if (!answer->text.count)
		mcp_answer_add(answer, "no process that this user may look at has CUDA loaded\n");
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* A name that no file has. */
static char *new_log(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32];
	char *name = NULL;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	for (unsigned i = 0; !name || !access(name, F_OK); i++) {
		free(name);
		name = i ? xasprintf("gputrace-%s-%u.gpt", when, i) : xasprintf("gputrace-%s.gpt", when);
	}
	return name;
}

static void run_call(struct call *call)
{
	char *log = call->tool->makes_log ? new_log() : NULL;

	if (log) {
		call->words[call->count++] = "-o";
		call->words[call->count++] = log;
	}
	call->words[call->count] = NULL;
	mcp_run(call->answer, call->words);
	if (log && !access(log, F_OK))
		mcp_answer_add(call->answer, "file: %s\n", log);
	free(log);
}

bool mcp_tool_call(struct mcp_answer *answer, const char *name, const struct json_text *arguments, const char *folder,
		   bool may_record)
{
	const struct tool *tool = tools;
	struct call call = {.answer = answer, .folder = folder};

	while (tool < tools + TOOLS && strcmp(tool->name, name) != 0)
		tool++;
	if (tool == tools + TOOLS || (tool->looks_at_processes && !may_record))
		return false;
	call.tool = tool;
	while (call.count < 4 && tool->words[call.count]) {
		call.words[call.count] = tool->words[call.count];
		call.count++;
	}
	read_arguments(&call, arguments);
	if (!answer->failed && tool->own)
		tool->own(answer);
	else if (!answer->failed)
		run_call(&call);
	for (size_t i = 0; i < call.made_count; i++)
		free(call.made[i]);
	return true;
}
