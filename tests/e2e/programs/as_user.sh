#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs a command without any privilege (root only): uid 1000, no capabilities, and no way to get them (NoNewPrivs).
#     as_user.sh [--read-only] COMMAND [ARGUMENT...]
# It runs in a mount namespace of its own, in which it can reach CPythons below root's home.  --read-only: it can write
# only below the current folder, and execute nothing in /tmp.
set -eu

read_only=
[ "$1" != --read-only ] || { read_only=yes && shift; }
# shellcheck disable=SC2016 # for the inner shell
exec unshare -m sh -c '
set -eu
read_only=$1 home=$2 here=$PWD
shift 2
through=$(mktemp -d)
mount -t tmpfs -o mode=755 none "$through"
for kept in .pyenv .cache; do
	[ ! -d "$home/$kept" ] || { mkdir "$through/$kept" && mount --rbind "$home/$kept" "$through/$kept"; }
done
mount --rbind "$through" "$home"
if [ "$read_only" ]; then
	mount --bind /tmp /tmp
	mount -o remount,bind,ro,noexec /tmp
	mount -o remount,bind,ro /
	mount --bind "$here" "$here"
	mount -o remount,bind,rw,exec "$here"
	cd "$here"
fi
exec setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
' sh "$read_only" ~root "$@"
