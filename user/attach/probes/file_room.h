/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Room in the table of files (files.h), for whom there is some, and who gives his back; for files.c. */
#ifndef GPUTRACE_ATTACH_PROBES_FILE_ROOM_H
#define GPUTRACE_ATTACH_PROBES_FILE_ROOM_H

#include "attach/probes/files.h"

/* Whether a file that was looked into may be kept open. */
bool file_may_stay_open(const struct files *files, const struct probed_file *file);

/* Whether there is room for one more file of the user; where there is none the log is told, once for each user. */
bool files_have_room(struct files *files, uid_t uid);

/* Whether the log names one more file of the user that is not probed; which are not is told, once for each user. */
bool files_may_name(struct files *files, uid_t uid);

/* Takes out its probes and forgets it. */
void files_forget(struct files *files, size_t index);

#endif
