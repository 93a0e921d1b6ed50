/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rows of causes of `why` are whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/why/why_causes.h"

static void each_loss_has_a_title_evidence_and_advice(void **state)
{
	for (unsigned i = 0; i < WHY_LOSSES; i++) {
		const struct cause *cause = cause_of((enum why_cause)i);

		if (!cause->title || !cause->evidence || !cause->advice == !cause->advice_of)
			fail_msg("%s has no title, no evidence, or not one kind of advice",
				 why_cause_name((enum why_cause)i));
	}
}

static void each_cause_is_named_and_no_two_alike(void **state)
{
	for (unsigned i = 0; i < WHY_CAUSES; i++) {
		assert_non_null(why_short((enum why_cause)i));
		for (unsigned k = 0; k < i; k++) {
			assert_string_not_equal(why_cause_name((enum why_cause)k), why_cause_name((enum why_cause)i));
			assert_ptr_not_equal(cause_of((enum why_cause)k), cause_of((enum why_cause)i));
		}
	}
}

static void what_is_in_no_gap_is_said_to_be_nothing(void **state)
{
	const struct idle idle = {.model = NULL};

	for (enum why_cause cause = WHY_BEFORE; cause <= WHY_AFTER; cause++) {
		char *words = idle_words(&idle, &(struct idle_row){.cause = cause, .inner = WHY_RAN});

		assert_string_equal(words, "");
		free(words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_loss_has_a_title_evidence_and_advice),
		cmocka_unit_test(each_cause_is_named_and_no_two_alike),
		cmocka_unit_test(what_is_in_no_gap_is_said_to_be_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
