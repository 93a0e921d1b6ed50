/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of PyTorch's memory that stay: by line and caller, and by the Python object that holds them. */
#include "analyzed.h"
#include "memory_log.h"
#include "report_of.h"

#define LINEAR "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py"
#define ELSEWHERE (PID + 1)
#define SEARCH_NS 50000

/*
 * main (train.py) calls forward (model.py) in lines 10 and 11, and that a library.  Blocks: of line 10 two of 1000
 * bytes and one that is freed, of line 11 one of 3000; after the search one of 500.
 */
static struct log_builder held_log(void)
{
	struct log_builder log;

	log_begin(&log, 1000, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(&log, PID, 0xc0de, "main", "/work/train.py", 7);
	log_function(&log, PID, 0xc0df, "forward", "/work/model.py", 4);
	log_function(&log, PID, 0xc0e0, "forward", LINEAR, 131);
	for (unsigned i = 0; i < 2; i++) {
		log_stack(&log, PID, 0x51 + i, 3,
			  (struct gpt_pyframe[]){{.code = 0xc0e0, .lasti = 6},
						 {.code = 0xc0df, .lasti = 6},
						 {.code = 0xc0de, .lasti = (int)(6 + 2 * i)}});
		log_stack_at(&log, (struct gpt_stack_at){.time_ns = 2000,
							 .stack_id = 0x51 + i,
							 .number = 9 + i,
							 .pid = PID,
							 .tid = TID,
							 .what = GPT_STACK_OF_MEMORY});
	}
	return log;
}

static void add_block(struct log_builder *log, uint64_t time_ns, uint64_t address, int64_t bytes, uint64_t stack)
{
	log_agent_torch_memory(log, (struct gpt_agent_torch_memory){.time_ns = time_ns,
								    .address = address,
								    .bytes = bytes,
								    .stack = stack,
								    .tid = TID,
								    .kind = bytes > 0 ? GPT_AGENT_TORCH_MEMORY_ALLOCATED
										      : GPT_AGENT_TORCH_MEMORY_FREED,
								    .device_type = GPT_TORCH_CUDA,
								    .has_totals = true});
}

static void put_blocks(struct log_builder *log)
{
	log_batch(log, PID, TID, 900000);
	log_agent_torch_memory_state(log, 0, "");
	add_block(log, 3000, 0x1000, 1000, 9);
	add_block(log, 4000, 0x2000, 1000, 9);
	add_block(log, 5000, 0x3000, 7000, 9);
	add_block(log, 6000, 0x3000, -7000, 0);
	add_block(log, 7000, 0x4000, 3000, 10);
	add_block(log, SEARCH_NS + 1000, 0x3000, 500, 10);
}

static void put_search(struct log_builder *log, uint32_t pid, enum gpt_holders_state state, const char *why)
{
	struct gpt_holders record = {.time_ns = SEARCH_NS,
				     .objects = 5000,
				     .tensors = 40,
				     .pid = pid,
				     .state = state,
				     .bytes = (uint32_t)strlen(why) + 1};

	log_put(log, GPT_HOLDERS, &record, sizeof(record), why, record.bytes);
}

static void put_holder(struct log_builder *log, const struct gpt_holder *given, const char *const texts[3],
		       const uint64_t *addresses)
{
	struct gpt_holder record = *given;
	uint8_t data[1024];
	struct gpt_held_storage *storages = (struct gpt_held_storage *)data;

	record.pid = PID;
	for (uint32_t i = 0; i < record.storages; i++)
		storages[i] = (struct gpt_held_storage){addresses[i], 8};
	record.bytes = (uint32_t)log_join((char *)&storages[record.storages], 512, 3, texts);
	log_put(log, GPT_HOLDER, &record, sizeof(record), data, record.storages * sizeof(*storages) + record.bytes);
}

static void put_losses(struct log_builder *log)
{
	static const char *const losses[] = {"History.losses", "__main__.history.losses", "list"};

	put_holder(log, &(struct gpt_holder){.items = 1204, .containers = 1, .tensors = 3, .graphs = 2, .storages = 1},
		   losses, (uint64_t[]){0x1000});
	/* more of the same; what is freed at the end, or was handed out after the search, is not its block */
	put_holder(log, &(struct gpt_holder){.storages = 2}, losses, (uint64_t[]){0x2000, 0x3000});
}

static struct model *model_with(struct log_builder *log)
{
	put_blocks(log);
	log_end(log, 1000000);
	return model_of(log);
}

static void two_calls_of_one_function_on_neighbouring_lines_are_two_rows(void **state)
{
	struct log_builder log = held_log();
	struct model *model = model_with(&log);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_TORCH_MEMORY, ANALYZE_TORCH_HELD));
	assert_int_equal(all.torch_held.count, 2);
	assert_int_equal(all.torch_held.rows[0].bytes, 3500);
	assert_int_equal(all.torch_held.rows[0].blocks, 2);
	assert_line(&all, all.torch_held.rows[0].line, "linear.py:134 forward");
	assert_line(&all, all.torch_held.rows[0].user_line, "model.py:7 forward");
	assert_line(&all, all.torch_held.rows[0].caller, "train.py:11 main");
	assert_int_equal(all.torch_held.rows[1].bytes, 2000);
	assert_int_equal(all.torch_held.rows[1].blocks, 2);
	assert_line(&all, all.torch_held.rows[1].caller, "train.py:10 main");
	analyses_free(&all);
	model_free(model);
}

