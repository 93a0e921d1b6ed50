/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as an SQLite database (.sqlite), with the tables and columns of `nsys export --type sqlite` for what both
 * have, so that queries written for nsys run.  Written by libsqlite3, whose format it is.
 */
#pragma once

#include "export/file/format.h"

export_write_fn sqlite_write;
