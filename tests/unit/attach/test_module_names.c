/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of modules of PyTorch, from stacks that a process could have: a script makes modules and says where they are.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "attach/emit/module_names.h"
#include "base/monotonic.h"
#include "built_library.h"
#include "every_python.h"
#include "python_child.h"
#include "target/python/python_tree_dicts.h"

#define KEPT 128

/* Executes each line that it gets, and answers with the address of `it`. */
static const char source[] = "import os, sys, types\n"
			     "class Module:\n"
			     "    def __init__(self, **children):\n"
			     "        self.training = True\n"
			     "        self._modules = children\n"
			     "    def __call__(self): pass\n"
			     "for name in ('torch', 'torch.nn', 'torch.nn.modules', 'torch.nn.modules.module'):\n"
			     "    sys.modules[name] = types.ModuleType(name)\n"
			     "sys.modules['torch.nn.modules.module'].Module = Module\n"
			     "class Leaf(Module): pass\n"
			     "class Other(Module): pass\n"
			     "class Net(Module): pass\n"
			     /* The allocator gives freed memory to the next objects of the same size. */
			     "def replace(holder, key, kind=Other):\n"
			     "    made, address, kept = kind.__new__, id(holder[key]), [None] * 10000\n"
			     "    places = iter(range(len(kept)))\n" /* nothing else may get that memory */
			     "    del holder[key]\n"
			     "    for i in places: kept[i] = made(kind)\n"
			     "    found = [module for module in kept if id(module) == address]\n"
			     "    for module in found: module.__init__()\n"
			     "    return found[0] if found else None\n"
			     "it = None\n"
			     "print('ready', flush=True)\n"
			     "for line in sys.stdin:\n"
			     "    exec(line)\n"
			     "    print(id(it), flush=True)\n";

static char *folder, *script_path;
static struct child child;
static struct python_info info;
static struct python_reader reader;
static struct python_module_class class;
static struct module_names *names;

/* ---- what was described ------------------------------------------------------------------------------------------ */

static struct described {
	uint64_t module;
	uint32_t generation, names, root_number;
	bool unnamed;
	char name[64], class[64], root_class[64], why[128], other[64];
} described[KEPT];
static unsigned described_count;

static void keep(char *to, size_t size, const char **at)
{
	snprintf(to, size, "%s", *at);
	*at += strlen(*at) + 1;
}

static void take_record(void *context, const struct gpt_record *record)
{
	const struct gpt_module *module = (const void *)record;
	const char *at = module->text, *end = at + module->bytes;
	struct described *of = NULL;

	(void)context;
	assert_int_equal(record->type, GPT_MODULE);
	for (unsigned i = 0; i < described_count; i++)
		if (described[i].module == module->module && described[i].generation == module->generation)
			of = &described[i];
	if (!of) {
		assert_true(described_count < KEPT);
		of = &described[described_count++];
	}
	*of = (struct described){.module = module->module,
				 .generation = module->generation,
				 .names = module->names,
				 .root_number = module->root_number,
				 .unnamed = module->hdr.flags & GPT_MODULE_UNNAMED};
	keep(of->name, sizeof(of->name), &at);
	keep(of->class, sizeof(of->class), &at);
	keep(of->root_class, sizeof(of->root_class), &at);
	keep(of->why, sizeof(of->why), &at);
	assert_int_equal(of->unnamed, of->why[0] != '\0');
	if (at < end)
		keep(of->other, sizeof(of->other), &at);
}

static const struct described *last_of(uint64_t module)
{
	for (unsigned i = described_count; i-- > 0;)
		if (described[i].module == module)
			return &described[i];
	fail_msg("0x%llx was not described", (unsigned long long)module);
	return NULL;
}

