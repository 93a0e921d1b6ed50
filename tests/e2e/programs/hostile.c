/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pretends to be a CPython: has its exported symbols and its structures, filled according to the first argument, and
 * launches.  The offsets, as in struct gpt_pylayout, are macros of the compiler's command line (fake_python.py).
 *
 *     hostile LIE LIBCUDART LAUNCHES
 *
 * Built as an executable: gputrace takes a file that exports _PyRuntime for an interpreter.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct dim3 {
	unsigned x, y, z;
};

typedef int (*launch_function)(const void *, struct dim3, struct dim3, void **, size_t, void *);

#define PART 16384 /* bytes of each structure */

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED unsigned long Py_Version = PY_VERSION_WORD;
EXPORTED _Alignas(4096) char _PyRuntime[PART];
EXPORTED char PyCode_Type[PART];

static char interpreters[2][PART], threads[2][PART], cframe[64], names[8][PART], codes[8][PART], lines[PART];
static _Alignas(4096) char chunk[1 << 20];
static char *frames[4096];
static unsigned frame_count;
static volatile int running = 1;
static pthread_t launcher;
static uint64_t first_interpreter;
static bool published;

static void put(char *part, size_t offset, uint64_t value, size_t bytes)
{
	memcpy(part + offset, &value, bytes);
}

static void put_word(char *part, size_t offset, uint64_t value)
{
	put(part, offset, value, 8);
}

static uint64_t at(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static void make_name(int index, const char *text)
{
	put_word(names[index], STR_LENGTH, strlen(text));
	put(names[index], STR_STATE, 1u << STR_KIND_SHIFT | 1u << STR_COMPACT_SHIFT | 1u << STR_ASCII_SHIFT, 4);
	strcpy(names[index] + STR_ASCII_DATA, text);
}

static void make_code(int index)
{
	put_word(codes[index], OBJECT_TYPE, at(PyCode_Type));
	put(codes[index], CODE_FIRST_LINE, 10u * (unsigned)(index + 1), 4);
	put_word(codes[index], CODE_NAME, at(names[index]));
#ifdef CODE_QUALNAME
	put_word(codes[index], CODE_QUALNAME, at(names[index]));
#endif
	put_word(codes[index], CODE_FILENAME, at(names[7]));
	put_word(codes[index], CODE_LINETABLE, at(lines));
}

static void add_frame(int code, unsigned owner)
{
	char *frame = chunk + 256 + (size_t)frame_count * 512;

	put_word(frame, FRAME_CODE, at(codes[code]));
#ifdef CODE_INSTRUCTIONS
	put_word(frame, FRAME_INSTR, at(codes[code] + CODE_INSTRUCTIONS));
	frame[FRAME_OWNER] = (char)owner;
#endif
	put_word(frame, FRAME_BACK, frame_count ? at(frames[frame_count - 1]) : 0);
	frames[frame_count++] = frame;
}

static void set_top(uint64_t frame)
{
#ifdef CFRAME_CURRENT_FRAME
	put_word(threads[0], TS_FRAME, at(cframe));
	put_word(cframe, CFRAME_CURRENT_FRAME, frame);
#else
	put_word(threads[0], TS_FRAME, frame);
#endif
}

/* Called when the lie is complete; before, no stack can be walked. */
static void publish(void)
{
	published = true;
	put_word(_PyRuntime, RUNTIME_INTERPRETERS_HEAD, first_interpreter);
}

/* An interpreter with one thread, this one, in gamma(), called by beta(), called by alpha(). */
static void make_python(void)
{
	static const struct {
		unsigned word, size_word;
		uint64_t value;
	} words[] = {DEBUG_WORDS};
	static const char *const texts[] = {"alpha", "beta", "gamma"};

	memset(lines, 0, sizeof(lines));
	put_word(lines, VAR_SIZE, LINES_BYTES);
	lines[BYTES_DATA] = (char)(0x80 | 13 << 3 | 7); /* 3.11 and later: eight units, no columns, the same line */
	make_name(7, "/nowhere/fake.py");
	for (int i = 0; i < 3; i++) {
		make_name(i, texts[i]);
		make_code(i);
	}
	frame_count = 0;
	for (int i = 0; i < 3; i++)
		add_frame(i, 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		put_word(_PyRuntime, words[i].word * 8, words[i].value);
		put_word(_PyRuntime, words[i].size_word * 8, 16000);
	}
	if (sizeof(words) > sizeof(*words)) {
		memcpy(_PyRuntime, "xdebugpy", 8);
		put_word(_PyRuntime, 8, PY_VERSION_WORD);
	}
	put_word(PyCode_Type, 24, at("code"));
	put_word(threads[0], TS_INTERP, at(interpreters[0]));
	put_word(threads[0], TS_THREAD_ID, (uint64_t)launcher);
#ifdef TS_DATASTACK_CHUNK
	put_word(threads[0], TS_DATASTACK_CHUNK, at(chunk));
	put_word(threads[0], TS_DATASTACK_CHUNK + 8, at(chunk + sizeof(chunk)));
	put_word(threads[0], TS_DATASTACK_CHUNK + 16, at(chunk + sizeof(chunk)));
	put_word(chunk, CHUNK_SIZE, sizeof(chunk));
#endif
	set_top(at(frames[frame_count - 1]));
	put_word(interpreters[0], INTERP_NEXT_UNIQUE_ID, 2);
	put_word(interpreters[0], INTERP_THREADS_HEAD, at(threads[0]));
	first_interpreter = at(interpreters[0]);
	if (published)
		publish();
}

/* ---- lies ------------------------------------------------------------------------------------- */

static void honest(void)
{
}

static void endless_threads(void)
{
	put_word(threads[0], TS_THREAD_ID, 1);
	put_word(threads[0], TS_NEXT, at(threads[0]));
}

static void endless_interpreters(void)
{
	put_word(threads[0], TS_THREAD_ID, 1);
	put_word(interpreters[0], INTERP_NEXT, at(interpreters[1]));
	put_word(interpreters[1], INTERP_NEXT, at(interpreters[0]));
}

static void endless_frames(void)
{
	put_word(frames[0], FRAME_BACK, at(frames[2]));
}

static void frame_is_its_own_caller(void)
{
	put_word(frames[2], FRAME_BACK, at(frames[2]));
}

static void endless_own_frames(void) /* like the interpreter's own frames, which are skipped */
{
#ifdef CODE_INSTRUCTIONS
	for (int i = 0; i < 3; i++)
		frames[i][FRAME_OWNER] = 3;
#endif
	put_word(frames[0], FRAME_BACK, at(frames[2]));
}

static void thousands_of_frames(void)
{
	for (unsigned i = 0; i < 1500; i++)
		add_frame((int)(i % 3), 0);
	set_top(at(frames[frame_count - 1]));
}

static void top_in_kernel(void)
{
	set_top(0xffffffff81000000ull);
}

static void top_not_canonical(void)
{
	set_top(0x1234567812345678ull);
}

static void caller_in_kernel(void)
{
	put_word(frames[0], FRAME_BACK, 0xffff888000001000ull);
}

static void caller_at_one(void)
{
	put_word(frames[0], FRAME_BACK, 1);
}

static void caller_at_the_end_of_a_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || munmap(pages + 4096, 4096))
		exit(1);
	put_word(frames[0], FRAME_BACK, at(pages + 4096 - 16));
}

