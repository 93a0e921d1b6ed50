#!/bin/sh
# list-unsupported.sh REAL.so PREFIX SOURCE.c...: lists functions that REAL exports, that begin with
# PREFIX (a regular expression) and that the sources do not define, one UNSUPPORTED(name) a line. The
# *.inc files are its output; run it again when a newer library exports more.
set -eu
real=$1 prefix=$2
shift 2
ours=$(mktemp)
trap 'rm -f "$ours"' EXIT
grep -ohE '\b_*cu[A-Za-z0-9_]+' "$@" | sort -u >"$ours"
nm -D --defined-only "$real" | awk '$2 ~ /[TWi]/ {print $3}' | sed 's/@.*//' |
    grep -E "^($prefix)" | sort -u | grep -vxFf "$ours" | sed "s/.*/${MACRO:-UNSUPPORTED}(&)/"
