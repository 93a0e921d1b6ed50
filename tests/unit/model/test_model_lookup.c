/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables under the model: what was put in is found again, and sorting keeps keys with their elements. */
#include "model_of.h"

#include "base/array.h"
#include "base/lookup.h"
#include "model/order.h"
#include "model/tables/corr_index.h"

/* Puts and finds `count` keys, `stride` apart, in each of `epochs` epochs. */
static void check_keys(uint64_t seed, uint32_t epochs, uint64_t count, uint64_t stride)
{
	struct lookup lookup;

	lookup_init(&lookup, seed);
	assert_null(lookup_get(&lookup, 1, 0));
	for (uint32_t epoch = 1; epoch <= epochs; epoch++)
		for (uint64_t i = 0; i < count; i++)
			assert_int_equal(*lookup_put(&lookup, epoch, i * stride, (uint32_t)(epoch * count + i)),
					 epoch * count + i);
	assert_int_equal(lookup.count, epochs * count);
	for (uint32_t epoch = 1; epoch <= epochs; epoch++)
		for (uint64_t i = 0; i < count; i++) {
			uint32_t *found = lookup_get(&lookup, epoch, i * stride);

			assert_non_null(found);
			assert_int_equal(*found, epoch * count + i);
		}
	assert_null(lookup_get(&lookup, epochs + 1, 0));
	assert_null(lookup_get(&lookup, 1, count * stride + 1));
	/* putting a key again keeps its value */
	assert_int_equal(*lookup_put(&lookup, 1, 0, 77), count);
	lookup_free(&lookup);
}

static void whatever_is_put_in_a_table_is_found_again(void **state)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		check_keys(seed, 1, 1 + seed, 1);
		check_keys(seed, 130, 1, 1);
		check_keys(seed, 3, 40, 1ull << 58);
	}
	check_keys(1, 2, 20000, 1);
	check_keys(1, 2, 20000, 16);
	check_keys(1, 2, 20000, 4096);
	check_keys(1, 20000, 2, 7);
}

static void what_was_dropped_is_gone_and_its_place_is_used_again(void **state)
{
	enum { KEPT = 100 };
	struct lookup lookup;

	lookup_init(&lookup, 1);
	for (uint32_t i = 0; i < KEPT; i++)
		*lookup_put(&lookup, 1, i, 0) = i;
	for (uint32_t i = 0; i < 100000; i++) {
		*lookup_put(&lookup, 2, i, 0) = i;
		lookup_drop(&lookup, 2, i);
		lookup_drop(&lookup, 2, i);
		assert_true(!lookup_get(&lookup, 2, i) || *lookup_get(&lookup, 2, i) == UINT32_MAX);
	}
	assert_in_range(lookup.mask, 1, 4095);
	for (uint32_t i = 0; i < KEPT; i++)
		assert_int_equal(*lookup_get(&lookup, 1, i), i);
	*lookup_put(&lookup, 2, 7, 0) = 77;
	assert_int_equal(*lookup_get(&lookup, 2, 7), 77);
	lookup_free(&lookup);
}

static void a_call_is_found_by_its_correlation_id_wherever_it_moves(void **state)
{
	enum { SPACES = 3, COUNT = 1000 };
	static uint32_t places[(SPACES + 1) * COUNT];
	struct corr_index index = {0};

	assert_int_equal(corr_index_get(&index, 1, 7), UINT32_MAX);
	for (uint32_t epoch = 1; epoch <= SPACES; epoch++)
		for (uint32_t i = 0; i < COUNT; i++)
			assert_int_equal(*corr_index_put(&index, epoch, UINT32_MAX - i * 3, epoch * COUNT + i),
					 epoch * COUNT + i);
	assert_int_equal(*corr_index_put(&index, 2, UINT32_MAX, 5), 2 * COUNT); /* the value stays */
	/* the first epoch goes; the others lose their elements after the 500th */
	for (uint32_t i = 0; i < (SPACES + 1) * COUNT; i++)
		places[i] = i / COUNT >= 2 && i % COUNT <= 500 ? i - COUNT : UINT32_MAX;
	for (int round = 0; round < 2; round++) {
		corr_index_move(&index, places);
		for (uint32_t epoch = 1; epoch <= SPACES; epoch++)
			for (uint32_t i = 0; i < COUNT; i++) {
				uint32_t left = epoch * COUNT + i;

				for (int k = 0; k <= round && left != UINT32_MAX; k++)
					left = places[left];
				assert_int_equal(corr_index_get(&index, epoch, UINT32_MAX - i * 3), left);
			}
		assert_true(index.pages.count <= (2 - (size_t)round) * (501 * 3 / CORR_PAGE + 1));
	}
	assert_int_equal(*corr_index_put(&index, 1, UINT32_MAX, 5), 5);
	corr_index_free(&index);
}

