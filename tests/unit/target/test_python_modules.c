/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Modules of PyTorch in every CPython on this machine: a script with a module of torch's shape says which modules its
 * frames are calls of, and how each is named. The walker of bpf/, compiled here, and the reader of `_modules` must find
 * the same.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/types.h>

#include "base/monotonic.h"
#include "built_library.h"
#include "every_python.h"
#include "python_child.h"
#include "target/python/python_modules.h"

#define GPT_USER_SPACE
#include "common.bpf.h"

#define CODE_MARKS_AGE (1u << 14)
#define LINE_BYTES 65536
#define PATIENT_NS 60000000000ull
#define MODULES_MANY "10000"

static const char source[] =
	"import os, sys, threading, types\n"
	"source = '''\n"
	"class Module:\n"
	"    def __init__(self):\n"
	"        self.__dict__['training'] = True\n"
	"        self.__dict__['_modules'] = {}\n"
	"    def __setattr__(self, name, value):\n"
	"        if isinstance(value, Module): self._modules[name] = value\n"
	"        else: object.__setattr__(self, name, value)\n"
	"    def __getattr__(self, name):\n"
	"        try: return self.__dict__['_modules'][name]\n"
	"        except KeyError: raise AttributeError(name)\n"
	"    def _wrapped_call_impl(self, *args, **kwargs):\n"
	"        return self._call_impl(*args, **kwargs)\n"
	"    def _call_impl(self, *args, **kwargs):\n"
	"        inner = lambda: self\n" /* makes it a cell, as in PyTorch */
	"        return self.forward(*args, **kwargs)\n"
	"    __call__ = _wrapped_call_impl\n"
	"'''\n"
	"for name in ('torch', 'torch.nn', 'torch.nn.modules', 'torch.nn.modules.module'):\n"
	"    sys.modules[name] = types.ModuleType(name)\n"
	"exec(compile(source, 'module.py', 'exec'), sys.modules['torch.nn.modules.module'].__dict__)\n"
	"Module = sys.modules['torch.nn.modules.module'].Module\n"
	"marked = Module.__call__.__code__\n"
	"def say(*words):\n"
	"    os.write(1, (' '.join(str(word) for word in words) + '\\n').encode('utf-8', 'replace'))\n"
	"def stop():\n"
	"    frame, depth, entries = sys._getframe(), 0, []\n"
	"    while frame:\n"
	"        if frame.f_code is marked:\n"
	"            entries.append((depth, id(frame.f_locals['self'])))\n"
	"        frame, depth = frame.f_back, depth + 1\n"
	"    say('stack', threading.get_ident(), depth, len(entries))\n"
	"    for depth, address in entries: say('entry', depth, address)\n"
	"    os.read(0, 1)\n"
	"class Leaf(Module):\n"
	"    def forward(self): stop()\n"
	"class Mixin: pass\n"
	"class Mixed(Mixin, Module):\n"
	"    def forward(self): self.inner()\n"
	"class Block(Module):\n"
	"    def __init__(self, *children, **named):\n"
	"        super().__init__()\n"
	"        for number, child in enumerate(children): self._modules[str(number)] = child\n"
	"        for name, child in named.items(): self._modules[name] = child\n"
	"    def forward(self):\n"
	"        for child in list(self._modules.values()): child()\n"
	"class Deep(Module):\n"
	"    def forward(self, left):\n"
	"        if left: self(left - 1)\n"
	"        else: stop()\n"
	"def made(mixed):\n"
	"    mixed.inner = Leaf()\n"
	"    return mixed\n"
	"net = Block(Leaf(), Leaf(), mixed=made(Mixed()))\n"
	"deep = Deep()\n"
	"shared, odd, plain = Leaf(), Leaf(), Leaf()\n"
	"for number in range(60): setattr(odd, 'attribute%d' % number, number)\n" /* its keys are its own */
	"plain.__dict__ = dict(plain.__dict__)\n"
	"names = Block(shared, net, odd, plain, Block(shared))\n"
	"names._modules['a;b\\x1b[31m'] = Leaf()\n"
	"names._modules['gr\\xf6\\xdfe'] = Leaf()\n"
	"names._modules['\\u6570\\u5b57\\U00010400'] = Leaf()\n"
	"names._modules['n' * 10000] = Leaf()\n"
	"names._modules[''] = Leaf()\n"
	"names._modules['none'] = None\n"
	"names._modules['cycle'] = names\n"
	"names._modules['no_module'] = Mixin()\n"
	"names._modules[7] = Leaf()\n"
	"odd._modules['below'] = Leaf()\n"
	"plain._modules['below'] = Leaf()\n"
	"many = Block(*[Block(*[Block(linear=Leaf()) for _ in range(99)]) for _ in range(int(sys.argv[1]) // 199)])\n"
	"def name_all(root):\n"
	"    found, level = {id(root): ''}, [(root, '')]\n"
	"    while level:\n"
	"        after = []\n"
	"        for module, name in level:\n"
	"            for key, child in module._modules.items():\n"
	"                if not isinstance(child, Module) or id(child) in found: continue\n"
	"                own = key if isinstance(key, str) else '?'\n"
	"                own = own if len(own) <= 256 else own[:256] + '...'\n"
	"                found[id(child)] = name + '.' + own if name else own\n"
	"                after.append((child, found[id(child)]))\n"
	"        level = after\n"
	"    return found\n"
	"say('code', id(Module), id(marked))\n"
	"for root in (names, many):\n"
	"    found = name_all(root)\n"
	"    say('tree', id(root), len(found))\n"
	"    for address, name in found.items(): say('name', address, name)\n"
	"say('done')\n"
	"net()\n"   /* three stacks, the first two of the same lines */
	"deep(1)\n" /* short, then of more frames than are kept */
	"deep(90)\n"
	"say('over')\n"
	"os.read(0, 1)\n";

