/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds per-CPU variables, and members of a structure, in the kernel's BTF. */
#include "attach/load/preempt_count.h"

#include <stdbool.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* Finds the offset of a member, also inside an unnamed structure or union; false: there is none. */
static bool find_member(const struct btf *btf, uint32_t type, const char *name, uint32_t *offset)
{
	const struct btf_type *structure = btf__type_by_id(btf, (uint32_t)btf__resolve_type(btf, type));

	if (!structure || !btf_is_composite(structure))
		return false;
	for (uint32_t i = 0; i < btf_vlen(structure); i++) {
		const struct btf_member *member = btf_members(structure) + i;
		const char *called = btf__name_by_offset(btf, member->name_off);
		uint32_t bytes = btf_member_bit_offset(structure, i) / 8, inner = 0;

		if (called && *called ? !strcmp(called, name) : find_member(btf, member->type, name, &inner)) {
			*offset = bytes + inner;
			return true;
		}
	}
	return false;
}

/* Sets *offset to a variable's offset among the per-CPU variables; returns its type, 0: there is none. */
static uint32_t find_variable(const struct btf *btf, const struct btf_type *section, const char *name, uint32_t *offset)
{
	for (uint32_t i = 0; i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *place = btf_var_secinfos(section) + i;
		const struct btf_type *variable = btf__type_by_id(btf, place->type);
		const char *called = variable ? btf__name_by_offset(btf, variable->name_off) : NULL;

		if (!called || strcmp(called, name) != 0)
			continue;
		*offset = place->offset;
		return variable->type;
	}
	return 0;
}

/* __preempt_count; from Linux 6.2 to 6.14 a member of pcpu_hot (arch/x86/include/asm/current.h). */
static bool find_count(const struct btf *btf, const struct btf_type *section, uint32_t *offset)
{
	uint32_t member, hot;

	if (find_variable(btf, section, "__preempt_count", offset))
		return true;
	hot = find_variable(btf, section, "pcpu_hot", offset);
	if (!hot || !find_member(btf, hot, "preempt_count", &member))
		return false;
	*offset += member;
	return true;
}

int64_t preempt_count_from_rq(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	uint32_t count = 0, queue = 0;
	int section = btf ? btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC) : -1;
	const struct btf_type *variables = section > 0 ? btf__type_by_id(btf, (uint32_t)section) : NULL;
	bool found =
		variables && find_count(btf, variables, &count) && find_variable(btf, variables, "runqueues", &queue);

	btf__free(btf);
	return found ? (int64_t)count - (int64_t)queue : 0;
}