static void thread_in_kernel(void)
{
	put_word(interpreters[0], INTERP_THREADS_HEAD, 0xffff888000001000ull);
}

static void interpreter_in_kernel(void)
{
	first_interpreter = 0xffff888000001000ull;
}

static void code_is_no_code(void)
{
	for (int i = 0; i < 3; i++)
		put_word(codes[i], OBJECT_TYPE, at(names));
}

static void code_in_kernel(void)
{
	for (int i = 0; i < 3; i++)
		put_word(frames[i], FRAME_CODE, 0xffff888000001000ull);
}

static void endless_names(void)
{
	for (int i = 0; i < 8; i++)
		put_word(names[i], STR_LENGTH, 1ull << 62);
	put_word(lines, VAR_SIZE, 1ull << 32);
}

static void negative_names(void)
{
	for (int i = 0; i < 8; i++)
		put_word(names[i], STR_LENGTH, ~0ull);
	put_word(lines, VAR_SIZE, ~0ull);
}

static void names_of_no_kind(void)
{
	for (int i = 0; i < 8; i++)
		put(names[i], STR_STATE, ~0u, 4);
}

static void names_in_kernel(void)
{
	for (int i = 0; i < 3; i++) {
		put_word(codes[i], CODE_NAME, 0xffff888000001000ull);
		put_word(codes[i], CODE_FILENAME, 0xffff888000001000ull);
		put_word(codes[i], CODE_LINETABLE, 0xffff888000001000ull);
	}
}

static void names_that_command_terminals(void)
{
	make_name(0, "\x1b[2J\x1b]0;gotcha\x07;al\npha 7\r\t\"\\");
	make_name(7, "/now\nhere/\x1b[31mfake\x9b.py");
	put(names[7], STR_STATE, 1u << STR_KIND_SHIFT | 1u << STR_COMPACT_SHIFT | 1u << STR_ASCII_SHIFT, 4);
}