static void bytes_of_every_length_have_their_own_hash(void **state)
{
	const char zeros[40] = {0};

	for (size_t a = 0; a <= sizeof(zeros); a++)
		for (size_t b = 0; b < a; b++)
			assert_true(hash_bytes(5, zeros, a) != hash_bytes(5, zeros, b));
	assert_true(hash_bytes(5, zeros, 8) != hash_bytes(6, zeros, 8));
}

struct element {
	uint64_t time_ns;
	uint32_t serial, noise;
};

/*
 * Sorts `count` elements whose times take few different values. They are mostly in order if `jitter` is small. With
 * `block` they come from two streams, N of one and N of the other in turns; with `reverse` the latest comes first.
 */
static void check_order(size_t count, uint64_t jitter, size_t block, bool reverse)
{
	struct order_key *keys = xmalloc(count * sizeof(*keys));
	struct element *elements = xmalloc(count * sizeof(*elements));
	uint64_t random = count * 31 + jitter;

	for (size_t i = 0; i < count; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		elements[i].time_ns = block ? i / (2 * block) * block + i % block : i / 3;
		if (reverse)
			elements[i].time_ns = count - elements[i].time_ns;
		elements[i].time_ns += jitter ? (random >> 33) % jitter : 0;
		elements[i].serial = (uint32_t)i;
		elements[i].noise = (uint32_t)(i * 2654435761u);
		keys[i] = (struct order_key){.time_ns = elements[i].time_ns, .index = (uint32_t)i};
	}
	order_sort(keys, count);
	order_apply(keys, count, elements, sizeof(*elements));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(elements[i].noise, elements[i].serial * 2654435761u);
		if (!i)
			continue;
		assert_true(elements[i - 1].time_ns <= elements[i].time_ns);
		assert_true(elements[i - 1].time_ns < elements[i].time_ns ||
			    elements[i - 1].serial < elements[i].serial);
	}
	free(keys);
	free(elements);
}

static void sorting_is_stable_and_moves_whole_elements(void **state)
{
	const uint64_t jitters[] = {0, 2, 50, 100000};

	for (size_t i = 0; i < sizeof(jitters) / sizeof(jitters[0]); i++)
		for (size_t count = 0; count < 130; count++)
			check_order(count, jitters[i], 0, count % 2);
	for (size_t i = 0; i < sizeof(jitters) / sizeof(jitters[0]); i++)
		for (size_t block = 0; block < 1000; block += 333) {
			check_order(20011, jitters[i], block, false);
			check_order(20011, jitters[i], block, true);
		}
}

static void one_log_makes_one_model_each_time(void **state)
{
	struct log_builder log;
	struct model *models[2];
	const char *why;
	int fd;

	log_begin(&log, 0, 0);
	for (uint32_t i = 0; i < 300; i++) {
		log_function(&log, PID, i * 64, i % 2 ? "even" : "odd", "a.py", i % 7);
		log_stack(&log, PID, i + 1, 1, &(struct gpt_pyframe){.code = i * 64, .lasti = i % 50});
		log_launch(&log, PID, TID + i % 5, 1000 - i % 3, i + 1, i + 1);
	}
	log_end(&log, 2000);
	fd = log_fd(&log);
	for (int i = 0; i < 2; i++) /* each with its own seed */
		assert_int_equal(model_build(fd, &models[i], &why), 0);
	assert_int_equal(models[0]->stack_count, models[1]->stack_count);
	assert_int_equal(models[0]->frame_count, models[1]->frame_count);
	assert_memory_equal(models[0]->frames, models[1]->frames, models[0]->frame_count * sizeof(struct model_frame));
	assert_int_equal(models[0]->string_count, models[1]->string_count);
	for (uint32_t i = 0; i < models[0]->string_count; i++)
		assert_string_equal(models[0]->strings[i], models[1]->strings[i]);
	for (uint32_t i = 0; i < models[0]->call_count; i++) {
		assert_int_equal(models[0]->calls[i].corr, models[1]->calls[i].corr);
		assert_int_equal(models[0]->calls[i].stack, models[1]->calls[i].stack);
	}
	model_free(models[0]);
	model_free(models[1]);
	close(fd);
	log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_put_in_a_table_is_found_again),
		cmocka_unit_test(what_was_dropped_is_gone_and_its_place_is_used_again),
		cmocka_unit_test(a_call_is_found_by_its_correlation_id_wherever_it_moves),
		cmocka_unit_test(bytes_of_every_length_have_their_own_hash),
		cmocka_unit_test(sorting_is_stable_and_moves_whole_elements),
		cmocka_unit_test(one_log_makes_one_model_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