static const struct torch_holder_row *row_by(const struct analyses *all, enum torch_held_by by)
{
	for (size_t i = 0; i < all->torch_held.holder_count; i++)
		if (all->torch_held.holders[i].by == by)
			return &all->torch_held.holders[i];
	return NULL;
}

/* The rows of holders are all of what stays. */
static void assert_whole(const struct analyses *all)
{
	uint64_t bytes = 0, held = 0;

	for (size_t i = 0; i < all->torch_held.count; i++)
		bytes += all->torch_held.rows[i].bytes;
	for (size_t i = 0; i < all->torch_held.holder_count; i++)
		held += all->torch_held.holders[i].bytes;
	assert_int_equal(bytes, held);
	assert_int_equal(bytes, 5500);
}

static void a_holder_has_the_blocks_of_its_storages_and_no_others(void **state)
{
	struct log_builder log = held_log();
	const struct torch_holder_row *row;
	struct analyses all;
	struct model *model;

	put_search(&log, PID, GPT_HOLDERS_COMPLETE, "");
	put_losses(&log);
	model = model_with(&log);
	analyze_model(&all, model, ANALYSES(ANALYZE_TORCH_MEMORY, ANALYZE_TORCH_HELD));
	assert_whole(&all);
	row = row_by(&all, TORCH_HELD_BY_OBJECT);
	assert_string_equal(model->holders[row->holder].place, "History.losses");
	assert_int_equal(model->holders[row->holder].items, 1204);
	assert_int_equal(row->bytes, 2000);
	assert_int_equal(row->blocks, 2);
	assert_line(&all, row->caller, "train.py:10 main");
	assert_int_equal(row_by(&all, TORCH_HELD_BY_NONE)->bytes, 3000);
	assert_int_equal(row_by(&all, TORCH_HELD_LATER)->bytes, 500);
	assert_int_equal(all.torch_held.holder_count, 3);
	analyses_free(&all);
	model_free(model);
}

static void what_was_not_read_is_not_said_to_be_held_by_none(void **state)
{
	struct log_builder log = held_log();
	struct analyses all;
	struct model *model;

	put_search(&log, PID, GPT_HOLDERS_CUT, "");
	put_losses(&log);
	model = model_with(&log);
	analyze_model(&all, model, ANALYSES(ANALYZE_TORCH_MEMORY, ANALYZE_TORCH_HELD));
	assert_whole(&all);
	assert_int_equal(row_by(&all, TORCH_HELD_BY_UNREAD)->bytes, 3000);
	assert_null(row_by(&all, TORCH_HELD_BY_NONE));
	analyses_free(&all);
	model_free(model);
}

static void without_a_search_of_the_process_nothing_is_said_of_holders(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct log_builder log = held_log();
		struct analyses all;
		struct model *model;

		put_search(&log, i ? PID : ELSEWHERE, i ? GPT_HOLDERS_FAILED : GPT_HOLDERS_COMPLETE,
			   i ? "it has ended" : "");
		model = model_with(&log);
		analyze_model(&all, model, ANALYSES(ANALYZE_TORCH_MEMORY, ANALYZE_TORCH_HELD));
		assert_whole(&all);
		assert_int_equal(row_by(&all, TORCH_HELD_UNSEARCHED)->bytes, 5500);
		assert_int_equal(all.torch_held.holder_count, 1);
		analyses_free(&all);
		model_free(model);
	}
}

static void the_report_has_place_container_and_way(void **state)
{
	struct log_builder log = held_log();
	char *text;

	put_search(&log, PID, GPT_HOLDERS_CUT, "");
	put_losses(&log);
	put_blocks(&log);
	text = report_of(&log);
	assert_non_null(strstr(text, "<- model.py:7 forward <- train.py:10 main"));
	assert_non_null(strstr(text, "History.losses                     a list of 1,204  __main__.history.losses"));
	assert_non_null(strstr(text, "made by model.py:7 forward; 2 with an autograd graph, which holds more"));
	assert_non_null(strstr(text, "not found before the search ended"));
	assert_non_null(strstr(text, "younger than the search"));
	assert_non_null(strstr(text, "was cut at its limit: 5,000 objects read, 40 of them tensors"));
	free(text);
}

static void the_report_says_why_objects_were_not_searched(void **state)
{
	static const char *const wanted[] = {"were not searched: it has ended\n",
					     "are searched for in processes that still run at the end of a trace"};

	for (int i = 0; i < 2; i++) {
		struct log_builder log = held_log();
		char *text;

		if (!i)
			put_search(&log, PID, GPT_HOLDERS_FAILED, "it has ended");
		put_blocks(&log);
		text = report_of(&log);
		assert_non_null(strstr(text, wanted[i]));
		assert_int_equal(strstr(text, "process not searched") != NULL, !i);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_calls_of_one_function_on_neighbouring_lines_are_two_rows),
		cmocka_unit_test(a_holder_has_the_blocks_of_its_storages_and_no_others),
		cmocka_unit_test(what_was_not_read_is_not_said_to_be_held_by_none),
		cmocka_unit_test(without_a_search_of_the_process_nothing_is_said_of_holders),
		cmocka_unit_test(the_report_has_place_container_and_way),
		cmocka_unit_test(the_report_says_why_objects_were_not_searched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
