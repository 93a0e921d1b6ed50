/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys and values of the map of sites. Entries are never removed: a probe that is being taken out may still be hit. */
#include "attach/load/site_cookies.h"

#include <sys/sysmacros.h>

#include <bpf/bpf.h>

uint32_t sites_kernel_device(dev_t device)
{
	return major(device) << 20 | minor(device);
}

struct gpt_site_key sites_key(dev_t device, uint64_t inode, uint64_t offset)
{
	return (struct gpt_site_key){.inode = inode, .offset = offset, .device = sites_kernel_device(device)};
}

int sites_write(int map, dev_t device, uint64_t inode, struct uprobe *uprobes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct gpt_site_key key = sites_key(device, inode, uprobes[i].offset);
		int error = bpf_map_update_elem(map, &key, &uprobes[i].cookie, BPF_ANY);

		if (error)
			return error;
		uprobes[i].cookie = 0;
	}
	return 0;
}
