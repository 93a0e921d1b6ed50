/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A map from symbol probe site to cookie, for kernels that keep no cookie with a probe (before Linux 5.15). Attaches
 * nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/maps.h>
#include "attach/load/links.h"

/* The kernel's own number of a device: major << 20 | minor (include/linux/kdev_t.h). */
uint32_t sites_kernel_device(dev_t device);

struct gpt_site_key sites_key(dev_t device, uint64_t inode, uint64_t offset);

/* Moves the cookies of `uprobes` in one file into the map; call before they are attached. -errno: -E2BIG */
int sites_write(int map, dev_t device, uint64_t inode, struct uprobe *uprobes, size_t count);
