/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums by stack, kept by line_sums.c; threads and native functions besides. */
#include "analyze/sums/cpu_lines.h"

#include <stdlib.h>

void cpu_lines_init(struct cpu_lines *cpu, const struct model *model)
{
	*cpu = (struct cpu_lines){.process = NONE};
	line_sums_init(&cpu->sums, model);
}

void cpu_lines_free(struct cpu_lines *cpu)
{
	line_sums_free(&cpu->sums);
	tally_free(&cpu->threads);
	tally_free(&cpu->natives);
}

void cpu_lines_add_sample(struct cpu_lines *cpu, const struct sample_event *event)
{
	const struct model_sample *sample = event->sample;
	const struct model *model = cpu->sums.model;
	uint64_t ns = sample_ns(sample);

	line_sums_add_time(&cpu->sums, sample->stack, event->caller, event->process, ns);
	cpu->samples++;
	if (sample->place == GPT_SAMPLE_KERNEL)
		cpu->kernel_ns += ns;
	process_note(&cpu->process, event->process);
	tally_at(&cpu->threads, (struct tally_key){{event->caller, sample->thread}})->count++;
	if (sample->native != NONE && model->natives[sample->native].depth)
		tally_at(
			&cpu->natives,
			(struct tally_key){{event->caller, model->native_frames[model->natives[sample->native].first]}})
			->ns += ns;
}

/* The number of different threads of each line. */
static void count_threads(struct cpu_lines *cpu, struct lines *lines)
{
	struct tally pairs = tally_by_line(lines, &cpu->threads, 0), counts = {0};

	for (size_t i = 0; i < pairs.count; i++)
		tally_at(&counts, (struct tally_key){{pairs.entries[i].key.part[0]}})->more++;
	tally_free(&pairs);
	tally_free(&cpu->threads);
	cpu->threads = counts;
}

/* The native function with most time of each line. */
static void choose_natives(struct cpu_lines *cpu, struct lines *lines)
{
	struct tally pairs = tally_by_line(lines, &cpu->natives, 0), chosen = {0};
	AUTO_FREE struct tally_entry *sorted = tally_sorted(&pairs, false);

	for (size_t i = 0; i < pairs.count; i++) {
		struct tally_entry *entry = tally_at(&chosen, (struct tally_key){{sorted[i].key.part[0]}});

		if (!entry->more)
			entry->more = sorted[i].key.part[1] + 1;
	}
	tally_free(&pairs);
	tally_free(&cpu->natives);
	cpu->natives = chosen;
}

void cpu_lines_finish(struct cpu_lines *cpu, struct lines *lines)
{
	line_sums_finish(&cpu->sums, lines);
	count_threads(cpu, lines);
	choose_natives(cpu, lines);
}

uint64_t cpu_line_threads(struct cpu_lines *cpu, uint32_t line)
{
	return tally_at(&cpu->threads, (struct tally_key){{line}})->more;
}

uint32_t cpu_line_native(struct cpu_lines *cpu, uint32_t line)
{
	uint64_t string = tally_at(&cpu->natives, (struct tally_key){{line}})->more;

	return string ? (uint32_t)string - 1 : NONE;
}