static void assert_named(uint64_t module, const char *name, const char *of_class, const char *root_class)
{
	const struct described *of = last_of(module);

	assert_false(of->unnamed);
	assert_string_equal(of->name, name);
	assert_string_equal(of->class, of_class);
	assert_string_equal(of->root_class, root_class);
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

static uint64_t ask(const char *code)
{
	unsigned long long address;
	char line[64];

	fprintf(child.to, "%s\n", code);
	fflush(child.to);
	assert_non_null(fgets(line, sizeof(line), child.from));
	assert_int_equal(sscanf(line, "%llu", &address), 1);
	return address;
}

/* A stack of one frame with these modules, innermost first; 0 ends them. */
static void note(uint64_t first, uint64_t second, uint64_t third)
{
	const uint64_t given[] = {first, second, third};
	_Alignas(8) uint8_t bytes[sizeof(struct gpt_pystack) + sizeof(struct gpt_pyframe) +
				  3 * sizeof(struct gpt_stack_module)] = {};
	struct gpt_pystack *stack = (struct gpt_pystack *)bytes;
	struct gpt_stack_module *modules = (struct gpt_stack_module *)&stack->frames[1];
	unsigned count = 0;

	for (; count < 3 && given[count]; count++)
		modules[count] = (struct gpt_stack_module){given[count], 0, module_names_generation(names)};
	*stack = (struct gpt_pystack){.hdr = {.type = GPT_PYSTACK, .flags = GPT_PYSTACK_MODULES},
				      .id = 1,
				      .pid = (uint32_t)child.pid,
				      .depth = 1};
	stack->hdr.size = (uint32_t)((const uint8_t *)&modules[count] - bytes);
	module_names_note(names, stack);
}

static bool is_any_unnamed(void)
{
	for (unsigned i = 0; i < described_count; i++)
		if (last_of(described[i].module)->unnamed && strstr(described[i].why, "not all read"))
			return true;
	return false;
}

/* To the end: beside other work the time of one call may be over before all is read. */
static void work(void)
{
	for (unsigned i = 0; i < 100 && (!i || is_any_unnamed()); i++)
		assert_true(module_names_work(names, &reader, &class, true));
}

/* A check that has no more time goes on in the next one. */
static void another_is_found(void)
{
	for (unsigned i = 0; i < 1000; i++)
		if (module_names_check(names, &reader, &class))
			return;
	fail_msg("no other module was found");
}

/* test_python_modules.c shows what each version's memory says. */
static const char *some_python(void)
{
	for (unsigned i = 0; i < python_count; i++)
		if (pythons[i].major == 3)
			return pythons[i].path;
	fail_msg("there is no CPython 3 on this machine");
	return NULL;
}

static int start_process(void **state)
{
	const char *const argv[] = {some_python(), script_path, NULL};
	char why[256], line[64];

	(void)state;
	start_child(&child, argv, NULL, NULL);
	assert_non_null(fgets(line, sizeof(line), child.from));
	if (find_python(child.pid, &info, why, sizeof(why)))
		fail_msg("%s", why);
	reader = (struct python_reader){.pid = child.pid, .layout = &info.walk.layout};
	assert_true(python_module_class_find(&reader, &info.walk, &class));
	names = module_names_new(take_record, NULL);
	described_count = 0;
	return 0;
}

static int end_process(void **state)
{
	(void)state;
	module_names_free(names);
	python_info_free(&info);
	end_child(&child);
	return 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_a_name_is_of_the_outermost_root_seen(void **state)
{
	uint64_t leaf = ask("leaf = it = Leaf()"), encoder = ask("encoder = it = Net(first=leaf)");
	uint64_t net = ask("net = it = Net(encoder=encoder)");

	(void)state;
	note(leaf, encoder, 0);
	work();
	assert_named(leaf, "first", "Leaf", "Net");
	assert_named(encoder, "", "Net", "Net");
	note(leaf, encoder, net);
	work();
	assert_named(leaf, "encoder.first", "Leaf", "Net");
	assert_named(encoder, "encoder", "Net", "Net");
	assert_named(net, "", "Net", "Net");
	assert_int_equal(last_of(leaf)->root_number, last_of(net)->root_number);
}

static void test_a_shared_module_has_one_name_and_its_others(void **state)
{
	uint64_t leaf = ask("leaf = it = Leaf()"), net = ask("net = it = Net(tied=leaf, head=leaf)");

	(void)state;
	note(leaf, net, 0);
	work();
	assert_named(leaf, "tied", "Leaf", "Net");
	assert_int_equal(last_of(leaf)->names, 2);
	assert_string_equal(last_of(leaf)->other, "head");
}

static void test_two_models_have_two_roots(void **state)
{
	uint64_t one = ask("one = it = Net(a=Leaf())"), other = ask("other = it = Net(a=Leaf())");

	(void)state;
	note(ask("it = one._modules['a']"), one, 0);
	note(ask("it = other._modules['a']"), other, 0);
	work();
	assert_int_not_equal(last_of(one)->root_number, last_of(other)->root_number);
}

static void test_a_module_that_is_in_no_tree_has_its_class(void **state)
{
	uint64_t loose = ask("loose = it = Leaf()"), net = ask("net = it = Net()");

	(void)state;
	note(loose, net, 0);
	work();
	assert_true(last_of(loose)->unnamed);
	assert_string_equal(last_of(loose)->class, "Leaf");
	assert_string_equal(last_of(loose)->why, "it is not in the `_modules` of the outermost module that was called");
}

/* Of 300 attributes `_modules` is the last: that is not read. */
static void test_of_a_tree_that_is_cut_nothing_more_is_said(void **state)
{
	uint64_t loose = ask("loose = it = Leaf()"), net = ask("net = it = Net()");

	(void)state;
	ask("kept = net.__dict__.pop('_modules'); [setattr(net, 'a%d' % i, i) for i in range(300)]");
	ask("net._modules = kept");
	note(loose, net, 0);
	work();
	assert_string_equal(last_of(loose)->why, "the modules of the outermost module were not all read");
	ask("[delattr(net, 'a%d' % i) for i in range(300)]; net.__dict__ = dict(net.__dict__)");
	note(ask("other = it = Leaf()"), net, 0);
	work();
	assert_string_equal(last_of(ask("it = other"))->why,
			    "it is not in the `_modules` of the outermost module that was called");
}

/* A tree is read again where a module is not in it. */
static void test_a_module_that_is_added_later_is_named(void **state)
{
	uint64_t net = ask("net = it = Net()");

	(void)state;
	note(net, 0, 0);
	work();
	note(ask("it = net._modules['late'] = Leaf()"), net, 0);
	work();
	assert_named(ask("it = net._modules['late']"), "late", "Leaf", "Net");
}

static void test_another_module_at_an_address_is_another_generation(void **state)
{
	uint64_t net = ask("net = it = Net(a=Leaf())"), leaf = ask("it = net._modules['a']");

	(void)state;
	note(leaf, net, 0);
	note(ask("it = net._modules['m0'] = Leaf()"), net, 0);
	work();
	assert_false(module_names_check(names, &reader, &class));
	/* its attributes and its dict of modules move */
	ask("for i in range(200): setattr(net, 'a%d' % i, i); net._modules['n%d' % i] = Leaf()");
	assert_false(module_names_check(names, &reader, &class));
	ask("del net._modules['m0']; it = None");
	assert_false(module_names_check(names, &reader, &class));
	assert_int_equal(ask("it = replace(net._modules, 'a')"), leaf);
	another_is_found();
	assert_int_equal(module_names_generation(names), 1);
	ask("net._modules['b'] = it");
	note(leaf, net, 0);
	work();
	assert_int_equal(last_of(leaf)->generation, 1);
	assert_named(leaf, "b", "Other", "Net");
	assert_false(module_names_check(names, &reader, &class));
}

/* A forward creates a module each time; where it was is a module of another model later, perhaps of the same class. */
static void test_where_a_module_without_a_name_was_another_one_has_its_name(void **state)
{
	uint64_t loose = ask("loose = it = Leaf()"), net = ask("net = it = Net()"), other;

	(void)state;
	note(loose, net, 0);
	work();
	assert_true(last_of(loose)->unnamed);
	other = ask("other = it = Net(a=loose)");
	note(loose, other, 0);
	another_is_found();
	note(loose, other, 0);
	work();
	assert_named(loose, "a", "Leaf", "Net");
	assert_int_equal(last_of(loose)->generation, 1);
	assert_false(module_names_check(names, &reader, &class));
}

/* A program creates its loss again in each step. */
static void test_a_module_that_is_created_again_with_the_same_name_is_the_same(void **state)
{
	uint64_t loss = ask("loss = it = Leaf()"), children = ask("it = loss._modules");

	(void)state;
	note(loss, 0, 0);
	work();
	assert_int_equal(ask("kept = loss._modules; it = loss = replace(globals(), 'loss', Leaf)"), loss);
	assert_int_not_equal(ask("it = loss._modules"), children);
	assert_false(module_names_check(names, &reader, &class));
	assert_int_equal(module_names_generation(names), 0);
	assert_false(module_names_check(names, &reader, &class));
}

static void test_a_root_keeps_its_number_when_another_module_changes(void **state)
{
	uint64_t net = ask("net = it = Net(a=Leaf())"), loss = ask("loss = it = Leaf()");
	uint32_t number;

	(void)state;
	note(loss, 0, 0);
	note(net, 0, 0);
	work();
	number = last_of(net)->root_number;
	ask("it = None");
	assert_int_equal(ask("it = loss = replace(globals(), 'loss')"), loss);
	another_is_found();
	note(net, 0, 0);
	note(loss, 0, 0);
	work();
	assert_int_equal(last_of(net)->generation, 1);
	assert_int_equal(last_of(net)->root_number, number);
	assert_named(loss, "", "Other", "Other");
}

static void test_code_that_gets_no_modules_is_noticed(void **state)
{
	uint64_t list = ask("kept = it = [object() for _ in range(100)]");
	bool fits = true;

	(void)state;
	assert_int_not_equal(list, 0);
	for (unsigned i = 0; i < 100 && fits; i++) {
		char code[32];

		snprintf(code, sizeof(code), "it = kept[%u]", i);
		note(ask(code), 0, 0);
		fits = module_names_work(names, &reader, &class, true);
	}
	assert_false(fits);
	assert_string_equal(described[0].why, "no module was there when it was read");
}

/* Its process has ended, or may not be read any more: that says nothing of the code. */
static void test_what_cannot_be_read_is_not_taken_for_something_else(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 100; i++)
		note(8 * i, 0, 0);
	work();
	for (uint64_t i = 1; i <= 100; i++)
		assert_string_equal(last_of(8 * i)->why, "it could not be read");
}

/* A forked process has its parent's mark before its own class is found. */
static void test_without_the_class_nothing_is_named_yet(void **state)
{
	uint64_t net = ask("net = it = Net()");

	(void)state;
	note(net, 0, 0);
	assert_true(module_names_work(names, &reader, &(struct python_module_class){0}, true));
	assert_int_equal(described_count, 0);
	work();
	assert_named(net, "", "Net", "Net");
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* Reads, and lets the time pass where it comes to one read. */
static struct {
	uint64_t address, bytes; /* address 0: any */
	uint64_t end_ns;
	unsigned after; /* reads since then */
	bool is_over;
} slow;

static int read_slowly(void *context, uint64_t address, void *buffer, size_t bytes)
{
	struct iovec here = {buffer, bytes}, there = {(void *)(uintptr_t)address, bytes};

	(void)context;
	slow.after += slow.is_over;
	if (!slow.is_over && bytes == slow.bytes && (!slow.address || address == slow.address)) {
		while (monotonic_ns() <= slow.end_ns)
			;
		slow.is_over = true;
	}
	return process_vm_readv(child.pid, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -EFAULT;
}

static void begin_slow(uint64_t address, uint64_t bytes, uint64_t ns)
{
	slow = (__typeof__(slow)){.address = address, .bytes = bytes, .end_ns = monotonic_ns() + ns};
	process_read_by(child.pid, read_slowly, NULL);
}

/* Some reads of what was begun follow. */
static void check_cut(uint64_t root, uint64_t address, uint64_t bytes)
{
	struct python_tree tree = {0};

	begin_slow(address, bytes, 2000000000);
	python_tree_read(&reader, &class, root, slow.end_ns, &tree);
	process_read_by(0, NULL, NULL);
	assert_true(slow.is_over && slow.after < 16);
	assert_true(tree.cut || tree.late);
	python_tree_free(&tree);
}

static void test_no_read_begins_after_the_time_is_over(void **state)
{
	uint64_t names_root, classes_root, mro;

	(void)state;
	names_root = ask("names = it = Net(**{('n%d' % i).ljust(100, '_'): Leaf() for i in range(300)})");
	classes_root = ask("classes = it = Net(**{'c%d' % i: type('C', (Leaf,), {})() for i in range(300)})");
	mro = ask("it = type(classes._modules['c3'])") + 344; /* PyTypeObject.tp_mro */
	check_cut(names_root, 0, 100);
	check_cut(classes_root, mro, 8);
}

/* Fails once, as where a page cannot be had in time. */
static struct {
	uint64_t address;
	bool has_failed;
} blocked;

static int read_blocked(void *context, uint64_t address, void *buffer, size_t bytes)
{
	struct iovec here = {buffer, bytes}, there = {(void *)(uintptr_t)address, bytes};

	(void)context;
	if (address == blocked.address && !blocked.has_failed) {
		blocked.has_failed = true;
		return -ETIMEDOUT;
	}
	return process_vm_readv(child.pid, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -EFAULT;
}

/* A name of many modules, whose reading failed once, is not taken for known. */
static void test_a_read_that_fails_leaves_no_name_behind(void **state)
{
	struct python_tree tree = {0};
	uint64_t root;

	(void)state;
	root = ask("root = it = Net(**{'c%d' % i: Net(weight=Leaf()) for i in range(1500)})");
	blocked = (__typeof__(blocked)){.address = ask("it = next(iter(root._modules['c0']._modules))")};
	process_read_by(child.pid, read_blocked, NULL);
	python_tree_read(&reader, &class, root, monotonic_ns() + 60000000000, &tree);
	process_read_by(0, NULL, NULL);
	assert_true(blocked.has_failed && tree.cut);
	for (size_t i = 0; i < tree.modules.count; i++)
		assert_in_range(tree.modules.items[i].name, 0, tree.texts.count - 1);
	python_tree_free(&tree);
}

static void test_reading_of_a_tree_goes_on_where_the_time_ended(void **state)
{
	uint64_t root = ask("root = it = Net(**{'c%d' % i: type('C', (Leaf,), {})() for i in range(300)})");
	uint64_t mro = ask("it = type(root._modules['c3'])") + 344; /* PyTypeObject.tp_mro */
	uint64_t last = ask("it = root._modules['c299']");

	(void)state;
	note(last, root, 0);
	begin_slow(mro, 8, 300000000);
	assert_true(module_names_work(names, &reader, &class, false));
	process_read_by(0, NULL, NULL);
	assert_true(slow.is_over);
	assert_string_equal(last_of(last)->why, "the modules of the outermost module were not all read");
	work();
	assert_named(last, "c299", "C", "Net");
}

static void test_a_name_stays_while_its_tree_is_read_again(void **state)
{
	uint64_t root = ask("root = it = Net(**{'c%d' % i: type('C', (Leaf,), {})() for i in range(300)})");
	uint64_t mro = ask("it = type(root._modules['c3'])") + 344;
	uint64_t first = ask("it = root._modules['c298']"), last = ask("it = root._modules['c299']");

	(void)state;
	note(last, root, 0);
	note(first, root, 0);
	work();
	ask("root._modules['c298']._modules = {'inner': Leaf()}");
	begin_slow(mro, 8, 300000000);
	assert_false(module_names_check(names, &reader, &class)); /* its place was not read yet */
	process_read_by(0, NULL, NULL);
	assert_true(slow.is_over);
	work();
	assert_named(first, "c298", "C", "Net");
	assert_named(last, "c299", "C", "Net");
	ask("root._modules['moved'] = root._modules.pop('c298')");
	ask("root._modules['moved']._modules = {'inner': Leaf()}");
	another_is_found();
	note(first, root, 0);
	work();
	assert_named(first, "moved", "C", "Net");
}

/* ---- what changes meanwhile -------------------------------------------------------------------------------------- */

static void test_a_dict_that_changes_while_it_is_read_harms_nobody(void **state)
{
	enum { WHOLE = 20 };
	uint64_t root = ask("net = it = Net(a=Leaf())"), stable = ask("it = net._modules['a']");
	unsigned whole = 0;

	(void)state;
	ask("exec('def change():\\n while net:\\n  for i in range(500): net._modules[str(i)] = Net(x=Leaf())\\n"
	    "  for i in range(500): del net._modules[str(i)]\\n  net._modules = dict(net._modules)'); import "
	    "threading; "
	    "it = threading.Thread(target=change, daemon=True); it.start()");
	while (whole < WHOLE) {
		struct python_tree tree = {0};

		python_tree_read(&reader, &class, root, monotonic_ns() + 200000000, &tree);
		assert_int_equal(tree.modules.items[0].address, root);
		if (!tree.cut && !tree.late && python_tree_find(&tree, stable) != PYTHON_MODULE_NONE)
			whole++;
		for (uint32_t j = 0; j < tree.modules.count; j++) {
			const struct python_tree_module *module = &tree.modules.items[j];
			char name[PYTHON_MODULE_NAME_MAX];

			python_tree_name(&tree, module->parent, module->name, name, sizeof(name));
		}
		python_tree_free(&tree);
	}
}

static void test_what_there_is_no_time_for_is_named_later(void **state)
{
	uint64_t second = 0;
	char code[64];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		uint64_t root;

		snprintf(code, sizeof(code), "r%u = it = Net(a=Leaf())", i);
		root = ask(code);
		second = i == 1 ? root : second;
		note(root, 0, 0);
	}
	begin_slow(second + reader.layout->object_type, 8, 300000000);
	assert_true(module_names_work(names, &reader, &class, false));
	process_read_by(0, NULL, NULL);
	assert_true(slow.is_over);
	assert_in_range(described_count, 1, 19);
	for (unsigned i = 0; i < 20 && described_count < 20; i++)
		work();
	assert_int_equal(described_count, 20);
}

/* Many modules can have the same `_modules`. */
static void test_no_more_is_asked_for_than_is_read(void **state)
{
	uint64_t dict = ask("big = it = {i: i for i in range(100000)}");
	struct python_tree tree = {0};
	struct reading reading = {
		.reader = &reader, .class = &class, .tree = &tree, .end_ns = monotonic_ns() + 60000000000};

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		array_push(&reading.views, ((struct view){.dict = dict}));
	assert_false(reading_get_entries(&reading, 100000));
	assert_true(tree.cut);
	assert_in_range(reading.pieces.count, 1, 5000);
	array_free(&reading.views);
	array_free(&reading.pieces);
	array_free(&reading.bytes);
}

/* Each level has an empty name, so that none is too long: a name that is in many places is written for each. */
static void test_a_tree_that_has_no_end_has_names_that_do(void **state)
{
	enum { LEVELS = 1 << 18, NAMES = 2000, CPU_MOST_NS = 1000000000 };
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	char name[PYTHON_MODULE_NAME_MAX];
	struct python_tree tree = {0};

	(void)state;
	array_push(&tree.texts, '\0');
	for (uint32_t i = 0; i < LEVELS; i++)
		array_push(&tree.modules,
			   ((struct python_tree_module){.parent = i ? i - 1 : PYTHON_MODULE_NONE, .name = 0}));
	for (unsigned i = 0; i < NAMES; i++)
		python_tree_name(&tree, LEVELS - 1, 0, name, sizeof(name));
	assert_string_equal(name, "...");
	python_tree_name(&tree, 9, 0, name, sizeof(name));
	assert_string_equal(name, "");
	assert_in_range(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns, 0, CPU_MOST_NS);
	python_tree_free(&tree);
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, start_process, end_process)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_is_of_the_outermost_root_seen),
		TEST(a_shared_module_has_one_name_and_its_others),
		TEST(two_models_have_two_roots),
		TEST(a_module_that_is_in_no_tree_has_its_class),
		TEST(of_a_tree_that_is_cut_nothing_more_is_said),
		TEST(a_module_that_is_added_later_is_named),
		TEST(another_module_at_an_address_is_another_generation),
		TEST(where_a_module_without_a_name_was_another_one_has_its_name),
		TEST(a_module_that_is_created_again_with_the_same_name_is_the_same),
		TEST(a_root_keeps_its_number_when_another_module_changes),
		TEST(code_that_gets_no_modules_is_noticed),
		TEST(what_cannot_be_read_is_not_taken_for_something_else),
		TEST(without_the_class_nothing_is_named_yet),
		TEST(no_read_begins_after_the_time_is_over),
		TEST(a_read_that_fails_leaves_no_name_behind),
		TEST(reading_of_a_tree_goes_on_where_the_time_ended),
		TEST(a_name_stays_while_its_tree_is_read_again),
		TEST(a_dict_that_changes_while_it_is_read_harms_nobody),
		TEST(what_there_is_no_time_for_is_named_later),
		TEST(no_more_is_asked_for_than_is_read),
		cmocka_unit_test(test_a_tree_that_has_no_end_has_names_that_do),
	};

	return cmocka_run_group_tests(tests, prepare_fixture, clean_fixture);
}
