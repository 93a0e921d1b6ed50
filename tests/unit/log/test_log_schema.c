/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gputrace/agent.h>
#include <gputrace/log.h>
#include <gputrace/record.h>

#include "log/packing/schema.h"

static int parse_text(const char *text, struct schema **schema)
{
	return schema_parse(text, strlen(text), schema);
}

static const struct schema_field *field_of(const struct schema_fields *fields, const char *name)
{
	for (uint32_t i = 0; i < fields->count; i++)
		if (!strcmp(fields->items[i].name, name))
			return &fields->items[i];
	fail_msg("no field %s", name);
	return NULL;
}

static void own_schema_has_the_structs(void **state)
{
	struct schema *schema = schema_own();
	const struct schema_type *kernel = schema_type(schema, GPT_AGENT_KERNEL);
	const struct schema_type *call_args = schema_type(schema, GPT_CALL_ARGS);
	const struct schema_type *stack = schema_type(schema, GPT_PYSTACK);

	assert_string_equal(kernel->name, "agent_kernel");
	assert_int_equal(kernel->fixed.bytes, sizeof(struct gpt_agent_kernel));
	assert_int_equal(field_of(&kernel->fixed, "block1")->offset, offsetof(struct gpt_agent_kernel, block[1]));
	assert_int_equal(field_of(&kernel->fixed, "block1")->bytes, 4);
	assert_int_equal(field_of(&kernel->fixed, "start_wall_ns")->meaning, SCHEMA_WALL);
	assert_int_equal(field_of(&kernel->fixed, "end_wall_ns")->code, SCHEMA_PLUS);
	assert_int_equal(field_of(&kernel->fixed, "end_wall_ns")->meaning, SCHEMA_WALL);
	assert_int_equal(field_of(&kernel->fixed, "end_wall_ns")->base, 0);
	assert_int_equal(field_of(&call_args->fixed, "corr")->offset, offsetof(struct gpt_call_args, call.corr));
	assert_int_equal(field_of(&call_args->fixed, "pid")->meaning, SCHEMA_PID);
	assert_int_equal(stack->tail, SCHEMA_ARRAY);
	assert_int_equal(stack->element.bytes, sizeof(struct gpt_pyframe));
	assert_int_equal(field_of(&stack->element, "lasti")->offset, offsetof(struct gpt_pyframe, lasti));
	assert_int_equal(schema_type(schema, GPT_AGENT_BATCH)->tail, SCHEMA_RECORDS);
	assert_int_equal(schema_type(schema, GPT_NOTE)->tail, SCHEMA_BYTES);
	assert_null(schema_type(schema, 0));
	assert_null(schema_type(schema, UINT16_MAX));
	schema_free(schema);
}

/* The schema adds little to a log. */
static void own_text_is_short(void **state)
{
	size_t bytes;
	char *text = schema_text(&bytes);

	assert_in_range(bytes, 1000, 16384);
	assert_memory_equal(text, "1 call 48 time_ns:64:time pid:32:pid ", 37);
	free(text);
}

static void a_type_of_a_later_gputrace_is_read(void **state)
{
	struct schema *schema;

	assert_int_equal(parse_text("900 op_2 26 a:8:raw b:8:id c:64:delta d:64:+c array:3 x:8:raw y:16:delta\n"
				    "7 batch 8 records\n",
				    &schema),
			 0);
	assert_int_equal(schema->count, 2);
	assert_int_equal(schema->types[0].type, 7);
	assert_int_equal(schema_type(schema, 900)->element.count, 2);
	assert_int_equal(schema_type(schema, 900)->fixed.items[2].offset, 10);
	assert_int_equal(schema_type(schema, 900)->fixed.items[3].base, 2);
	schema_free(schema);
}

static void no_text_is_a_schema_of_nothing(void **state)
{
	struct schema *schema;

	assert_int_equal(parse_text("", &schema), 0);
	assert_int_equal(schema->count, 0);
	schema_free(schema);
}

