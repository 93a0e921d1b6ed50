/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints the layout of the CPython with whose headers it was compiled (see generate): `row`, its struct gpt_pylayout
 * for user/target/python/python_layouts.c; `words`, which of its _Py_DebugOffsets have the same, for
 * python_debug_words.c. Every number comes from offsetof, or from a bit field written and read back.
 */
#include <Python.h>
#include <frameobject.h>

#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe_structs.h>
#endif
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#elif PY_VERSION_HEX >= 0x03080000
#include <internal/pycore_pystate.h>
#elif PY_VERSION_HEX >= 0x03070000
#include <internal/pystate.h>
#endif

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030d0000
#define WALK "GPT_PY_WALK_CURRENT"
#elif PY_VERSION_HEX >= 0x030b0000
#define WALK "GPT_PY_WALK_CFRAME"
#else
#define WALK "GPT_PY_WALK_OBJECTS"
#endif

#if PY_VERSION_HEX >= 0x030b0000
#define LINES "GPT_LINES_LOCATIONS"
#elif PY_VERSION_HEX >= 0x030a0000
#define LINES "GPT_LINES_310"
#else
#define LINES "GPT_LINES_LNOTAB"
#endif

/* f_lasti counts code units from 3.10 on (Include/cpython/frameobject.h). */
#define LASTI_SCALE (PY_VERSION_HEX >= 0x030b0000 ? 0 : PY_VERSION_HEX >= 0x030a0000 ? 2 : 1)

static void print_number(const char *field, size_t value)
{
	printf("\t\t.%s = %zu,\n", field, value);
}

static void print_absent(const char *field)
{
	printf("\t\t.%s = GPT_PY_ABSENT,\n", field);
}

#define FIELD(name, type, member) print_number(name, offsetof(type, member))

static unsigned lowest_bit(unsigned word)
{
	return (unsigned)__builtin_ctz(word);
}

/* The state word with one of its bit fields all ones. */
#define STATE_WORD(field)                                                                                              \
	({                                                                                                             \
		PyASCIIObject object;                                                                                  \
		unsigned word;                                                                                         \
		memset(&object, 0, sizeof(object));                                                                    \
		object.state.field--;                                                                                  \
		memcpy(&word, &object.state, sizeof(word));                                                            \
		word;                                                                                                  \
	})

