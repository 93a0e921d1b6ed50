/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of thousands of threads, each is read once to know which one imports a module or has a Thread object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dump/process/owners.h"

#define THREADS 10000u
#define MODULES 2500u

static char names[MODULES][16];

/* Threads 0, MODULES, 2 * MODULES, ... import module 0, and so on; names are not in the order of threads. */
static void make_owners(struct owners *owners)
{
	for (unsigned i = 0; i < MODULES; i++)
		snprintf(names[i], sizeof(names[i]), "module%u", i * 7919 % MODULES);
	for (unsigned i = THREADS; i-- > 0;) {
		owners_add_import(owners, names[i % MODULES], i);
		owners_add_object(owners, 0x1000 + 64ull * i, i);
	}
	owners_sort(owners);
}

static void free_it(struct owners *owners)
{
	array_free(&owners->imports);
	lookup_free(&owners->objects);
}

static void of_ten_thousand_threads_each_is_found_by_what_it_owns(void **state)
{
	struct owners owners = {0};
	char copy[sizeof(names[0])];

	make_owners(&owners);
	assert_true(owners.read);
	for (unsigned i = 0; i < THREADS; i++) {
		unsigned first = i % MODULES;

		memcpy(copy, names[first], sizeof(copy));
		assert_int_equal(owners_find_import(&owners, copy, i), i == first ? first + MODULES : first);
		assert_int_equal(owners_find_object(&owners, 0x1000 + 64ull * i), i);
	}
	free_it(&owners);
}

static void what_no_thread_owns_has_no_owner(void **state)
{
	struct owners owners = {0};

	assert_int_equal(owners_find_import(&owners, "module1", 0), NO_OWNER);
	assert_int_equal(owners_find_object(&owners, 1), NO_OWNER);
	owners_add_import(&owners, "module1", 5);
	owners_sort(&owners);
	assert_int_equal(owners_find_import(&owners, "module1", 5), NO_OWNER); /* itself */
	assert_int_equal(owners_find_import(&owners, "module1", 6), 5);
	assert_int_equal(owners_find_import(&owners, "module", 6), NO_OWNER);
	assert_int_equal(owners_find_import(&owners, "module2", 6), NO_OWNER);
	assert_int_equal(owners_find_object(&owners, 1), NO_OWNER);
	free_it(&owners);
}

static void the_first_thread_with_an_object_stays_its_owner(void **state)
{
	struct owners owners = {0};

	owners_add_object(&owners, 64, 3);
	owners_add_object(&owners, 64, 4);
	assert_int_equal(owners_find_object(&owners, 64), 3);
	free_it(&owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_ten_thousand_threads_each_is_found_by_what_it_owns),
		cmocka_unit_test(what_no_thread_owns_has_no_owner),
		cmocka_unit_test(the_first_thread_with_an_object_stays_its_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