static void a_text_that_cannot_be_unpacked_by_is_refused(void **state)
{
	static const char *const texts[] = {
		"1 call 8",			       /* no newline */
		"\n",				       /* no type */
		"0 call 8\n",			       /* kept for raw records */
		"65536 call 8\n",		       /* no u16 */
		"-1 call 8\n",			       /**/
		"01 call 8\n",			       /**/
		"18446744073709551617 call 8\n",       /**/
		"1 call\n",			       /* no size */
		"1 call 16\n",			       /* not the sum */
		"1 call 7\n",			       /**/
		"1 call 4294967304\n",		       /**/
		"1 call 12 a:32\n",		       /* no code */
		"1 call 12 a:32:\n",		       /**/
		"1 call 12 a:32:squared\n",	       /* a code of a later gputrace */
		"1 call 12 a:32:delta:x\n",	       /**/
		"1 call 11 a:24:delta\n",	       /* no such width */
		"1 call 8 a:0:delta\n",		       /**/
		"1 call 24 a:128:delta\n",	       /**/
		"1 call 12 :32:delta\n",	       /* no name */
		"1 call 12 A:32:delta\n",	       /**/
		"1 call 16 a:32:delta a:32:delta\n",   /* twice */
		"1 call 12 a:32:+a\n",		       /* of itself */
		"1 call 16 a:32:+b b:32:delta\n",      /* not yet read */
		"1 call 12  a:32:delta\n",	       /* two blanks */
		"1 call 8 records a:32:delta\n",       /* something after the tail */
		"1 call 8 records records\n",	       /**/
		"1 call 12 a:32:delta records\n",      /* they would not be at multiples of 8 */
		"1 call 8 array:0\n",		       /* elements of nothing */
		"1 call 8 array:4\n",		       /**/
		"1 call 8 array:8 a:32:delta\n",       /* not the sum */
		"1 call 12 b:32:id array:4 a:32:+b\n", /* of another list */
		"1 call 8\n1 again 8\n",	       /* twice */
		"1 a_name_that_is_longer_than_forty_seven_characters_is_too_long 8\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct schema *schema;

		if (parse_text(texts[i], &schema) != -EPROTO)
			fail_msg("taken: %s", texts[i]);
		assert_null(schema);
	}
	for (size_t cut = 1; cut < 20; cut++) {
		struct schema *schema;

		assert_int_equal(schema_parse("1 call 12 a:32:delta\n", cut, &schema), -EPROTO);
	}
}

static void a_nul_is_no_text(void **state)
{
	struct schema *schema;

	assert_int_equal(schema_parse("1 ca\0l 8\n", 9, &schema), -EPROTO);
}

static void more_types_or_fields_than_the_limits_are_refused(void **state)
{
	struct schema *schema;
	char *text;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	for (unsigned i = 1; i <= SCHEMA_TYPES_MAX; i++)
		fprintf(file, "%u t 8\n", i);
	fflush(file);
	assert_int_equal(schema_parse(text, bytes, &schema), 0);
	schema_free(schema);
	fputs("900 t 8\n", file);
	fclose(file);
	assert_int_equal(schema_parse(text, bytes, &schema), -EPROTO);
	free(text);

	file = open_memstream(&text, &bytes);
	fprintf(file, "1 t %u", 8 + SCHEMA_FIELDS_MAX + 1);
	for (unsigned i = 0; i <= SCHEMA_FIELDS_MAX; i++)
		fprintf(file, " f%u:8:raw", i);
	fputs("\n", file);
	fclose(file);
	assert_int_equal(schema_parse(text, bytes, &schema), -EPROTO);
	free(text);

	text = calloc(1, GPT_LOG_SCHEMA_MAX + 1);
	memset(text, '\n', GPT_LOG_SCHEMA_MAX + 1);
	assert_int_equal(schema_parse(text, GPT_LOG_SCHEMA_MAX + 1, &schema), -EPROTO);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_schema_has_the_structs),
		cmocka_unit_test(own_text_is_short),
		cmocka_unit_test(a_type_of_a_later_gputrace_is_read),
		cmocka_unit_test(no_text_is_a_schema_of_nothing),
		cmocka_unit_test(a_text_that_cannot_be_unpacked_by_is_refused),
		cmocka_unit_test(a_nul_is_no_text),
		cmocka_unit_test(more_types_or_fields_than_the_limits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
