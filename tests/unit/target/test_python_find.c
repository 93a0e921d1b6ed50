/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding CPython and its layout: every interpreter on this machine runs a script that reports its own frames, and
 * a walker that knows nothing but struct gpt_python must find the same ones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "built_library.h"
#include "every_python.h"
#include "python_child.h"
#include "target/image.h"
#include "target/python/python_source.h"

#define FRAMES_MAX 512
#define TEXT_MAX 512

/*
 * The script makes a second interpreter, which is newer and thus first in the list; 3.6 and 3.7 have no module for
 * that. The main thread blocks in os.read below recursion, a lambda called from C, a generator, a method, and names of
 * each width of characters; a worker blocks in a lock; a reporter writes the frames of all threads, then blocks.
 */
static const char script[] =
	"import os, sys, threading, time\n"
	"if sys.version_info < (3, 8):\n"
	"    import ctypes\n"
	"    api = ctypes.pythonapi\n"
	"    api.PyThreadState_Get.restype = api.Py_NewInterpreter.restype = ctypes.c_void_p\n"
	"    api.PyThreadState_Swap.argtypes = [ctypes.c_void_p]\n"
	"    this = api.PyThreadState_Get()\n"
	"    api.Py_NewInterpreter()\n"
	"    api.PyThreadState_Swap(this)\n"
	"else:\n"
	"    kept = __import__('_interpreters' if sys.version_info >= (3, 13) else '_xxsubinterpreters').create()\n"
	"gate = threading.Lock(); gate.acquire()\n"
	"out = []\n"
	"def report_thread(thread, frame):\n"
	"    out.append('thread %d %d' % (thread.ident, getattr(thread, 'native_id', 0) or 0))\n"
	"    while frame:\n"
	"        code = frame.f_code\n"
	"        table = code.co_linetable if hasattr(code, 'co_linetable') else code.co_lnotab\n"
	"        local = id(frame.f_locals['n']) if code.co_name == 'recurse' else 0\n"
	"        out.append('frame %d %d %d %d %d %d %s %s %s' % (id(code), code.co_firstlineno, frame.f_lasti,\n"
	"            len(table), sum(table), local, code.co_name, getattr(code, 'co_qualname', '-'), "
	"code.co_filename))\n"
	"        frame = frame.f_back\n"
	/* [(thread, its system call, how often it began to wait)] for threads that read input or wait without limit */
	"def blocked():\n"
	"    found = []\n"
	"    for thread in os.listdir('/proc/self/task'):\n"
	"        with open('/proc/self/task/%s/syscall' % thread) as file: call = file.read().split()\n"
	"        with open('/proc/self/task/%s/status' % thread) as file: waits = file.read().split('\\n')[-3]\n"
	"        if call[:2] == ['0', '0x0'] or call[0] == '202' and call[4] == '0x0': found.append((thread, call, "
	"waits))\n"
	"    return found\n"
	"def reporter():\n"
	"    before, now = None, blocked()\n"
	"    while now != before or len(now) < threading.active_count() - 1:\n"
	"        time.sleep(0.001)\n"
	"        before, now = now, blocked()\n"
	"    frames = sys._current_frames()\n"
	"    for thread in threading.enumerate():\n"
	"        report_thread(thread, frames[thread.ident])\n"
	"    os.write(1, ('\\n'.join(out) + '\\nready\\n').encode('utf-8'))\n"
	"    gate.acquire()\n"
	"def worker():\n"
	"    gate.acquire()\n"
	"class Model:\n"
	"    def forward(self):\n"
	"        os.read(0, 1)\n"
	"        thread = threading.Thread(target=worker, daemon=True)\n"
	"        thread.start()\n"
	"        os.write(1, b'started\\n')\n"
	"        os.read(0, 1)\n"
	"    def gr\303\266\303\237e(self):\n"
	"        return self.forward()\n"
	"    def \345\207\275\346\225\260(self):\n"
	"        return self.gr\303\266\303\237e()\n"
	"    def \360\240\200\200(self):\n"
	"        return self.\345\207\275\346\225\260()\n"
	"def numbers(n):\n"
	"    for i in range(n):\n"
	"        yield Model().\360\240\200\200()\n"
	"def recurse(n):\n"
	"    a, b, c, d, e, f, g, h, i, j = range(10)\n"
	"    if n:\n"
	"        return recurse(n - 1)\n"
	"    return list(map(lambda x: sum(y or 0 for y in numbers(x)), [1]))\n"
	"threading.Thread(target=worker, daemon=True).start()\n"
	"threading.Thread(target=reporter, daemon=True).start()\n"
	"recurse(200)\n";

