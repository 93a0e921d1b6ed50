#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Checks the properties of the agent's file that the kernel, old loaders and other people's processes rely on.
#     tests/unit/agent_library.sh LIBRARY
set -eu

library=$1
failed=0

fail() {
	echo "agent_library: $*" >&2
	failed=1
}

# the symbols of the activity sets in values.h's table
activity_sets() {
	sed -n 's/^\tX([A-Z]*, \([a-z]*\)).*/gputrace_agent_activity_set_\1 gputrace_agent_activity_set_\1_semaphore/p' \
		include/gputrace/values.h | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//'
}

# a 5-byte nop first: the probe replaces it (Linux 6.18: without a trap)
for symbol in gputrace_agent_call gputrace_agent_batch gputrace_agent_state gputrace_agent_yield \
	gputrace_agent_resume gputrace_agent_restart gputrace_agent_share gputrace_agent_calls gputrace_agent_ops gputrace_agent_ops_off gputrace_agent_shapes gputrace_agent_shapes_off gputrace_agent_stack gputrace_agent_forward_lines gputrace_agent_torch_memory \
	gputrace_agent_memory_lines gputrace_agent_schedule $(activity_sets | tr ' ' '\n' | grep -v semaphore); do
	case $(objdump -d --disassemble="$symbol" "$library" | grep -A1 "<$symbol>:" | tail -n 1) in
	*":	0f 1f 44 00 00 "*) ;;
	*) fail "$symbol does not begin with the 5-byte nop" ;;
	esac
	objdump -d --disassemble="$symbol" "$library" | grep -A2 "<$symbol>:" | tail -n 1 | grep -q ":	90 " ||
		fail "$symbol has no 1-byte nop after it"
done

# nothing newer than glibc 2.17
newer=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | awk -F_ '{ print $2 }' |
	awk -F. '$1 > 2 || ($1 == 2 && $2 > 17)')
[ -z "$newer" ] || fail "wants glibc $newer"
[ "$(objdump -T "$library" | grep -c 'GLIBC_')" -gt 10 ] || fail "no symbol versions found: is this check blind?"

# every imported function has an entry that says what a forked child has of it
wanted=$(nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $2); print $2 }' | sort)
said=$(sed -n 's/^\([^#\t][^:]*\):.*/\1/p' user/agent/imports.txt | tr ' ' '\n' | sort)
[ "$wanted" = "$said" ] || fail "user/agent/imports.txt does not say what the library wants: $(
	printf '%s\n' "$wanted" "$said" | sort | uniq -u | tr '\n' ' ')"

# exactly the promised names
wanted="InitializeInjection InitializeInjectionNvtx2 gputrace_agent_abi $(activity_sets) gputrace_agent_batch \
gputrace_agent_batch_semaphore gputrace_agent_call gputrace_agent_calls gputrace_agent_calls_semaphore gputrace_agent_forward_lines gputrace_agent_forward_lines_semaphore gputrace_agent_memory_lines gputrace_agent_memory_lines_semaphore gputrace_agent_ops gputrace_agent_ops_off gputrace_agent_ops_off_semaphore gputrace_agent_ops_semaphore gputrace_agent_restart gputrace_agent_restart_semaphore gputrace_agent_resume gputrace_agent_resume_semaphore \
gputrace_agent_schedule gputrace_agent_schedule_semaphores gputrace_agent_semaphore gputrace_agent_shapes gputrace_agent_shapes_off gputrace_agent_shapes_off_semaphore gputrace_agent_shapes_semaphore gputrace_agent_share gputrace_agent_share_semaphore gputrace_agent_stack gputrace_agent_stack_semaphore gputrace_agent_start gputrace_agent_state gputrace_agent_status gputrace_agent_torch_memory gputrace_agent_torch_memory_semaphore \
gputrace_agent_yield gputrace_agent_yield_semaphore"
shown=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort | tr '\n' ' ')
[ "$shown" = "$wanted " ] || fail "shows: $shown"

# GPT_AGENT_ABI must change with these names: it tells apart agents that export different ones
names="$(sed -n 's/^#define GPT_AGENT_ABI //p' include/gputrace/agent.h) $(echo "$shown" | cksum | cut -d ' ' -f 1)"
[ "$names" = "13 3726072951" ] || fail "the names or GPT_AGENT_ABI have changed; both must: number and checksum are now $names"

# the counters are 2 bytes each, zero, in the file (the kernel finds them by file offset) and in writable memory
readelf -SW "$library" | grep -q ' \.probes  *PROGBITS .* WA ' || fail ".probes is not writable data in the file"
for symbol in gputrace_agent_semaphore gputrace_agent_batch_semaphore gputrace_agent_yield_semaphore \
	gputrace_agent_resume_semaphore gputrace_agent_restart_semaphore gputrace_agent_share_semaphore gputrace_agent_calls_semaphore gputrace_agent_ops_semaphore \
	gputrace_agent_stack_semaphore gputrace_agent_forward_lines_semaphore gputrace_agent_shapes_semaphore \
	gputrace_agent_torch_memory_semaphore gputrace_agent_memory_lines_semaphore \
	gputrace_agent_shapes_off_semaphore gputrace_agent_ops_off_semaphore \
	$(activity_sets | tr ' ' '\n' | grep semaphore); do
	readelf -sW "$library" | awk -v s="$symbol" '$8 == s { print $3 }' | sort -u | grep -qx 2 ||
		fail "$symbol is not 2 bytes"
done

# static TLS is scarce: 1664 bytes for all libraries that a process loads late
tls=$(($(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')))
[ "$tls" -le 80 ] || fail "takes $tls bytes of static TLS"

# needs only libc, libdl and libpthread, no library of NVIDIA's; calls nothing that ends the process or prints
needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^libdl\.so' \
	-e '^libpthread\.so' || true)
[ -z "$needed" ] || fail "needs $needed"
bad=$(nm -D --undefined-only "$library" | awk '{ print $2 }' | sed 's/@.*//' |
	grep -x -e exit -e _exit -e abort -e printf -e fprintf -e puts -e write -e perror -e syslog || true)
[ -z "$bad" ] || fail "calls $bad"
readelf -dW "$library" | grep -q NODELETE || fail "may be unloaded under a running callback"

[ "$failed" -eq 0 ] && echo "agent_library: ok"
exit "$failed"
