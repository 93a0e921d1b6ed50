/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/awaits.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/lookup.h"
#include "dump/process/loops.h"
#include "target/process.h"

#define MS 1000000ull
#define ANSWERS_MOST 256u		   /* in one tick */
#define STUCK_NS (2000 * MS)		   /* so long the reader may look at one process */
#define SENT_MOST 65536u		   /* descriptions remembered as sent; of more, all are sent again */
#define OWN_NUMBER (1ull << 63)		   /* of code and stacks: no address of a process has it */
#define TABLE_MOST (2 * GPT_CODE_FILE_MAX) /* bytes of a line table made here */

struct awaits {
	struct loops_shared *shared;
	int answers; /* a socket */
	pid_t reader;
	attach_emit emit;
	void *context;
	struct lookup sent; /* numbers of code and stacks, by image of a process */
	uint64_t seed;
	uint64_t busy, busy_ns; /* what the reader looks at, as last seen; since when */
};

/* ---- the process ------------------------------------------------------------------------------------------------- */

int awaits_start(attach_emit emit, void *context, struct awaits **out)
{
	struct awaits *awaits = xcalloc(1, sizeof(*awaits));
	int ends[2] = {-1, -1}, error;
	pid_t parent = getpid();

	*awaits = (struct awaits){.answers = -1, .emit = emit, .context = context, .seed = hash_seed()};
	lookup_init(&awaits->sent, awaits->seed);
	awaits->shared = mmap(NULL, sizeof(*awaits->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (awaits->shared == MAP_FAILED)
		awaits->shared = NULL;
	if (!awaits->shared || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
	    (awaits->reader = fork()) < 0) {
		error = -errno;
		awaits->reader = 0;
		awaits->answers = ends[0];
		if (ends[1] >= 0)
			close(ends[1]);
		awaits_stop(awaits);
		return error;
	}
	if (!awaits->reader)
		loops_serve(awaits->shared, parent, ends[1]);
	close(ends[1]);
	awaits->answers = ends[0];
	*out = awaits;
	return 0;
}

/* A reader that waits for a page of a process may not die at once, and is not waited for. */
static void end_reader(struct awaits *awaits)
{
	if (!awaits->reader)
		return;
	kill(awaits->reader, SIGKILL);
	for (int i = 0; i < 100 && waitpid(awaits->reader, NULL, WNOHANG) == 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = (long)MS}, NULL);
	awaits->reader = 0;
}

void awaits_stop(struct awaits *awaits)
{
	if (!awaits)
		return;
	end_reader(awaits);
	if (awaits->answers >= 0)
		close(awaits->answers);
	if (awaits->shared)
		munmap(awaits->shared, sizeof(*awaits->shared));
	lookup_free(&awaits->sent);
	free(awaits);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* False: it was sent before. */
static bool is_new(struct awaits *awaits, uint64_t image, uint64_t number)
{
	uint32_t *sent;

	if (awaits->sent.count >= SENT_MOST)
		lookup_empty(&awaits->sent);
	sent = lookup_put(&awaits->sent, 1, number ^ image * 0x9e3779b97f4a7c15ULL, 0);
	return !(*sent)++;
}

/* Valid UTF-8 as UCS-4; returns the bytes. */
static uint32_t put_ucs4(uint8_t *to, const char *text, size_t most)
{
	const uint8_t *at = (const uint8_t *)text;
	uint32_t bytes = 0;

	while (*at && bytes + 4 <= most) {
		unsigned more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : 0;
		uint32_t character = more ? *at++ & (0x3fu >> more) : *at++;

		while (more-- && (*at & 0xc0) == 0x80)
			character = character << 6 | (*at++ & 0x3f);
		memcpy(to + bytes, &character, 4);
		bytes += 4;
	}
	return bytes;
}

/* A co_lnotab (Objects/lnotab_notes.txt) of one line, as far from the first as it takes; returns the bytes. */
static uint32_t put_line_table(uint8_t *to, int64_t distance)
{
	uint32_t bytes = 0;

	while (distance && bytes + 2 <= TABLE_MOST) {
		int64_t step = distance > 127 ? 127 : distance < -128 ? -128 : distance;

		to[bytes++] = 0;
		to[bytes++] = (uint8_t)step;
		distance -= step;
	}
	return bytes;
}

static void emit_lines(const struct awaits *awaits, uint32_t pid, uint64_t number, const uint8_t *table,
		       uint32_t all_bytes)
{
	union {
		struct gpt_code_lines record;
		uint8_t bytes[sizeof(struct gpt_code_lines) + GPT_CODE_LINES_CHUNK];
	} lines;

	for (uint32_t at = 0; at < all_bytes; at += lines.record.bytes) {
		uint32_t left = all_bytes - at, bytes = left < GPT_CODE_LINES_CHUNK ? left : GPT_CODE_LINES_CHUNK;

		memset(&lines, 0, sizeof(lines));
		lines.record = (struct gpt_code_lines){
			.hdr = {.size = (uint32_t)gpt_padded(sizeof(lines.record) + bytes), .type = GPT_CODE_LINES},
			.code = number,
			.pid = pid,
			.offset = at,
			.bytes = bytes};
		memcpy(lines.record.data, table + at, bytes);
		awaits->emit(awaits->context, &lines.record.hdr);
	}
}

/* A code object of its own for each line: where the coroutine stands is then its line, whatever the instruction. */
static void emit_code(const struct awaits *awaits, const struct loops_await *answer, const struct loops_frame *frame,
		      uint64_t number)
{
	union {
		struct gpt_code record;
		uint8_t bytes[sizeof(struct gpt_code) + 4 * GPT_CODE_NAME_MAX + 4 * GPT_CODE_FILE_MAX];
	} code;
	uint8_t table[TABLE_MOST];
	size_t at;

	memset(&code, 0, sizeof(code));
	code.record = (struct gpt_code){.hdr = {.type = GPT_CODE},
					.code = number,
					.pid = answer->pid,
					.first_line = frame->first_line,
					.name_kind = 4,
					.filename_kind = 4};
	code.record.name_bytes = put_ucs4(code.record.data, answer->text + frame->function, 4 * GPT_CODE_NAME_MAX);
	at = gpt_padded(code.record.name_bytes);
	code.record.filename_bytes = put_ucs4(code.record.data + at, answer->text + frame->file, 4 * GPT_CODE_FILE_MAX);
	at += gpt_padded(code.record.filename_bytes);
	code.record.hdr.size = (uint32_t)(sizeof(code.record) + at);
	if (frame->line) {
		code.record.linetable = GPT_LINES_LNOTAB;
		code.record.linetable_bytes = put_line_table(table, (int64_t)frame->line - frame->first_line);
	}
	awaits->emit(awaits->context, &code.record.hdr);
	emit_lines(awaits, answer->pid, number, table, code.record.linetable_bytes);
}

static uint64_t number_of_frame(const struct awaits *awaits, const struct loops_await *answer,
				const struct loops_frame *frame)
{
	const char *function = answer->text + frame->function, *file = answer->text + frame->file;
	const uint64_t parts[] = {hash_bytes(awaits->seed, function, strlen(function)),
				  hash_bytes(awaits->seed, file, strlen(file)),
				  (uint64_t)frame->first_line << 32 | frame->line};

	return hash_bytes(awaits->seed, parts, sizeof(parts)) | OWN_NUMBER;
}

static uint64_t emit_stack(struct awaits *awaits, const struct loops_await *answer)
{
	union {
		struct gpt_pystack record;
		uint8_t bytes[sizeof(struct gpt_pystack) + LOOPS_FRAMES * sizeof(struct gpt_pyframe)];
	} stack;
	struct gpt_pyframe frames[LOOPS_FRAMES] = {0};
	uint64_t number;

	for (uint32_t i = 0; i < answer->frame_count; i++) {
		frames[i].code = number_of_frame(awaits, answer, &answer->frames[i]);
		if (is_new(awaits, answer->image, frames[i].code))
			emit_code(awaits, answer, &answer->frames[i], frames[i].code);
	}
	number = hash_bytes(awaits->seed, frames, answer->frame_count * sizeof(*frames)) | OWN_NUMBER;
	if (!is_new(awaits, answer->image, ~number))
		return number;
	stack.record = (struct gpt_pystack){
		.hdr = {.size = (uint32_t)(sizeof(stack.record) + answer->frame_count * sizeof(*frames)),
			.type = GPT_PYSTACK},
		.id = number,
		.pid = answer->pid,
		.depth = answer->frame_count};
	memcpy(stack.record.frames, frames, answer->frame_count * sizeof(*frames));
	awaits->emit(awaits->context, &stack.record.hdr);
	return number;
}

static void emit_await(struct awaits *awaits, const struct loops_await *answer)
{
	struct gpt_await await = {.hdr = {.size = sizeof(await), .type = GPT_AWAIT},
				  .time_ns = answer->time_ns,
				  .end_ns = answer->end_ns,
				  .stack_id = emit_stack(awaits, answer),
				  .pid = answer->pid,
				  .tid = answer->tid,
				  .tasks = answer->tasks,
				  .all = answer->all};

	awaits->emit(awaits->context, &await.hdr);
}

/* ---- the list of processes, and answers -------------------------------------------------------------------------- */

static uint64_t image_of(const struct followed *process)
{
	const uint64_t parts[] = {process->start_ticks, process->program};

	return hash_bytes(1, parts, sizeof(parts)) | 1;
}

static struct loops_process *find_listed(const struct awaits *awaits, uint32_t pid)
{
	return find_item(awaits->shared->processes, LOOPS_PROCESSES, item, item->pid == pid);
}

static void list_processes(const struct awaits *awaits, struct processes *processes)
{
	for (size_t i = 0; i < LOOPS_PROCESSES; i++) {
		struct loops_process *listed = &awaits->shared->processes[i];

		if (listed->pid && !processes_find(processes, (pid_t)listed->pid))
			listed->pid = 0;
	}
	for (size_t i = 0; i < processes->list.count; i++) {
		const struct followed *process = processes->list.items[i];
		struct loops_process *listed = find_listed(awaits, (uint32_t)process->pid);

		if (!listed && process->has_python)
			listed = find_listed(awaits, 0);
		if (!listed)
			continue;
		listed->image = image_of(process);
		listed->pid = (uint32_t)process->pid;
	}
}

/* Returns how many there were. */
static unsigned take_answers(struct awaits *awaits)
{
	static struct loops_await answer;
	unsigned i;

	for (i = 0; i < ANSWERS_MOST; i++) {
		ssize_t got = recv(awaits->answers, &answer, sizeof(answer), MSG_DONTWAIT);
		const struct loops_process *listed;

		if (got < (ssize_t)offsetof(struct loops_await, text))
			break;
		listed = find_listed(awaits, answer.pid);
		if (listed && listed->image == answer.image)
			emit_await(awaits, &answer);
	}
	return i;
}

/* A reader that has no CPU is not kept waiting. */
static void give_up_stuck(struct awaits *awaits, uint64_t now_ns)
{
	uint64_t busy = awaits->shared->busy;

	if (busy != awaits->busy || !busy || process_state(awaits->reader) == 'R') {
		awaits->busy = busy;
		awaits->busy_ns = now_ns;
	} else if (now_ns - awaits->busy_ns > STUCK_NS) {
		emit_note(awaits->emit, awaits->context, (uint32_t)(busy >> 32),
			  "pid %u keeps a reader of its memory waiting: from here on no task of asyncio in any "
			  "process has the line at which it awaits",
			  (unsigned)(busy >> 32));
		end_reader(awaits);
	}
}

bool awaits_tick(struct awaits *awaits, struct processes *processes, uint64_t now_ns)
{
	bool any;

	if (!awaits || !awaits->reader)
		return false;
	any = take_answers(awaits);
	list_processes(awaits, processes);
	give_up_stuck(awaits, now_ns);
	return any;
}