/* ---- the script's output ----------------------------------------------------------------------- */

struct reported_frame {
	unsigned long long code, table_bytes, table_sum;
	unsigned long long local; /* the object in the first local variable; 0: not reported */
	int first_line, lasti;
	char name[TEXT_MAX], qualname[TEXT_MAX], file[TEXT_MAX];
};

struct reported_thread {
	unsigned long long ident, native;
	unsigned depth;
	struct reported_frame frames[FRAMES_MAX];
};

struct reported {
	unsigned count;
	struct reported_thread threads[4];
};

static void listen_to(struct child *child, struct reported *reported)
{
	char line[4 * TEXT_MAX];

	memset(reported, 0, sizeof(*reported));
	while (fgets(line, sizeof(line), child->from) && strcmp(line, "ready\n")) {
		struct reported_thread *thread = reported->count ? &reported->threads[reported->count - 1] : NULL;

		if (strncmp(line, "thread", 6) == 0) {
			assert_true(reported->count < 4);
			thread = &reported->threads[reported->count++];
			assert_int_equal(sscanf(line, "thread %llu %llu", &thread->ident, &thread->native), 2);
		} else {
			struct reported_frame *frame;

			assert_non_null(thread);
			assert_true(thread->depth < FRAMES_MAX);
			frame = &thread->frames[thread->depth++];
			assert_int_equal(sscanf(line, "frame %llu %d %d %llu %llu %llu %511s %511s %511[^\n]",
						&frame->code, &frame->first_line, &frame->lasti, &frame->table_bytes,
						&frame->table_sum, &frame->local, frame->name, frame->qualname,
						frame->file),
					 9);
		}
	}
	assert_int_equal(reported->count, 3);
}

/* ---- the reference walker ---------------------------------------------------------------------- */

static pid_t walked;

static uint64_t read_word(uint64_t address)
{
	uint64_t value;

	if (process_read_memory(walked, address, &value, sizeof(value)))
		fail_msg("cannot read %#llx", (unsigned long long)address);
	return value;
}

static uint32_t read_half(uint64_t address)
{
	uint32_t value;

	if (process_read_memory(walked, address, &value, sizeof(value)))
		fail_msg("cannot read %#llx", (unsigned long long)address);
	return value;
}

static uint8_t read_byte(uint64_t address)
{
	return (uint8_t)read_half(address);
}

