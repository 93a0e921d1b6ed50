/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A profile with too many stacks: sums stay, the largest stay, and what is left is a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "export/profiles/cut.h"

static uint32_t add_frame(struct profile *profile, uint32_t parent, const char *name, uint64_t gpu_ns,
			  uint64_t launches)
{
	struct profile_frame frame = {.kind = STACK_FRAME_PYTHON,
				      .name = texts_id(&profile->texts, "", name),
				      .file = texts_id(&profile->texts, "", "train.py")};
	struct profile_node node = {.parent = parent, .frame = (uint32_t)profile->frames.count};

	node.values[PROFILE_GPU_NS] = gpu_ns;
	node.values[PROFILE_LAUNCHES] = launches;
	array_push(&profile->frames, frame);
	array_push(&profile->nodes, node);
	return (uint32_t)profile->nodes.count - 1;
}

static void end_profile(struct profile *profile)
{
	array_free(&profile->frames);
	array_free(&profile->nodes);
	texts_free(&profile->texts);
}

static const char *name_of(const struct profile *profile, size_t node)
{
	return profile_text(profile, profile->frames.items[profile->nodes.items[node].frame].name);
}

static uint64_t sum_of(const struct profile *profile, enum profile_value value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->nodes.count; i++)
		sum += profile->nodes.items[i].values[value];
	return sum;
}

static void what_is_small_is_counted_above(void **state)
{
	struct profile profile = {0};
	uint32_t process, main, small;

	texts_begin(&profile.texts);
	process = add_frame(&profile, PROFILE_ROOT, "process", 0, 0);
	small = add_frame(&profile, process, "small", 1, 1);
	add_frame(&profile, small, "smaller", 1, 1);
	main = add_frame(&profile, process, "main", 1000, 5);
	add_frame(&profile, main, "many launches", 1, 1000);
	add_frame(&profile, PROFILE_ROOT, "other process", 3, 1);
	assert_int_equal(profile_cut(&profile, 6), 0);
	assert_int_equal(profile_cut(&profile, 3), 3);
	assert_int_equal(profile.nodes.count, 4);
	assert_string_equal(name_of(&profile, 0), "process");
	assert_int_equal(profile.nodes.items[0].values[PROFILE_GPU_NS], 2);
	assert_string_equal(name_of(&profile, 1), "main");
	assert_int_equal(profile.nodes.items[1].parent, 0);
	assert_string_equal(name_of(&profile, 2), "many launches");
	assert_int_equal(profile.nodes.items[2].parent, 1);
	assert_string_equal(name_of(&profile, 3), "[smaller stacks]");
	assert_int_equal(profile.nodes.items[3].parent, PROFILE_ROOT);
	assert_int_equal(profile.nodes.items[3].values[PROFILE_GPU_NS], 3);
	assert_int_equal(profile.texts.at.count, 6);
	end_profile(&profile);
}

static void any_number_of_stacks_becomes_as_many_as_are_wanted(void **state)
{
	static const size_t most[] = {0, 1, 100, 5000};

	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		struct profile profile = {0};
		uint64_t gpu_ns, launches;
		char name[16];

		texts_begin(&profile.texts);
		for (uint32_t k = 0; k < 20000; k++) {
			snprintf(name, sizeof(name), "f%u", k);
			add_frame(&profile, k % 7 ? (uint32_t)rand() % k : PROFILE_ROOT, name, (uint64_t)rand() % 1000,
				  k % 3);
		}
		gpu_ns = sum_of(&profile, PROFILE_GPU_NS);
		launches = sum_of(&profile, PROFILE_LAUNCHES);
		assert_true(profile_cut(&profile, most[i]) >= 20000 - most[i]);
		assert_in_range(profile.nodes.count, 0, most[i] + 1);
		assert_int_equal(sum_of(&profile, PROFILE_GPU_NS), gpu_ns);
		assert_int_equal(sum_of(&profile, PROFILE_LAUNCHES), launches);
		for (uint32_t k = 0; k < profile.nodes.count; k++)
			assert_true(profile.nodes.items[k].parent == PROFILE_ROOT || profile.nodes.items[k].parent < k);
		end_profile(&profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_small_is_counted_above),
		cmocka_unit_test(any_number_of_stacks_becomes_as_many_as_are_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
