/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who holds tensors, in every CPython of this machine: what the program says itself is found, and nothing else. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <poll.h>
#include <sys/resource.h>

#include "base/monotonic.h"
#include "dump/holders.h"
#include "every_python.h"
#include "python_child.h"

#define SUPPORTED_FIRST 8
#define PROGRAM "tests/unit/dump/holders.py"

static void search_process(struct holders_look *look, pid_t pid)
{
	holders_start(look, pid);
	while (!holders_are_read(look))
		poll(NULL, 0, 1);
	assert_non_null(look->holders);
}

static struct holders_place *find_place(const struct holders *holders, const char *name)
{
	for (uint32_t i = 0; i < holders->place_count; i++)
		if (!strcmp(holders->places[i].place, name))
			return &holders->places[i];
	return NULL;
}

static uint32_t count_at(const struct holders *holders, const char *name)
{
	const struct holders_place *place = find_place(holders, name);

	return place ? place->tensors : 0;
}

/* The place of the storage at that address, UINT32_MAX: it was not found. */
static uint32_t place_of(const struct holders *holders, uint64_t address)
{
	for (uint32_t i = 0; i < holders->storage_count; i++)
		if (holders->storages[i].address == address)
			return holders->storages[i].place;
	return UINT32_MAX;
}

/* One line of what the program says; returns the number of tensors. */
static uint32_t check_line(const struct holders *holders, char *line)
{
	const char *name = strsep(&line, "\t"), *type = strsep(&line, "\t"), *items = strsep(&line, "\t"), *address;
	const char *path = strsep(&line, "\t");
	const struct holders_place *place = find_place(holders, name);
	uint32_t count = 0;

	if (!place)
		print_message("not found: %s\n", name);
	assert_non_null(place);
	assert_string_equal(place->type, type);
	assert_string_equal(place->path, path);
	if (*items != '-')
		assert_int_equal(place->items, strtoull(items, NULL, 10));
	while ((address = strsep(&line, "\t"))) {
		if (count++ % 100) /* all are counted, some are looked at */
			continue;
		assert_int_equal(place_of(holders, strtoull(address, NULL, 10)), place - holders->places);
	}
	assert_int_equal(place->tensors, count);
	return count;
}

static void check_python(const struct python *python, const char *layout, const char *in_cache)
{
	const char *argv[] = {python->path, PROGRAM, layout, "1000", in_cache, NULL};
	struct holders_look look;
	struct child child;
	char *line = NULL;
	size_t size = 0, tensors = 0, places = 0;

	print_message("%s, %s layout\n", python->release, layout);
	start_child(&child, argv, NULL, NULL);
	for (bool searched = false; getline(&line, &size, child.from) > 1; places++) {
		if (!searched)
			search_process(&look, child.pid);
		searched = true;
		line[strcspn(line, "\n")] = '\0';
		assert_null(look.holders->why);
		tensors += check_line(look.holders, line);
	}
	assert_true(places > 15);
	assert_int_equal(look.holders->place_count, places);
	assert_int_equal(look.holders->storage_count, tensors);
	assert_int_equal(find_place(look.holders, "__main__.graphs")->graphs, 2);
	assert_int_equal(find_place(look.holders, "History.losses")->graphs, 0);
	assert_false(look.holders->is_cut);
	holders_free(&look);
	free(line);
	end_child(&child);
}

static void what_a_program_says_that_it_holds_is_found(void **state)
{
	for (unsigned i = 0; i < python_count; i++)
		if (pythons[i].major == 3 && pythons[i].minor >= SUPPORTED_FIRST)
			check_python(&pythons[i], "new", "3000");
}

static const struct python *newest_python(void)
{
	const struct python *found = NULL;

	for (unsigned i = 0; i < python_count; i++)
		if (pythons[i].major == 3 && (!found || pythons[i].minor > found->minor) &&
		    !strstr(pythons[i].path, "/roots/"))
			found = &pythons[i];
	assert_non_null(found);
	return found;
}

static void so_is_it_in_the_layout_of_older_pytorchs(void **state)
{
	check_python(newest_python(), "old", "30000");
}

static void start_program(struct child *child, const char *objects)
{
	const char *argv[] = {newest_python()->path, PROGRAM, "new", objects, "100", NULL};
	char *line = NULL;
	size_t size = 0;

	start_child(child, argv, NULL, NULL);
	while (getline(&line, &size, child->from) > 1)
		;
	free(line);
}

static void objects_that_change_all_the_time_are_read_to_an_end(void **state)
{
	struct holders_look look;
	struct child child;

	start_program(&child, "1000");
	fputs("churn\n", child.to);
	fflush(child.to);
	for (int i = 0; i < 60; i++) {
		search_process(&look, child.pid);
		assert_null(look.holders->why);
		assert_int_equal(count_at(look.holders, "History.losses"), 1204);
		assert_int_equal(count_at(look.holders, "local changing of churn"), 0);
		assert_int_equal(kill(child.pid, 0), 0);
		holders_free(&look);
	}
	end_child(&child);
}

