/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/page/row_table.h"

#include "report/page/parts.h"

static const void *row_at(const struct row_list *list, size_t index)
{
	return (const char *)list->rows + index * list->size;
}

static uint64_t amount_of(const struct row_table *table, const void *row)
{
	return *(const uint64_t *)((const char *)row + table->amount);
}

static struct time_unit choose_unit(const struct row_table *table, const struct row_list *list)
{
	if (table->unit_of_first && list->count)
		return time_unit_for(amount_of(table, list->rows));
	return time_unit_for(list->unit_ns ? list->unit_ns : list->sum);
}

static void put_title(struct report *report, const struct row_table *table, const struct row_list *list)
{
	report_title(report, table->id, list->title ? list->title : table->title,
		     list->remark ? list->remark : table->remark);
	if (table->carries != ROW_CARRIES_ALL)
		report_carries(report, list->sum,
			       table->carries == ROW_CARRIES_OF_WHOLE ? list->whole : report_ns(report));
}

static void add_row(struct report *report, struct table *table, const struct row_table *declared, const void *row)
{
	table_begin_row(table);
	declared->add_row(report, table, row);
}

static void put_rest(struct report *report, const struct row_table *table, const struct row_list *list, size_t shown,
		     struct time_unit unit)
{
	size_t left = list->count - shown;
	uint64_t rest = 0;

	for (size_t i = shown; i < list->count; i++)
		rest += amount_of(table, row_at(list, i));
	if (table->counted)
		report_more(report, left, table->more, number_count(rest), table->counted);
	else if (table->amount_text)
		report_more(report, left, table->more, table->amount_text(rest), "");
	else if (table->unit_of_first)
		report_more(report, left, table->more, number_time(rest), "");
	else
		report_more(report, left, table->more, number_in(rest, unit), unit.name);
}

void report_rows(struct report *report, const struct row_table *declared, const struct row_list *list)
{
	struct table table = {
		.unit = choose_unit(declared, list),
		.whole = (double)list->sum,
		.context = list->context,
		.shows_process = list->process == ROW_PROCESS_IF_SEVERAL ? report->all && report->all->active > 1
									 : list->process == ROW_PROCESS_SHOWN,
	};
	size_t shown = list->has_all ? list->count : report_shown(report, list->count);

	if (!list->count && !list->none)
		return;
	if (declared->id)
		put_title(report, declared, list);
	for (size_t i = 0; i < shown; i++)
		if (!declared->is_shown || declared->is_shown(report, row_at(list, i)))
			add_row(report, &table, declared, row_at(list, i));
	if (!table.count && list->none) {
		add_row(report, &table, declared, list->none);
		table_drop_rows(&table);
	}
	report_table(report, &table);
	if (declared->more)
		put_rest(report, declared, list, shown, table.unit);
}

void report_group(struct report *report, const struct row_table *table, const struct group *group)
{
	report_rows(report, table, &(struct row_list){ROWS(group->rows, group->count), .sum = group->ns});
}
