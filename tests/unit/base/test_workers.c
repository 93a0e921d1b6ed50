/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work that is given to other threads.  The first tests have no workers: threads that were started stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "base/threads/workers.h"

#define PIECES 64

struct piece {
	struct work work, inner;
	unsigned done;
	pthread_t by;
};

static void do_piece(void *context)
{
	struct piece *piece = context;

	piece->done++;
	piece->by = pthread_self();
}

static void who_waits_does_it_where_there_is_no_thread(void **state)
{
	struct piece piece = {.done = 0};

	workers_use(0);
	assert_int_equal(workers_count(), 0);
	workers_give(&piece.work, do_piece, &piece);
	assert_int_equal(piece.done, 0);
	workers_wait(&piece.work);
	assert_int_equal(piece.done, 1);
	assert_true(pthread_equal(piece.by, pthread_self()));
}

static void what_was_not_given_is_not_waited_for(void **state)
{
	struct piece piece = {.done = 0};

	workers_wait(&piece.work);
	assert_int_equal(piece.done, 0);
}

static void it_may_be_given_again(void **state)
{
	struct piece piece = {.done = 0};

	workers_give(&piece.work, do_piece, &piece);
	workers_give(&piece.work, do_piece, &piece);
	assert_int_equal(piece.done, 1);
	workers_wait(&piece.work);
	workers_wait(&piece.work);
	assert_int_equal(piece.done, 2);
}

static char order[8];

static void note_order(void *context)
{
	strcat(order, context);
}

static void it_is_begun_in_the_order_in_which_it_was_given(void **state)
{
	struct work works[3] = {0};

	workers_give(&works[0], note_order, (char[]){"a"});
	workers_give(&works[1], note_order, (char[]){"b"});
	workers_give(&works[2], note_order, (char[]){"c"});
	workers_wait(&works[1]);
	assert_string_equal(order, "ab");
	workers_wait(&works[2]);
	workers_wait(&works[0]);
	assert_string_equal(order, "abc");
}

static void do_two(void *context)
{
	struct piece *piece = context;

	workers_give(&piece->inner, do_piece, piece);
	workers_wait(&piece->inner);
	piece->done++;
}

static void do_nested(void)
{
	struct piece pieces[PIECES] = {0};

	for (unsigned i = 0; i < PIECES; i++)
		workers_give(&pieces[i].work, do_two, &pieces[i]);
	for (unsigned i = PIECES; i-- > 0;) {
		workers_wait(&pieces[i].work);
		assert_int_equal(pieces[i].done, 2);
	}
}

static void a_piece_may_give_work_and_wait_for_it(void **state)
{
	for (unsigned threads = 0; threads <= WORKERS_MAX; threads++) {
		workers_use(threads);
		do_nested();
	}
}

/* The giver and its worker wait for each other at a barrier. */
struct rendezvous {
	pthread_barrier_t both;
	struct work work;
};

static void meet_at_barrier(void *context)
{
	pthread_barrier_wait(context);
}

static void it_is_done_while_the_giver_goes_on(void **state)
{
	struct rendezvous rendezvous = {.work = {0}};

	workers_use(WORKERS_MAX);
	pthread_barrier_init(&rendezvous.both, NULL, 2);
	workers_give(&rendezvous.work, meet_at_barrier, &rendezvous.both);
	pthread_barrier_wait(&rendezvous.both);
	workers_wait(&rendezvous.work);
	pthread_barrier_destroy(&rendezvous.both);
}

static void each_is_done_once(void **state)
{
	struct piece pieces[PIECES] = {0};

	workers_use(WORKERS_MAX);
	for (unsigned round = 1; round <= 20; round++) {
		for (unsigned i = 0; i < PIECES; i++)
			workers_give(&pieces[i].work, do_piece, &pieces[i]);
		for (unsigned i = 0; i < PIECES; i++) {
			workers_wait(&pieces[i].work);
			assert_int_equal(pieces[i].done, round);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_does_it_where_there_is_no_thread),
		cmocka_unit_test(what_was_not_given_is_not_waited_for),
		cmocka_unit_test(it_may_be_given_again),
		cmocka_unit_test(it_is_begun_in_the_order_in_which_it_was_given),
		cmocka_unit_test(a_piece_may_give_work_and_wait_for_it),
		cmocka_unit_test(it_is_done_while_the_giver_goes_on),
		cmocka_unit_test(each_is_done_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