/* ---- what the walker of bpf/ needs --------------------------------------------------------------------------------
 */

#define FRAMES_BYTES (2 * GPT_PYSTACK_MAX_FRAMES * sizeof(struct gpt_pyframe))

static struct {
	pid_t pid;
	uint64_t thread;
	unsigned stacks;
	union {
		struct gpt_pystack stack;
		uint8_t bytes[sizeof(struct gpt_pystack) + FRAMES_BYTES];
	} sent;
} walked;

static uint32_t code_age = 1, code_descriptions;

static long memory_read(void *to, uint64_t bytes, uint64_t from)
{
	return process_read_memory(walked.pid, from, to, bytes);
}

/* Of descriptions of code objects only that they can be sent matters here. */
static union {
	uint64_t aligned;
	uint8_t bytes[sizeof(struct gpt_code_lines) + GPT_CODE_LINES_CHUNK];
} reserved;

static void *record_reserve(uint64_t bytes)
{
	assert_true(bytes <= sizeof(reserved));
	return &reserved;
}

static void record_submit(void *record)
{
	assert_ptr_equal(record, &reserved);
}

static void record_discard(void *record)
{
	assert_ptr_equal(record, &reserved);
}

static long record_send(const void *record, uint64_t bytes)
{
	const struct gpt_record *header = record;

	if (header->type != GPT_PYSTACK)
		return 0;
	assert_true(bytes <= sizeof(walked.sent));
	memcpy(&walked.sent, record, bytes);
	walked.stacks++;
	return 0;
}

static int ring_is_short(void)
{
	return 0;
}

static void count_one(uint32_t which)
{
	assert_int_equal(which, GPT_COUNTER_STACK_TRUNCATED);
}

static uint64_t own_thread_pointer(void)
{
	return walked.thread;
}

static uint64_t first_stack_end(void)
{
	return 0;
}

static bool stack_is_known(uint64_t id)
{
	(void)id;
	return false;
}

static void stack_remember(const struct gpt_pystack *stack)
{
	assert_int_equal(stack->pid, walked.pid);
}

static bool code_is_known(const struct code_key *key)
{
	(void)key;
	return false;
}

static void code_remember(const struct code_key *key)
{
	assert_int_not_equal(key->code, 0);
}

static bool code_read_again(const struct code_key *key)
{
	(void)key;
	fail_msg("a code object cannot be read");
	return false;
}

static uint32_t *code_mark(uint64_t code, uint64_t program)
{
	static uint32_t mark;

	(void)code;
	(void)program;
	return &mark;
}

