/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a trace did per step that is no row: its lengths, its sums, its memory. */
#include "analyze/steps/per_step_tables.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/steps/per_step_rows.h"

/* A member of a sum; part `block` of a sum's key is its block. */
enum member { SUM_NS, SUM_COUNT, SUM_MORE };

static double member_of(const struct tally_entry *sum, enum member member)
{
	return (double)(member == SUM_NS ? sum->ns : member == SUM_COUNT ? sum->count : sum->more);
}

/* less: a SUM_... that is subtracted; the same as member: none is. */
static double *sum_by_block(const struct step_blocks *all, const struct tally *sums, unsigned block, enum member member,
			    enum member less)
{
	double *by_block = xcalloc(all->count, sizeof(*by_block));

	for (size_t i = 0; i < sums->count; i++)
		by_block[sums->entries[i].key.part[block]] += member_of(&sums->entries[i], member) -
							      (less == member ? 0 : member_of(&sums->entries[i], less));
	return by_block;
}

/* GPU time; device: NONE: of all GPUs. */
static double *gpu_ns_by_block(const struct step_blocks *all, const struct tally *sums, uint32_t device)
{
	double *by_block = xcalloc(all->count, sizeof(*by_block));

	for (size_t i = 0; i < sums->count; i++)
		if (per_step_is_on(sums->entries[i].key.part[3], device))
			by_block[sums->entries[i].key.part[2]] += (double)sums->entries[i].ns;
	return by_block;
}

static struct estimate estimate_all(const struct step_blocks *all, const struct tally *sums, unsigned block,
				    enum member member, enum member less)
{
	AUTO_FREE double *by_block = sum_by_block(all, sums, block, member, less);
	struct estimate found = step_blocks_estimate(all, by_block);

	return found;
}

/* The mean and the median of the same values, which are freed. */
static void estimate_both(struct estimate *mean, struct estimate *median, const struct step_blocks *all,
			  double *by_block)
{
	*mean = step_blocks_estimate(all, by_block);
	*median = step_blocks_median(all, by_block);
	free(by_block);
}

static bool is_of_gpu(const struct torch_memory_sums *memory, uint32_t holder)
{
	uint32_t space = memory->by_holder.entries[holder].key.part[2];

	return memory->spaces.items[space].device_type != GPT_TORCH_CPU;
}

static void estimate_memory(struct per_step_tables *tables, const struct analyses *all)
{
	const struct torch_memory_sums *memory = &all->torch_memory;
	AUTO_FREE double *by_block = xcalloc(all->blocks.count, sizeof(*by_block));

	for (size_t i = 0; i < memory->changes.count; i++) {
		const struct tally_entry *change = &memory->changes.entries[i];

		if (is_of_gpu(memory, change->key.part[0]))
			by_block[change->key.part[1]] += (double)change->ns - (double)change->more;
	}
	tables->has_memory = memory->spaces.count != 0;
	tables->growth = step_blocks_estimate(&all->blocks, by_block);
	tables->peak = (struct estimate){.variance = NAN};
	for (size_t i = 0; i < memory->spaces.count; i++)
		if (memory->spaces.items[i].device_type != GPT_TORCH_CPU)
			tables->peak.mean = fmax(tables->peak.mean, (double)memory->spaces.items[i].most);
}

/* Part 2 of a sum's key is its block. */
static bool has_module(const struct model *model, const struct step_blocks *blocks, const struct tally *sums)
{
	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t *part = sums->entries[i].key.part;

		if (step_blocks_has(blocks, part[2]) && layer_owner_of(model, part[0], NONE, LAYER_NONE).module != NONE)
			return true;
	}
	return false;
}

static void make_values(struct per_step_tables *tables, const struct analyses *all, const struct step_blocks *blocks,
			uint32_t device)
{
	const struct per_step *per_step = &all->per_step;
	uint64_t wall_ns = step_blocks_has_steps(blocks) ? blocks->wall_ns : per_step->wall_ns;

	*tables =
		(struct per_step_tables){.has_steps = step_blocks_has_steps(blocks),
					 .has_gpu = all->gpu_ops != 0,
					 .has_ops = op_tree_has_ops(&per_step->tree),
					 .has_layers = has_module(all->model, blocks, &per_step->calls) ||
						       has_module(all->model, blocks, &per_step->gpu.timed),
					 .of_other_tool = model_is_of_other_tool(all->model),
					 .steps = blocks->steps,
					 .wall_ns = wall_ns,
					 .outside_ns = per_step->outside_ns,
					 .launches = estimate_all(blocks, &per_step->calls, 2, SUM_MORE, SUM_MORE),
					 .other_calls = estimate_all(blocks, &per_step->calls, 2, SUM_COUNT, SUM_MORE),
					 .idle_ns = estimate_all(blocks, &all->idle.idle_blocks, 0, SUM_NS, SUM_NS),
					 .wait_ns = estimate_all(blocks, &per_step->waits, 2, SUM_NS, SUM_NS)};
	estimate_both(&tables->wall, &tables->median_wall, blocks, step_blocks_wall(blocks, wall_ns));
	estimate_both(&tables->gpu_ns, &tables->median_gpu_ns, blocks,
		      gpu_ns_by_block(blocks, &per_step->gpu.timed, device));
}

bool per_step_tables_make_of(struct per_step_tables *tables, struct analyses *all, uint32_t process, uint32_t device)
{
	struct step_blocks blocks;

	if (!step_blocks_view(&all->blocks, process, &blocks) && step_blocks_has_steps(&all->blocks))
		return false;
	make_values(tables, all, &blocks, device);
	per_step_rows_make_of(tables, all, &blocks, device);
	return true;
}

void per_step_tables_make(struct per_step_tables *tables, struct analyses *all)
{
	make_values(tables, all, &all->blocks, NONE);
	estimate_memory(tables, all);
	per_step_rows_make(tables, all, &all->blocks);
}

static void free_rows(struct per_step_rows *rows)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		free(rows->list.items[i].key);
		free(rows->list.items[i].place);
		free(rows->list.items[i].name);
	}
	array_free(&rows->list);
}

void per_step_tables_free(struct per_step_tables *tables)
{
	free_rows(&tables->lines);
	free_rows(&tables->layers);
	free_rows(&tables->layer_kernels);
	free_rows(&tables->computation);
	free_rows(&tables->layer_computation);
	free_rows(&tables->kernels);
	free_rows(&tables->ops);
	free_rows(&tables->stacks);
	free_rows(&tables->losses);
	free_rows(&tables->waits);
	free_rows(&tables->memory);
	free_rows(&tables->peaks);
}
