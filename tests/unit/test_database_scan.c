/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows straight from the pages are libsqlite3's rows: of every kind of value, table and page, and of damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "database_builder.h"
#include "input/database.h"

#define NONE_OF_THEM INT64_C(-777777777777)
#define MANY "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<3000) "

static const char *const columns[] = {"a", "b", "lacking", "c", "d"};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* All that is told of table t, as text to be freed; scanned: how many rows came straight from the pages. */
static char *told(int fd, bool no_scans, unsigned *scanned)
{
	struct database base;
	struct database_rows rows;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*scanned = 0;
	if (database_open(&base, fd)) {
		base.no_scans = no_scans;
		rows = database_select(&base, "t", columns, COLUMNS);
		while (database_next(&rows)) {
			*scanned += rows.scan != NULL;
			for (unsigned i = 0; i < COLUMNS; i++) {
				struct text value = database_text(&rows, i), blob = database_blob(&rows, i);

				fprintf(out, "%lld %.*s|%zu:", (long long)database_number(&rows, i, NONE_OF_THEM),
					(int)value.size, value.bytes, blob.size);
				for (size_t j = 0; j < blob.size; j++)
					fprintf(out, "%02x", (unsigned char)blob.bytes[j]);
				fputc(' ', out);
			}
			fputc('\n', out);
		}
		fprintf(out, "%s\n", base.where ? base.where : "whole");
	}
	database_close(&base);
	fclose(out);
	return text;
}

/* Returns how many rows were read straight from the pages. */
static unsigned assert_same(int fd)
{
	unsigned scanned, none;
	char *pages = told(fd, false, &scanned), *library = told(fd, true, &none);

	assert_string_equal(pages, library);
	assert_int_equal(none, 0);
	close(fd);
	free(pages);
	free(library);
	return scanned;
}

static unsigned same_rows(const char *create, const char *insert)
{
	const char *const statements[] = {create, insert, NULL};

	return assert_same(database_file(statements));
}

static void integers_of_every_length_are_read(void **state)
{
	assert_int_equal(
		same_rows("CREATE TABLE t (a INT, b, c INTEGER NOT NULL, d)",
			  "INSERT INTO t VALUES (0,1,-1,NULL),(127,128,-128,-129),(32767,32768,-32768,-32769),"
			  "(8388607,8388608,-8388608,-8388609),(2147483647,2147483648,-2147483648,-2147483649),"
			  "(140737488355327,140737488355328,-140737488355328,-140737488355329),"
			  "(9223372036854775807,-9223372036854775807-1,5,6)"),
		7);
}

static void real_numbers_texts_and_blobs_are_no_integers(void **state)
{
	assert_int_equal(
		same_rows("CREATE TABLE t (a REAL, b DOUBLE PRECISION, c TEXT, d BLOB)",
			  "INSERT INTO t VALUES (1,2,3,4),(1.5,'x',NULL,x'0001'),(NULL,x'',7,'y'),(3e300,-1,'',x'00')"),
		4);
	assert_int_equal(same_rows("CREATE TABLE t (a FLOATING POINT, b CHARINT, c VARCHAR(9), d NUMERIC)",
				   "INSERT INTO t VALUES (1,2,3,4),('5','6',7,'8')"),
			 2);
}

static void a_key_that_is_the_number_of_the_row_is_that(void **state)
{
	assert_int_equal(same_rows("CREATE TABLE t (b, a INTEGER PRIMARY KEY AUTOINCREMENT, c)",
				   "INSERT INTO t VALUES (1,-5,2),(2,9223372036854775807,3),(4,0,4)"),
			 3);
	assert_int_equal(same_rows("CREATE TABLE t (b, a INTEGER PRIMARY KEY NOT NULL)", "INSERT INTO t VALUES (1,2)"),
			 1);
}