static void print_runtime(void)
{
#if PY_VERSION_HEX >= 0x03070000
	FIELD("runtime_interpreters_head", _PyRuntimeState, interpreters.head);
#else
	print_number("runtime_interpreters_head", 0); /* interp_head itself stands for the runtime (pystate.c) */
#endif
	FIELD("interp_next", PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030b0000
	FIELD("interp_threads_head", PyInterpreterState, threads.head);
	FIELD("interp_next_unique_id", PyInterpreterState, threads.next_unique_id);
#elif PY_VERSION_HEX >= 0x03070000
	FIELD("interp_threads_head", PyInterpreterState, tstate_head);
	FIELD("interp_next_unique_id", PyInterpreterState, tstate_next_unique_id);
#else
	FIELD("interp_threads_head", PyInterpreterState, tstate_head);
	print_number("interp_next_unique_id", 0); /* 3.6 has none */
#endif
#if PY_VERSION_HEX >= 0x030c0000
	FIELD("interp_modules", PyInterpreterState, imports.modules);
#else
	FIELD("interp_modules", PyInterpreterState, modules);
#endif
	FIELD("dict_keys", PyDictObject, ma_keys);
	FIELD("tuple_items", PyTupleObject, ob_item);
}

static void print_thread(void)
{
	FIELD("ts_next", PyThreadState, next);
	FIELD("ts_interp", PyThreadState, interp);
	FIELD("ts_thread_id", PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030b0000
	FIELD("ts_native_thread_id", PyThreadState, native_thread_id);
	FIELD("ts_datastack_chunk", PyThreadState, datastack_chunk);
	FIELD("chunk_previous", _PyStackChunk, previous);
	FIELD("chunk_size", _PyStackChunk, size);
	FIELD("chunk_data", _PyStackChunk, data);
#else
	print_absent("ts_native_thread_id");
	print_absent("ts_datastack_chunk");
	print_absent("chunk_previous");
	print_absent("chunk_size");
	print_absent("chunk_data");
#endif
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030d0000
	FIELD("ts_cframe", PyThreadState, cframe);
#else
	print_number("ts_cframe", 0);
#endif
#if PY_VERSION_HEX >= 0x030f0000
	FIELD("ts_base_frame", _PyThreadStateImpl, base_frame);
#else
	print_number("ts_base_frame", 0);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	FIELD("ts_frame", PyThreadState, current_frame);
	print_absent("cframe_current_frame");
#elif PY_VERSION_HEX >= 0x030b0000
	FIELD("ts_frame", PyThreadState, cframe);
	FIELD("cframe_current_frame", _PyCFrame, current_frame);
#else
	FIELD("ts_frame", PyThreadState, frame);
	print_absent("cframe_current_frame");
#endif
}

static void print_frame(void)
{
#if PY_VERSION_HEX >= 0x030b0000
	FIELD("frame_back", _PyInterpreterFrame, previous);
	FIELD("frame_owner", _PyInterpreterFrame, owner);
	FIELD("frame_localsplus", _PyInterpreterFrame, localsplus);
#else
	FIELD("frame_back", PyFrameObject, f_back);
	FIELD("frame_code", PyFrameObject, f_code);
	FIELD("frame_instr", PyFrameObject, f_lasti);
	print_absent("frame_owner");
	FIELD("frame_localsplus", PyFrameObject, f_localsplus);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	FIELD("frame_code", _PyInterpreterFrame, f_executable);
	FIELD("frame_instr", _PyInterpreterFrame, instr_ptr);
#elif PY_VERSION_HEX >= 0x030b0000
	FIELD("frame_code", _PyInterpreterFrame, f_code);
	FIELD("frame_instr", _PyInterpreterFrame, prev_instr);
#endif
}

static void print_code(void)
{
	FIELD("object_type", PyObject, ob_type);
	FIELD("var_size", PyVarObject, ob_size);
	FIELD("code_first_line", PyCodeObject, co_firstlineno);
	FIELD("code_name", PyCodeObject, co_name);
	FIELD("code_filename", PyCodeObject, co_filename);
#if PY_VERSION_HEX >= 0x030b0000
	FIELD("code_qualname", PyCodeObject, co_qualname);
	FIELD("code_instructions", PyCodeObject, co_code_adaptive);
	FIELD("code_first_traceable", PyCodeObject, _co_firsttraceable);
#else
	print_absent("code_qualname");
	print_absent("code_instructions");
	print_absent("code_first_traceable");
#endif
#if PY_VERSION_HEX >= 0x030a0000
	FIELD("code_linetable", PyCodeObject, co_linetable);
#else
	FIELD("code_linetable", PyCodeObject, co_lnotab);
#endif
}

static void print_strings(void)
{
	unsigned kind = STATE_WORD(kind);

	FIELD("str_state", PyASCIIObject, state);
	FIELD("str_length", PyASCIIObject, length);
	print_number("str_ascii_data", sizeof(PyASCIIObject));
	print_number("str_compact_data", sizeof(PyCompactUnicodeObject));
	print_number("str_kind_shift", lowest_bit(kind));
	print_number("str_kind_mask", kind >> lowest_bit(kind));
	print_number("str_compact_shift", lowest_bit(STATE_WORD(compact)));
	print_number("str_ascii_shift", lowest_bit(STATE_WORD(ascii)));
	FIELD("bytes_data", PyBytesObject, ob_sval);
}

/* What a thread waits for (user/dump/). */
static void print_waits(void)
{
#if PY_VERSION_HEX >= 0x030c0000
	FIELD("gil", PyInterpreterState, ceval.gil);
	print_number("gil_is_pointer", 1);
#elif PY_VERSION_HEX >= 0x03070000
	FIELD("gil", _PyRuntimeState, ceval.gil);
	print_number("gil_is_pointer", 0);
#else
	print_number("gil", 0);
	print_number("gil_is_pointer", 0);
#endif
#if PY_VERSION_HEX >= 0x03070000
	FIELD("gil_holder", struct _gil_runtime_state, last_holder);
	FIELD("gil_locked", struct _gil_runtime_state, locked);
	FIELD("gil_cond", struct _gil_runtime_state, cond);
	print_number("gil_end", sizeof(struct _gil_runtime_state));
#else
	print_absent("gil_holder");
	print_absent("gil_locked");
	print_absent("gil_cond");
	print_absent("gil_end");
#endif
	FIELD("code_stack_size", PyCodeObject, co_stacksize);
#if PY_VERSION_HEX >= 0x030b0000
	FIELD("code_local_count", PyCodeObject, co_nlocalsplus);
	FIELD("code_exceptions", PyCodeObject, co_exceptiontable);
	FIELD("code_local_names", PyCodeObject, co_localsplusnames);
	print_absent("frame_values");
	print_absent("frame_blocks");
	print_absent("frame_block_count");
#else
	FIELD("code_local_count", PyCodeObject, co_nlocals);
	print_absent("code_exceptions");
	FIELD("code_local_names", PyCodeObject, co_varnames);
	FIELD("frame_values", PyFrameObject, f_valuestack);
	FIELD("frame_blocks", PyFrameObject, f_blockstack);
	FIELD("frame_block_count", PyFrameObject, f_iblock);
#endif
}

/* Tasks of asyncio, and attributes of objects (user/dump/). */
static void print_tasks(void)
{
#if PY_VERSION_HEX >= 0x030b0000
	FIELD("gen_frame", PyGenObject, gi_iframe);
	FIELD("gen_frame_state", PyGenObject, gi_frame_state);
	print_number("gen_created", (unsigned char)FRAME_CREATED);
	print_number("gen_running", (unsigned char)FRAME_EXECUTING);
	print_number("gen_suspended_first", (unsigned char)FRAME_SUSPENDED);
#if PY_VERSION_HEX >= 0x030f0000
	print_number("gen_suspended_last", (unsigned char)FRAME_SUSPENDED_YIELD_FROM_LOCKED);
#elif PY_VERSION_HEX >= 0x030d0000
	print_number("gen_suspended_last", (unsigned char)FRAME_SUSPENDED_YIELD_FROM);
#else
	print_number("gen_suspended_last", (unsigned char)FRAME_SUSPENDED);
#endif
#else
	FIELD("gen_frame", PyGenObject, gi_frame);
	print_absent("gen_frame_state");
	print_number("gen_created", 0);
	print_number("gen_running", 0);
	print_number("gen_suspended_first", 0);
	print_number("gen_suspended_last", 0);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	FIELD("frame_stack", _PyInterpreterFrame, stackpointer);
	print_number("frame_stack_is_count", 0);
#elif PY_VERSION_HEX >= 0x030b0000
	FIELD("frame_stack", _PyInterpreterFrame, stacktop);
	print_number("frame_stack_is_count", 1);
#elif PY_VERSION_HEX >= 0x030a0000
	FIELD("frame_stack", PyFrameObject, f_stackdepth);
	print_number("frame_stack_is_count", 1);
#else
	FIELD("frame_stack", PyFrameObject, f_stacktop);
	print_number("frame_stack_is_count", 0);
#endif
	FIELD("type_cached_keys", PyHeapTypeObject, ht_cached_keys);
#if PY_VERSION_HEX >= 0x030e0000
	FIELD("ts_tasks", _PyThreadStateImpl, asyncio_tasks_head);
	FIELD("interp_tasks", PyInterpreterState, asyncio_tasks_head);
#else
	print_number("ts_tasks", 0);
	print_number("interp_tasks", 0);
#endif
}

static void print_row(void)
{
	printf("\t{\n\t\t/* headers of " PY_VERSION " */\n");
	printf("\t\t.version = %d << 8 | %d,\n", PY_MAJOR_VERSION, PY_MINOR_VERSION);
	printf("\t\t.walk = " WALK ",\n\t\t.linetable = " LINES ",\n");
	print_number("lasti_scale", LASTI_SCALE);
#if PY_VERSION_HEX >= 0x030e0000
	print_number("owner_skip", FRAME_OWNED_BY_INTERPRETER);
#elif PY_VERSION_HEX >= 0x030c0000
	print_number("owner_skip", FRAME_OWNED_BY_CSTACK);
#else
	print_number("owner_skip", 0);
#endif
	print_runtime();
	print_thread();
	print_frame();
	print_code();
	print_strings();
	print_waits();
	print_tasks();
	printf("\t},\n");
}

#if PY_VERSION_HEX >= 0x030d0000

#define WORD_OF(part) (offsetof(_Py_DebugOffsets, part) / sizeof(uint64_t))

/* The word that holds the offset of type.member (the one that holds the size of type) and the bytes at that offset. */
#define WORD(name, group, word, type, member)                                                                          \
	printf("\tWORD(%zu, %zu, %zu, " name "),\n", WORD_OF(group.word), WORD_OF(group.size),                         \
	       sizeof(((type *)0)->member))
/* The word that holds the size of a part of a str object: where its characters begin. */
#define SIZE_WORD(name, word)                                                                                          \
	printf("\tWORD(%zu, %zu, 1, " name "),\n", WORD_OF(unicode_object.word), WORD_OF(unicode_object.size))

static void print_words(void)
{
	printf("static const struct python_debug_word words_%d%d[] = {\n", PY_MAJOR_VERSION, PY_MINOR_VERSION);
	WORD("runtime_interpreters_head", runtime_state, interpreters_head, _PyRuntimeState, interpreters.head);
	WORD("interp_next", interpreter_state, next, PyInterpreterState, next);
	WORD("interp_threads_head", interpreter_state, threads_head, PyInterpreterState, threads.head);
	WORD("interp_modules", interpreter_state, imports_modules, PyInterpreterState, imports.modules);
	WORD("ts_next", thread_state, next, PyThreadState, next);
	WORD("ts_interp", thread_state, interp, PyThreadState, interp);
	WORD("ts_frame", thread_state, current_frame, PyThreadState, current_frame);
	WORD("ts_thread_id", thread_state, thread_id, PyThreadState, thread_id);
	WORD("ts_native_thread_id", thread_state, native_thread_id, PyThreadState, native_thread_id);
	WORD("ts_datastack_chunk", thread_state, datastack_chunk, PyThreadState, datastack_chunk);
	WORD("frame_back", interpreter_frame, previous, _PyInterpreterFrame, previous);
	WORD("frame_code", interpreter_frame, executable, _PyInterpreterFrame, f_executable);
	WORD("frame_instr", interpreter_frame, instr_ptr, _PyInterpreterFrame, instr_ptr);
	WORD("frame_localsplus", interpreter_frame, localsplus, _PyInterpreterFrame, localsplus);
	WORD("frame_owner", interpreter_frame, owner, _PyInterpreterFrame, owner);
	WORD("code_filename", code_object, filename, PyCodeObject, co_filename);
	WORD("code_name", code_object, name, PyCodeObject, co_name);
	WORD("code_qualname", code_object, qualname, PyCodeObject, co_qualname);
	WORD("code_linetable", code_object, linetable, PyCodeObject, co_linetable);
	WORD("code_first_line", code_object, firstlineno, PyCodeObject, co_firstlineno);
	WORD("code_instructions", code_object, co_code_adaptive, PyCodeObject, co_code_adaptive);
	WORD("object_type", pyobject, ob_type, PyObject, ob_type);
	WORD("var_size", bytes_object, ob_size, PyVarObject, ob_size);
	WORD("bytes_data", bytes_object, ob_sval, PyBytesObject, ob_sval);
	WORD("str_state", unicode_object, state, PyASCIIObject, state);
	WORD("str_length", unicode_object, length, PyASCIIObject, length);
	SIZE_WORD("str_ascii_data", asciiobject_size);
#if PY_VERSION_HEX >= 0x030f0000
	SIZE_WORD("str_compact_data", compactunicodeobject_size);
#endif
	printf("};\n\n");
}

#else

static void print_words(void)
{
}

#endif

int main(int argc, char *argv[])
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "words") == 0)
		print_words();
	else
		print_row();
	return 0;
}
