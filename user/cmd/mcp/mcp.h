/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server of the Model Context Protocol (modelcontextprotocol.io) on standard input and output: requests and answers
 * are JSON-RPC 2.0, a line each.  Its tools are gputrace's own subcommands, which run as children: what they read is
 * hostile, and they confine themselves.
 */
#pragma once

#include "base/safe_text.h"
#include "base/json/json.h"

/* An answer to a call of a tool. */
struct mcp_answer {
	text_buffer text; /* at most MCP_ANSWER_MAX bytes and a line that says what was cut */
	bool failed;	  /* the text says why */
};

#define MCP_ANSWER_MAX 100000u
#define MCP_SECONDS 60u	       /* the most that a tool may take */
#define MCP_RECORD_SECONDS 45u /* the longest recording: its end and its report take time, too */

/* Writes the list of tools, an array of JSON. */
void mcp_tools_list(FILE *out, bool may_record);

/*
 * Calls a tool.  folder: absolute; only files in it are read.  arguments: an object of JSON, empty: none.  False: there
 * is no tool of that name, or it may not be called.
 */
bool mcp_tool_call(struct mcp_answer *answer, const char *name, const struct json_text *arguments, const char *folder,
		   bool may_record);

/* Runs gputrace with these words, NULL-terminated, and appends what it prints. */
void mcp_run(struct mcp_answer *answer, const char *const *words);

/* Appends to the answer. */
void mcp_answer_add(struct mcp_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a string of JSON with its quotes, each line made safe (safe_text.h). */
void mcp_put_string(FILE *out, const char *text, size_t size);

/* Reads a value in memory, of which it makes a copy; json_close frees that. */
void json_text_open(struct json *json, const struct json_text *text);

/* As json_raw, but *raw is in `text`, and so outlives the reader. */
bool json_text_raw(struct json *json, const struct json_text *text, struct json_text *raw);