static size_t put_utf8(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static void read_string(const struct gpt_pylayout *l, uint64_t object, char text[TEXT_MAX])
{
	uint32_t state = read_half(object + l->str_state), kind = state >> l->str_kind_shift & l->str_kind_mask;
	uint64_t length = read_word(object + l->str_length), data;
	size_t used = 0;

	assert_true(state >> l->str_compact_shift & 1);
	assert_true(kind == 1 || kind == 2 || kind == 4);
	assert_true(length < TEXT_MAX / 4);
	data = object + (state >> l->str_ascii_shift & 1 ? l->str_ascii_data : l->str_compact_data);
	for (uint64_t i = 0; i < length; i++) {
		uint32_t c = read_half(data + i * kind);

		used += put_utf8(kind == 1 ? c & 0xff : kind == 2 ? c & 0xffff : c, text + used);
	}
	text[used] = '\0';
}

static void check_code(const struct gpt_pylayout *l, uint64_t code, const struct reported_frame *reported)
{
	uint64_t table = read_word(code + l->code_linetable), bytes = read_word(table + l->var_size), sum = 0;
	char text[TEXT_MAX];

	assert_int_equal(read_half(code + l->code_first_line), reported->first_line);
	read_string(l, read_word(code + l->code_name), text);
	assert_string_equal(text, reported->name);
	read_string(l, read_word(code + l->code_filename), text);
	assert_string_equal(text, reported->file);
	if (l->code_qualname != GPT_PY_ABSENT) {
		read_string(l, read_word(code + l->code_qualname), text);
		assert_string_equal(text, reported->qualname);
	}
	assert_int_equal(bytes, reported->table_bytes);
	for (uint64_t i = 0; i < bytes; i++)
		sum += read_byte(table + l->bytes_data + i);
	assert_int_equal(sum, reported->table_sum);
}

static int lasti_of(const struct gpt_pylayout *l, uint64_t frame, uint64_t code)
{
	if (l->walk == GPT_PY_WALK_OBJECTS)
		return (int)read_half(frame + l->frame_instr) * l->lasti_scale;
	return (int)(int64_t)(read_word(frame + l->frame_instr) - (code + l->code_instructions));
}

/* Frames of plain calls are in the thread's chunks, frames of generators in the generator. */
static bool is_in_chunks(const struct gpt_pylayout *l, uint64_t thread, uint64_t frame, unsigned *chunks)
{
	bool found = false;

	*chunks = 0;
	for (uint64_t chunk = read_word(thread + l->ts_datastack_chunk); chunk;
	     chunk = read_word(chunk + l->chunk_previous)) {
		found = found || (frame >= chunk + l->chunk_data && frame < chunk + read_word(chunk + l->chunk_size));
		assert_true(++*chunks < 100);
	}
	return found;
}

static void check_thread(const struct gpt_python *python, uint64_t thread, const struct reported_thread *reported,
			 bool is_reporter)
{
	const struct gpt_pylayout *l = &python->layout;
	uint64_t frame = read_word(thread + l->ts_frame);
	unsigned depth = 0, in_chunks = 0, chunks = 0;

	if (l->walk == GPT_PY_WALK_CFRAME)
		frame = read_word(frame + l->cframe_current_frame);
	if (l->ts_native_thread_id != GPT_PY_ABSENT)
		assert_int_equal(read_half(thread + l->ts_native_thread_id), reported->native);
	for (; frame; frame = read_word(frame + l->frame_back)) {
		uint64_t code = read_word(frame + l->frame_code) & ~7ull; /* 3.14: tags in the low bits */

		if (l->owner_skip && read_byte(frame + l->frame_owner) >= l->owner_skip)
			continue;
		assert_true(depth < reported->depth);
		assert_int_equal(read_word(code + l->object_type), python->code_type);
		assert_int_equal(code, reported->frames[depth].code);
		check_code(l, code, &reported->frames[depth]);
		if (!is_reporter || depth > 0) /* the reporter's innermost frame has moved on since it reported */
			assert_int_equal(lasti_of(l, frame, code), reported->frames[depth].lasti);
		if (reported->frames[depth].local)
			assert_int_equal(read_word(frame + l->frame_localsplus) & ~7ull, reported->frames[depth].local);
		if (l->ts_datastack_chunk != GPT_PY_ABSENT)
			in_chunks += is_in_chunks(l, thread, frame, &chunks);
		depth++;
	}
	assert_int_equal(depth, reported->depth);
	if (l->ts_datastack_chunk == GPT_PY_ABSENT)
		return;
	/* 200 frames of 10 locals fill several chunks; two generators are elsewhere. */
	assert_int_equal(in_chunks, depth > 100 ? depth - 2 : depth);
	if (depth > 100)
		assert_true(chunks > 1);
}

static unsigned check_threads(const struct gpt_python *python, uint64_t interpreter, const struct reported *reported)
{
	const struct gpt_pylayout *l = &python->layout;
	unsigned seen = 0;

	for (uint64_t thread = read_word(interpreter + l->interp_threads_head); thread;
	     thread = read_word(thread + l->ts_next)) {
		const struct reported_thread *same = NULL;

		assert_int_equal(read_word(thread + l->ts_interp), interpreter);
		for (unsigned i = 0; i < reported->count; i++)
			if (reported->threads[i].ident == read_word(thread + l->ts_thread_id))
				same = &reported->threads[i];
		assert_non_null(same);
		check_thread(python, thread, same,
			     strcmp(same->frames[0].name, "report_thread") == 0 ||
				     strcmp(same->frames[0].name, "reporter") == 0);
		seen++;
	}
	return seen;
}

/* The newest interpreter comes first; it never ran and has no thread with frames. Returns the other one. */
static uint64_t check_interpreters(const struct gpt_python *python, const struct reported *reported)
{
	const struct gpt_pylayout *l = &python->layout;
	uint64_t newest = read_word(python->runtime + l->runtime_interpreters_head),
		 first = read_word(newest + l->interp_next);
	uint64_t thread = read_word(newest + l->interp_threads_head);

	assert_int_not_equal(first, 0);
	assert_int_equal(read_word(first + l->interp_next), 0);
	if (thread) {
		assert_int_equal(read_word(thread + l->ts_interp), newest);
		assert_int_equal(read_word(thread + l->ts_next), 0);
	}
	assert_int_equal(check_threads(python, first, reported), reported->count);
	return first;
}

/* ---- the interpreters ----------------------------------------------------------------------------- */

static char *folder, *script_path;

static int prepare_fixture(void **state)
{
	(void)state;
	folder = make_folder();
	script_path = xasprintf("%s/tr\303\244ger.py", folder);
	write_text(script_path, script);
	return find_every_python();
}

static int clean_fixture(void **state)
{
	(void)state;
	forget_every_python();
	free(script_path);
	remove_folder(folder);
	return 0;
}

/* The probe for dying code objects is in code_dealloc: at its start or a few bytes into its prologue. */
static void check_dealloc(const struct python_info *info)
{
	struct image_symbol symbol;
	struct image *image;
	uint64_t offset;

	assert_int_equal(image_open(open(info->path, O_RDONLY | O_CLOEXEC), &image), 0);
	assert_int_not_equal(info->dealloc_offset, 0);
	if (image_symbol(image, "code_dealloc", &symbol) == 0) {
		assert_int_equal(image_file_offset(image, symbol.address, &offset), 0);
		assert_in_range(info->dealloc_offset, offset, offset + 16);
	} else {
		print_message("%s is stripped: code_dealloc not checked by name\n", info->path);
	}
	image_close(image);
}

/* The counter grows by one for the thread that the child starts when it gets a line. */
static void check_counter(const struct gpt_python *python, uint64_t interpreter, const struct child *child)
{
	uint64_t counter = interpreter + python->layout.interp_next_unique_id;
	uint64_t before = read_word(counter);
	char line[32];

	assert_in_range(before, 3, 1000);
	fputc('\n', child->to);
	fflush(child->to);
	assert_non_null(fgets(line, sizeof(line), child->from));
	assert_string_equal(line, "started\n");
	assert_int_equal(read_word(counter), before + 1);
}

/* Debug offsets equal the table, except in the large structures, which may grow within a series. */
static void check_table(const struct gpt_pylayout *layout)
{
	const struct gpt_pylayout *row = python_layout(layout->version);
	const size_t first = offsetof(struct gpt_pylayout, ts_next);

	assert_memory_equal((const char *)layout + first, (const char *)row + first, sizeof(*row) - first);
	assert_int_equal(layout->interp_threads_head - layout->interp_next_unique_id,
			 row->interp_threads_head - row->interp_next_unique_id);
}

static void check_supported(const struct python *python)
{
	const char *const argv[] = {python->path, script_path, NULL};
	struct reported *reported = xcalloc(1, sizeof(*reported));
	struct python_info info;
	struct child child;
	uint64_t first;
	char why[256];

	print_message("%s (%s)\n", python->path, python->release);
	start_child(&child, argv, NULL, NULL);
	listen_to(&child, reported);
	if (find_python(child.pid, &info, why, sizeof(why)))
		fail_msg("%s", why);
	assert_string_equal(info.version, python->release);
	assert_string_equal(why, "");
	assert_int_equal(info.walk.layout.version, python->major << 8 | python->minor);
	assert_false(info.free_threaded);
	check_table(&info.walk.layout);
	check_dealloc(&info);
	walked = child.pid;
	first = check_interpreters(&info.walk, reported);
	if (info.walk.layout.interp_next_unique_id)
		check_counter(&info.walk, first, &child);
	else
		assert_int_equal(python->minor, 6);
	python_info_free(&info);
	end_child(&child);
	free(reported);
}

static bool is_supported(const struct python *python)
{
	return python_layout(python->major << 8 | python->minor) != NULL;
}

static void every_supported_python_is_walked_to_its_own_frames(void **state)
{
	unsigned checked = 0;

	(void)state;
	for (unsigned i = 0; i < python_count; i++) {
		if (!is_supported(&pythons[i]))
			continue;
		check_supported(&pythons[i]);
		checked++;
	}
	if (!checked) {
		print_message("no supported CPython on this machine\n");
		skip();
	}
}

/* The cell's entry is among thousands of others, so that dicts have indices wider than a byte. */
static void the_text_of_a_cell_is_what_linecache_has(void **state)
{
	static const char cell_script[] =
		"import linecache, sys\n"
		"for i in range(3000):\n"
		"    linecache.cache['/src/%d.py' % i] = (1, None, ['pass\\n'], '/src/%d.py' % i)\n"
		"for i in range(0, 3000, 3):\n"
		"    del linecache.cache['/src/%d.py' % i]\n"
		"lines = ['x = 1\\n', '\\n', 'gr\\xf6\\xdfe = 2\\n', '\\u51fd\\u6570()\\n', '# \\U00020000\\n']\n"
		"linecache.cache['/tmp/ipykernel_1/7.py'] = (9, None, lines, '/tmp/ipykernel_1/7.py')\n"
		"linecache.cache['/tmp/ipykernel_1/8.py'] = (9, None, ['x' * 70000], '/tmp/ipykernel_1/8.py')\n"
		"print('ready'); sys.stdout.flush(); sys.stdin.read()\n";
	static const char text[] = "x = 1\n\ngr\303\266\303\237e = 2\n\345\207\275\346\225\260()\n# \360\240\200\200\n";

	(void)state;
	for (unsigned i = 0; i < python_count; i++) {
		const char *const argv[] = {pythons[i].path, "-c", cell_script, NULL};
		struct python_info info;
		char why[256], line[32], *source;
		struct child child;
		size_t bytes = 0;

		if (!is_supported(&pythons[i]))
			continue;
		print_message("%s\n", pythons[i].release);
		start_child(&child, argv, NULL, NULL);
		assert_non_null(fgets(line, sizeof(line), child.from));
		assert_int_equal(find_python(child.pid, &info, why, sizeof(why)), 0);
		source = python_source(child.pid, &info.walk, "/tmp/ipykernel_1/7.py", &bytes);
		assert_non_null(source);
		assert_int_equal(bytes, sizeof(text) - 1);
		assert_memory_equal(source, text, bytes);
		free(source);
		assert_null(python_source(child.pid, &info.walk, "/tmp/ipykernel_1/8.py", &bytes));
		assert_null(python_source(child.pid, &info.walk, "/src/0.py", &bytes));
		assert_null(python_source(child.pid, &info.walk, "/no/such.py", &bytes));
		python_info_free(&info);
		end_child(&child);
	}
}

static void every_other_python_is_refused_by_its_version(void **state)
{
	(void)state;
	for (unsigned i = 0; i < python_count; i++) {
		const char *const argv[] = {pythons[i].path, "-c",
					    "import sys; print('ready'); sys.stdout.flush(); sys.stdin.read()", NULL};
		char why[256], line[32], *version;
		struct python_info info;
		struct child child;

		if (is_supported(&pythons[i]))
			continue;
		start_child(&child, argv, NULL, NULL);
		assert_non_null(fgets(line, sizeof(line), child.from));
		assert_int_equal(find_python(child.pid, &info, why, sizeof(why)), -ENOTSUP);
		print_message("%s\n", why);
		version = xasprintf("CPython %u.%u", pythons[i].major, pythons[i].minor);
		assert_non_null(strstr(why, version));
		free(version);
		python_info_free(&info);
		end_child(&child);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_supported_python_is_walked_to_its_own_frames),
		cmocka_unit_test(the_text_of_a_cell_is_what_linecache_has),
		cmocka_unit_test(every_other_python_is_refused_by_its_version),
	};

	return cmocka_run_group_tests_name("target/python", tests, prepare_fixture, clean_fixture);
}
