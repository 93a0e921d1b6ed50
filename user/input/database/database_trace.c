/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the tool that wrote a database; see database_reader.h. */
#include "input/database/database_reader.h"

#include <errno.h>
#include <string.h>

static void feed_damage(struct database_reader *reader)
{
	const struct database *base = &reader->base;
	struct foreign_file *file = reader->file;
	bool is_cut = base->size < base->whole;

	file->truncated = is_cut || base->where;
	if (base->where)
		foreign_note(
			file,
			xasprintf("the database is %s: not all rows of %s could be read, nor perhaps of other tables",
				  is_cut ? "cut" : "damaged", base->where));
	else if (is_cut)
		foreign_note(file, xstrdup("the database is cut: tables may be missing"));
}

/* The tools whose databases are read. */
static const struct {
	bool (*is)(struct database_reader *reader);
	void (*read)(struct database_reader *reader);
} writers[] = {
	{nsys_is, nsys_read},
	{nvprof_is, nvprof_read},
};

#define WRITERS (sizeof(writers) / sizeof(writers[0]))

/* Why a database that no known tool wrote is not read. */
static char *refusal_of(struct database *base)
{
	if (database_has_like(base, "rocpd_*"))
		return xstrdup("is a database of AMD's profilers (rocpd): gputrace reads none of these. To see the GPU "
			       "work of such a program take a trace of torch.profiler");
	return xstrdup("is an SQLite database, but none that nsys, nvprof or gputrace wrote");
}

int database_read(int fd, struct foreign_file *file, char **why)
{
	struct database_reader reader;
	size_t writer = 0;
	int err = 0;

	*why = NULL;
	if (!database_reader_open(&reader, fd, file)) {
		*why = xstrdup("is an SQLite database that is damaged or cut: nothing of it can be read");
		err = -EPROTO;
	} else {
		while (writer < WRITERS && !writers[writer].is(&reader))
			writer++;
		if (writer < WRITERS)
			writers[writer].read(&reader);
		else
			*why = refusal_of(&reader.base);
		err = *why ? -EPROTO : 0;
	}
	if (!err)
		feed_damage(&reader);
	if (!err && file->rows.error)
		err = file->rows.error;
	database_reader_close(&reader);
	return err;
}