static void offsets_at_the_edges(void)
{
	static const struct {
		unsigned word, size_word;
		uint64_t value;
	} words[] = {DEBUG_WORDS};

	for (size_t i = 0; i + 1 < sizeof(words) / sizeof(*words); i++)
		put_word(_PyRuntime, words[i].word * 8, 15992);
}

static void offsets_beyond(void)
{
	static const struct {
		unsigned word, size_word;
		uint64_t value;
	} words[] = {DEBUG_WORDS};

	for (size_t i = 0; i + 1 < sizeof(words) / sizeof(*words); i++)
		put_word(_PyRuntime, words[i].word * 8, ~0ull - i);
}

static void *change(void *unused)
{
	static const uint64_t wild[] = {0, 1, 7, 0xffff888000001000ull, 0x7ffffffff000ull, ~0ull, 1ull << 32};
	char *const parts[] = {interpreters[0], threads[0], cframe, names[0], codes[0], codes[1], lines};
	unsigned seed = 1;

	(void)unused;
	while (running) {
		char *part = parts[(unsigned)rand_r(&seed) % (sizeof(parts) / sizeof(*parts))];
		size_t bytes = part == cframe ? sizeof(cframe) : 512;

		put_word(part, (unsigned)rand_r(&seed) % (bytes / 8) * 8,
			 wild[(unsigned)rand_r(&seed) % (sizeof(wild) / sizeof(*wild))]);
		put_word(frames[(unsigned)rand_r(&seed) % 3], FRAME_BACK, at(frames[(unsigned)rand_r(&seed) % 3]));
		if (rand_r(&seed) % 2 == 0) {
			memset(interpreters, 0, sizeof(interpreters));
			make_python();
		}
	}
	return NULL;
}

static pthread_t changer;

static void everything_changes(void)
{
	pthread_create(&changer, NULL, change, NULL);
}

/* ---- pages and files whose reads block: WAITING_FILE --------------------------------------------------------- */

static void put_waiting_file(void *at, size_t bytes, int protection)
{
	int fd = open(getenv("WAITING_FILE"), O_RDONLY);
	int fixed = at ? MAP_FIXED : 0;

	if (fd < 0 || mmap(at, bytes, protection, MAP_PRIVATE | fixed, fd, 0) == MAP_FAILED) {
		perror("WAITING_FILE");
		exit(1);
	}
}

static void runtime_waits(void)
{
	publish(); /* it cannot be written to after this */
	put_waiting_file(_PyRuntime, PART, PROT_READ | PROT_WRITE);
}

static void library_waits(void)
{
	put_waiting_file(NULL, 4096, PROT_READ | PROT_EXEC);
}

#define LIE(name)                                                                                                      \
	{                                                                                                              \
#name, name                                                                                            \
	}
static const struct {
	const char *name;
	void (*make)(void);
} lies[] = {
	LIE(honest),
	LIE(endless_threads),
	LIE(endless_interpreters),
	LIE(endless_frames),
	LIE(frame_is_its_own_caller),
	LIE(endless_own_frames),
	LIE(thousands_of_frames),
	LIE(top_in_kernel),
	LIE(top_not_canonical),
	LIE(caller_in_kernel),
	LIE(caller_at_one),
	LIE(caller_at_the_end_of_a_page),
	LIE(thread_in_kernel),
	LIE(interpreter_in_kernel),
	LIE(code_is_no_code),
	LIE(code_in_kernel),
	LIE(endless_names),
	LIE(negative_names),
	LIE(names_of_no_kind),
	LIE(names_in_kernel),
	LIE(names_that_command_terminals),
	LIE(offsets_at_the_edges),
	LIE(offsets_beyond),
	LIE(everything_changes),
	LIE(runtime_waits),
	LIE(library_waits),
};

int main(int argc, char **argv)
{
	struct dim3 one = {1, 1, 1};
	launch_function launch;
	void *library;

	if (argc != 4)
		return 2;
	launcher = pthread_self();
	make_python();
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++)
		if (strcmp(argv[1], lies[i].name) == 0)
			lies[i].make();
	if (!published)
		publish();
	library = dlopen(argv[2], RTLD_NOW);
	launch = library ? (launch_function)(uintptr_t)dlsym(library, "cudaLaunchKernel") : NULL;
	if (!launch)
		return 1;
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i < atoi(argv[3]); i++) {
		launch(PyCode_Type, one, one, NULL, 0, NULL);
		usleep(2000); /* time for gputrace to read the stack, and to read again */
	}
	running = 0;
	if (changer)
		pthread_join(changer, NULL);
	printf("done\n");
	return 0;
}
