#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# another_world.sh FOLDER SIMGPU TESTS OUT COMMAND...: runs COMMAND in the mount namespace (and others) that the caller
# has unshared. It sees only the system, read-only, and SIMGPU as /simgpu, TESTS as /tests, OUT as /out.
set -eu
root=$1 simgpu=$2 tests=$3 out=$4
shift 4
mount -t tmpfs none "$root"
for folder in usr lib lib64 bin etc; do
	[ -e "/$folder" ] || continue
	if [ -h "/$folder" ]; then ln -s "$(readlink "/$folder")" "$root/$folder"; continue; fi
	mkdir -p "$root/$folder"
	mount --rbind "/$folder" "$root/$folder"
done
mkdir "$root/proc" "$root/simgpu" "$root/tests" "$root/out" "$root/dev" "$root/tmp"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$simgpu" "$root/simgpu"
mount --bind "$tests" "$root/tests"
mount --bind "$out" "$root/out"
mount -o remount,ro,bind "$root"
exec chroot "$root" "$@"
