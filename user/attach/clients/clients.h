/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other clients of CUPTI in a followed process, above all torch.profiler.  CUPTI has one set of buffers: while another
 * client records, its records go into that client's buffers and not into the agent's.
 *
 *   cupti_client      what the other client is doing, and what the agent is told of it
 *   foreign_buffers   each buffer that CUPTI gives to the other client, copied from outside
 *   foreign_records   the records in such a copy, as an agent would send them
 *   tsc               their time stamps, which may count processor ticks
 */
#ifndef GPUTRACE_ATTACH_CLIENTS_CLIENTS_H
#define GPUTRACE_ATTACH_CLIENTS_CLIENTS_H

#include "attach/clients/cupti_client.h"
#include "attach/clients/foreign_buffers.h"

#endif