/* More names than places have: the child wrote behind them, and gputrace behind its sums of them. */
static void further_names_are_other_places(void **state)
{
	struct holders_look look;
	struct child child;
	uint32_t others = 0;
	char line[16];

	start_program(&child, "1000");
	fputs("names\n", child.to);
	fflush(child.to);
	assert_non_null(fgets(line, sizeof(line), child.from));
	search_process(&look, child.pid);
	assert_null(look.holders->why);
	assert_int_equal(look.holders->place_count, HOLDERS_PLACES_MAX);
	for (uint32_t i = 0; i < look.holders->storage_count; i++) {
		assert_in_range(look.holders->storages[i].place, 0, HOLDERS_PLACES_MAX);
		others += look.holders->storages[i].place == HOLDERS_PLACES_MAX;
	}
	assert_true(others > 2000);
	assert_string_equal(look.holders->places[HOLDERS_PLACES_MAX].place, "other places");
	assert_int_equal(look.holders->places[HOLDERS_PLACES_MAX].tensors, others);
	holders_free(&look);
	end_child(&child);
}

static uint64_t cpu_of_children(void)
{
	struct rusage used;

	getrusage(RUSAGE_CHILDREN, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

/* Entries without a key are no objects, and take time all the same. */
static void large_dicts_of_nothing_take_no_more_than_the_limits(void **state)
{
	struct holders_look look;
	struct child child;
	uint64_t before_ns;
	char line[16];

	start_program(&child, "1000");
	fputs("holes\n", child.to);
	fflush(child.to);
	assert_non_null(fgets(line, sizeof(line), child.from));
	before_ns = cpu_of_children();
	search_process(&look, child.pid);
	assert_null(look.holders->why);
	assert_true(look.holders->is_cut);
	assert_in_range(cpu_of_children() - before_ns, 0, 2 * HOLDERS_CPU_NS);
	assert_int_equal(count_at(look.holders, "History.losses"), 1204);
	holders_free(&look);
	end_child(&child);
}

static void a_million_objects_take_no_more_than_the_limits(void **state)
{
	struct holders_look look;
	struct child child;

	start_program(&child, "1000000");
	search_process(&look, child.pid);
	assert_null(look.holders->why);
	assert_true(look.holders->objects <= HOLDERS_OBJECTS_MAX);
	/* All of them were read, or it says that they were not; what is near was read in any case. */
	assert_true(look.holders->is_cut || look.holders->objects > 1000000);
	assert_int_equal(count_at(look.holders, "History.losses"), 1204);
	holders_free(&look);
	end_child(&child);
}

static void a_process_that_has_ended_is_said_to_have(void **state)
{
	struct holders_look look;
	siginfo_t ended;
	struct child child;

	start_program(&child, "1000");
	kill(child.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &ended, WEXITED | WNOWAIT), 0);
	search_process(&look, child.pid);
	assert_non_null(look.holders->why);
	assert_int_equal(look.holders->storage_count, 0);
	holders_free(&look);
	end_child(&child);
}

static void a_process_may_end_at_any_moment_of_the_search(void **state)
{
	for (useconds_t us = 0; us < 60000; us += 4000) {
		struct holders_look look;
		struct child child;

		start_program(&child, "1000");
		holders_start(&look, child.pid);
		usleep(us); /* any moment must do */
		kill(child.pid, SIGKILL);
		while (!holders_are_read(&look))
			poll(NULL, 0, 1);
		if (!look.holders->why)
			assert_int_equal(find_place(look.holders, "History.losses")->tensors, 1204);
		holders_free(&look);
		end_child(&child);
	}
}

static void a_process_without_python_is_refused(void **state)
{
	struct holders_look look;

	search_process(&look, getpid());
	assert_string_equal(look.holders->why, "it has no Python that can be read");
	holders_free(&look);
}

static int find_pythons(void **state)
{
	return find_every_python();
}

static int forget_pythons(void **state)
{
	forget_every_python();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_program_says_that_it_holds_is_found),
		cmocka_unit_test(so_is_it_in_the_layout_of_older_pytorchs),
		cmocka_unit_test(objects_that_change_all_the_time_are_read_to_an_end),
		cmocka_unit_test(further_names_are_other_places),
		cmocka_unit_test(large_dicts_of_nothing_take_no_more_than_the_limits),
		cmocka_unit_test(a_million_objects_take_no_more_than_the_limits),
		cmocka_unit_test(a_process_that_has_ended_is_said_to_have),
		cmocka_unit_test(a_process_may_end_at_any_moment_of_the_search),
		cmocka_unit_test(a_process_without_python_is_refused),
	};

	return cmocka_run_group_tests(tests, find_pythons, forget_pythons);
}
