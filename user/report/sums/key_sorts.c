/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/sums/key_sorts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

static double average_ns(uint64_t ns, uint64_t count)
{
	return count ? (double)ns / (double)count : 0;
}

static double cpu_average(const struct key_row *row)
{
	return average_ns(row->cpu_ns, row->count);
}

static double cpu_total(const struct key_row *row)
{
	return (double)row->cpu_ns;
}

static double cpu_self(const struct key_row *row)
{
	return (double)row->cpu_self_ns;
}

static double gpu_average(const struct key_row *row)
{
	return average_ns(row->gpu_ns, row->count);
}

static double gpu_total(const struct key_row *row)
{
	return (double)row->gpu_ns;
}

static double gpu_self(const struct key_row *row)
{
	return (double)row->gpu_self_ns;
}

static double count_of(const struct key_row *row)
{
	return (double)row->count;
}

static double cpu_memory(const struct key_row *row)
{
	return (double)(int64_t)row->memory.cpu;
}

static double cpu_memory_self(const struct key_row *row)
{
	return (double)(int64_t)row->memory_self.cpu;
}

static double gpu_memory(const struct key_row *row)
{
	return (double)(int64_t)row->memory.gpu;
}

static double gpu_memory_self(const struct key_row *row)
{
	return (double)(int64_t)row->memory_self.gpu;
}

static double flops_of(const struct key_row *row)
{
	return (double)row->flops;
}

static const struct key_sort sorts[] = {
	{"cpu_time", cpu_average},
	{"cpu_time_total", cpu_total},
	{"self_cpu_time_total", cpu_self},
	{"cuda_time", gpu_average},
	{"cuda_time_total", gpu_total},
	{"self_cuda_time_total", gpu_self},
	{"device_time", gpu_average},
	{"device_time_total", gpu_total},
	{"self_device_time_total", gpu_self},
	{"count", count_of},
	{"cpu_memory_usage", cpu_memory},
	{"self_cpu_memory_usage", cpu_memory_self},
	{"cuda_memory_usage", gpu_memory},
	{"self_cuda_memory_usage", gpu_memory_self},
	{"device_memory_usage", gpu_memory},
	{"self_device_memory_usage", gpu_memory_self},
	{"flops", flops_of},
};

#define SORTS (sizeof(sorts) / sizeof(sorts[0]))

const struct key_sort *key_sort_by_name(const char *name)
{
	return find_item(sorts, SORTS, item, !strcmp(item->name, name));
}

const char *key_sort_names(void)
{
	static char list[512];
	size_t used = 0;

	for (size_t i = 0; i < SORTS && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", sorts[i].name);
	return list;
}

struct valued {
	double value, other;
	size_t place;
};

DEFINE_ORDER(by_value, struct valued,
	     higher_first(a->value, b->value) ?: higher_first(a->other, b->other) ?: lower_first(a->place, b->place))

static double no_value(const struct key_row *row)
{
	return 0;
}

static void sort_rows(struct key_averages *keys, double (*first)(const struct key_row *),
		      double (*then)(const struct key_row *))
{
	AUTO_FREE struct valued *values = xmalloc(keys->rows.count * sizeof(*values));
	AUTO_FREE struct key_row *rows = xmalloc(keys->rows.count * sizeof(*rows));

	for (size_t i = 0; i < keys->rows.count; i++) {
		rows[i] = keys->rows.items[i];
		values[i] = (struct valued){first(&rows[i]), then(&rows[i]), i};
	}
	qsort(values, keys->rows.count, sizeof(*values), by_value);
	for (size_t i = 0; i < keys->rows.count; i++)
		keys->rows.items[i] = rows[values[i].place];
}

void key_rows_sort(struct key_averages *keys, const struct key_sort *sort)
{
	sort_rows(keys, sort->value, no_value);
}

void key_rows_sort_as_usual(struct key_averages *keys)
{
	sort_rows(keys, gpu_self, cpu_self);
}