#include "python.bpf.h"

/* ---- the script's output ----------------------------------------------------------------------------------------- */

struct script {
	struct child child;
	struct python_info info;
	struct python_reader reader;
	struct python_module_class class;
};

/* Of the output, of which a pipe holds more than is said of a stack. */
static char line[LINE_BYTES];

static const char *next_line(struct script *script)
{
	assert_non_null(fgets(line, sizeof(line), script->child.from));
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static char *folder, *script_path;

static void start_script(struct script *script, const struct python *python)
{
	const char *const argv[] = {python->path, script_path, MODULES_MANY, NULL};
	unsigned long long type, code;
	char why[256];

	print_message("%s (%s)\n", python->path, python->release);
	start_child(&script->child, argv, NULL, NULL);
	assert_int_equal(sscanf(next_line(script), "code %llu %llu", &type, &code), 2);
	if (find_python(script->child.pid, &script->info, why, sizeof(why)))
		fail_msg("%s", why);
	script->reader = (struct python_reader){.pid = script->child.pid, .layout = &script->info.walk.layout};
	assert_true(python_module_class_find(&script->reader, &script->info.walk, &script->class));
	assert_int_equal(script->class.type, type);
	assert_int_equal(script->class.code, code);
}

static void end_script(struct script *script)
{
	end_child(&script->child);
	python_info_free(&script->info);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void check_tree(struct script *script, struct python_tree *tree, unsigned count)
{
	char name[PYTHON_MODULE_NAME_MAX], type[64];
	unsigned named = 0;

	for (size_t i = 0; i < tree->modules.count; i++)
		named += tree->modules.items[i].class != PYTHON_MODULE_NONE;
	assert_int_equal(named, count);
	for (unsigned i = 0; i < count; i++) {
		const char *said = next_line(script);
		unsigned long long address;
		int at = 0;
		uint32_t index;

		assert_int_equal(sscanf(said, "name %llu%n", &address, &at), 1);
		index = python_tree_find(tree, address);
		assert_int_not_equal(index, PYTHON_MODULE_NONE);
		python_tree_name(tree, tree->modules.items[index].parent, tree->modules.items[index].name, name,
				 sizeof(name));
		assert_string_equal(name, said + at + 1);
		if (i % 100 == 0) {
			assert_true(
				python_module_type_name(&script->reader, &script->class, address, type, sizeof(type)));
			assert_string_equal(type, tree->texts.items +
							  tree->classes.items[tree->modules.items[index].class].name);
		}
	}
	assert_false(tree->cut);
}

static void check_names(struct script *script)
{
	unsigned long long root;
	uint64_t begin_ns;
	unsigned count;

	while (sscanf(next_line(script), "tree %llu %u", &root, &count) == 2) {
		struct python_tree tree = {0};

		begin_ns = monotonic_ns();
		python_tree_read(&script->reader, &script->class, root, monotonic_ns() + PATIENT_NS, &tree);
		print_message("  %zu modules in %.1f ms\n", tree.modules.count,
			      (double)(monotonic_ns() - begin_ns) / 1e6);
		check_tree(script, &tree, count);
		/* `names` holds itself, and one module twice */
		assert_int_equal(tree.others.count, count > 5000 ? 0 : 2);
		python_tree_free(&tree);
	}
	assert_string_equal(line, "done");
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

static struct gpt_process_state process;

static uint64_t walk_once(struct walk_slot *slot)
{
	struct gpt_thread_state thread = {.pthread = walked.thread, .pid = (uint32_t)walked.pid};
	__u64 id = 0;

	memset(slot, 0, sizeof(*slot));
	slot->pid = (uint32_t)walked.pid;
	walked.stacks = 0;
	assert_int_equal(python_stack(&process, &thread, slot, 0, &id), GPT_STACK_OK);
	assert_int_equal(walked.stacks, 1);
	return id;
}

/* The frame of the record that is `depth` frames from the innermost one, as the script counts; -1: it was left out. */
static int kept_index(int depth, int of)
{
	enum { FIRST = GPT_PYSTACK_MAX_FRAMES - GPT_PYSTACK_OUTER_FRAMES - 1 };

	if (of <= GPT_PYSTACK_MAX_FRAMES || depth < FIRST)
		return depth;
	return depth < of - GPT_PYSTACK_OUTER_FRAMES ? -1 : depth - (of - GPT_PYSTACK_MAX_FRAMES);
}

static void check_entries(struct script *script, int depth, int entries, uint32_t generation)
{
	const struct gpt_pystack *stack = &walked.sent.stack;
	const struct gpt_stack_module *modules = (const struct gpt_stack_module *)(stack->frames + stack->depth);
	size_t expected = 0, room = (stack->hdr.size - sizeof(*stack)) / sizeof(*modules) - stack->depth;

	assert_int_equal(stack->depth, depth > GPT_PYSTACK_MAX_FRAMES ? GPT_PYSTACK_MAX_FRAMES : depth);
	assert_int_equal(stack->hdr.flags & GPT_PYSTACK_MODULES, entries ? GPT_PYSTACK_MODULES : 0);
	for (int i = 0; i < entries; i++) {
		unsigned long long address;
		int at;

		assert_int_equal(sscanf(next_line(script), "entry %d %llu", &at, &address), 2);
		at = kept_index(at, depth);
		if (at < 0)
			continue;
		assert_true(expected < room);
		assert_int_equal(modules[expected].frame, at);
		assert_int_equal(modules[expected].module, address);
		assert_int_equal(modules[expected].generation, generation);
		assert_int_equal(stack->frames[at].code, script->class.code);
		expected++;
	}
	assert_int_equal(room, expected);
}

/* The script writes all that it says of a stack before it reads: its frames stand still then. */
static void wait_until_it_reads(const struct script *script)
{
	char *path = xasprintf("/proc/%d/syscall", script->child.pid);
	unsigned number = 1, descriptor = 1;

	while (number || descriptor) {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		if (fscanf(file, "%u %x", &number, &descriptor) != 2)
			number = 1;
		fclose(file);
	}
	free(path);
}

/* The stack where the script stands; *plain: the id that it has where no code is marked. */
static uint64_t check_stack(struct script *script, struct walk_slot *slot, uint64_t *plain)
{
	unsigned long long thread;
	int depth, entries;
	uint64_t id, other;

	assert_int_equal(sscanf(next_line(script), "stack %llu %d %d", &thread, &depth, &entries), 3);
	walked.thread = thread;
	wait_until_it_reads(script);
	process.module_code = script->class.code;
	process.module_generation = 7;
	other = walk_once(slot);
	process.module_generation = 8;
	id = walk_once(slot);
	check_entries(script, depth, entries, 8);
	assert_int_not_equal(id, other);
	process.module_code = 0;
	*plain = walk_once(slot);
	assert_int_not_equal(id, *plain);
	assert_int_equal(walked.sent.stack.hdr.flags & GPT_PYSTACK_MODULES, 0);
	process.module_code = script->class.type; /* no frame has it */
	assert_int_equal(walk_once(slot), *plain);
	fputc('\n', script->child.to);
	fflush(script->child.to);
	return id;
}

static void check_stacks(struct script *script)
{
	struct walk_slot *slot = xcalloc(1, sizeof(*slot));
	uint64_t ids[5], plain[5];

	walked.pid = script->child.pid;
	process = (struct gpt_process_state){.python = script->info.walk, .program = 1, .generation = 1};
	for (size_t i = 0; i < 5; i++)
		ids[i] = check_stack(script, slot, &plain[i]);
	assert_int_equal(plain[0], plain[1]);
	assert_int_not_equal(ids[0], ids[1]);
	assert_string_equal(next_line(script), "over");
	free(slot);
}

/* ---- the interpreters -------------------------------------------------------------------------------------------- */

static int prepare_fixture(void **state)
{
	(void)state;
	folder = make_folder();
	script_path = xasprintf("%s/modules.py", folder);
	write_text(script_path, source);
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

static void test_modules_of_stacks_and_their_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < python_count; i++) {
		struct script script;

		if (pythons[i].major != 3)
			continue;
		start_script(&script, &pythons[i]);
		check_names(&script);
		check_stacks(&script);
		end_script(&script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules_of_stacks_and_their_names),
	};

	return cmocka_run_group_tests(tests, prepare_fixture, clean_fixture);
}