static void tables_in_another_order_are_read_by_the_library(void **state)
{
	assert_int_equal(
		same_rows("CREATE TABLE t (a INTEGER PRIMARY KEY DESC, b)", "INSERT INTO t VALUES (1,2),(NULL,3)"), 0);
	assert_int_equal(same_rows("CREATE TABLE t (a, b, PRIMARY KEY (b, a)) WITHOUT ROWID",
				   "INSERT INTO t VALUES (3,2),(1,3)"),
			 0);
	assert_int_equal(
		same_rows("CREATE TABLE t (a, b AS (a+1), c, d AS (a+2) STORED)", "INSERT INTO t VALUES (3,2),(1,3)"),
		0);
	assert_int_equal(same_rows("PRAGMA encoding='UTF-16'; CREATE TABLE t (a)", "INSERT INTO t VALUES ('x'),(1)"),
			 0);
}

static void rows_before_a_column_was_added_have_its_value(void **state)
{
	assert_int_equal(same_rows("CREATE TABLE t (a, b); INSERT INTO t VALUES (1,2),(2,3)",
				   "ALTER TABLE t ADD COLUMN c INT DEFAULT 44; INSERT INTO t VALUES (3,4,5)"),
			 0);
	assert_int_equal(same_rows("CREATE TABLE t (a, b); INSERT INTO t VALUES (1,2),(2,3)",
				   "ALTER TABLE t ADD COLUMN other DEFAULT 44; INSERT INTO t VALUES (3,4,5)"),
			 3);
}

static void rows_are_read_whatever_the_size_of_a_page(void **state)
{
	for (unsigned page = 512; page <= 65536; page *= 2) {
		char create[128];

		snprintf(create, sizeof(create), "PRAGMA page_size=%u; CREATE TABLE t (a, b, c, d)", page);
		assert_int_equal(same_rows(create, MANY "INSERT INTO t SELECT i*1000003,'t'||i,x'0102',i%7 FROM n"),
				 3001);
		/* of many pages each, of one byte less and more than fit */
		assert_int_equal(same_rows(create, MANY "INSERT INTO t SELECT i,substr(hex(zeroblob(70000)),1,i*9),i,"
							"zeroblob(i) FROM n WHERE i<1200"),
				 1200);
		assert_int_equal(same_rows(create, "SELECT 1"), 0);
	}
}

static void rows_are_read_where_pages_lie_anywhere(void **state)
{
	assert_int_equal(
		same_rows("PRAGMA page_size=1024; CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE TABLE u (a, b)",
			  MANY "INSERT INTO t SELECT (i*7919)%3001,hex(zeroblob(i%300)) FROM n"),
		3001);
}

static const char *const some_of_each[] = {
	"PRAGMA page_size=512; CREATE TABLE t (a INTEGER PRIMARY KEY, b INT, c TEXT, d BLOB)",
	MANY
	"INSERT INTO t SELECT i,i*77,CASE WHEN i%40 THEN 'x'||i ELSE hex(zeroblob(900)) END,x'ff' FROM n WHERE i<600",
	NULL,
};

static void a_damaged_file_has_the_same_rows(void **state)
{
	sqlite3_int64 size;
	unsigned char *bytes = database_bytes(some_of_each, &size);
	uint64_t number = 88172645463325252;

	for (unsigned i = 0; i < 3000; i++) {
		size_t at;
		unsigned char was;

		number ^= number << 13, number ^= number >> 7, number ^= number << 17;
		/* half of them in the first bytes of a page, which say what is in it */
		at = number % (size_t)size;
		if (i % 2)
			at = at / 512 * 512 + at % 16;
		was = bytes[at];
		bytes[at] = (unsigned char)(number >> 32);
		assert_same(file_of_bytes(bytes, (size_t)size));
		bytes[at] = was;
	}
	for (size_t cut = 512; cut < (size_t)size; cut += 509)
		assert_same(file_of_bytes(bytes, cut));
	sqlite3_free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_of_every_length_are_read),
		cmocka_unit_test(real_numbers_texts_and_blobs_are_no_integers),
		cmocka_unit_test(a_key_that_is_the_number_of_the_row_is_that),
		cmocka_unit_test(tables_in_another_order_are_read_by_the_library),
		cmocka_unit_test(rows_before_a_column_was_added_have_its_value),
		cmocka_unit_test(rows_are_read_whatever_the_size_of_a_page),
		cmocka_unit_test(rows_are_read_where_pages_lie_anywhere),
		cmocka_unit_test(a_damaged_file_has_the_same_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
