#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Checks user/cupti/cupti_abi.h against NVIDIA's own headers and libraries of many CUPTI versions: every offset the
# agent uses is asserted at compile time, every record size the library emits is probed at run time, and the callback
# ids of include/gputrace/cuda_api.h are compared with those of each version.  Nothing of NVIDIA's is in the tree: the
# wheels come from PyPI once and are kept in a cache.
#
#     tests/cupti_headers.sh            check every version
#     tests/cupti_headers.sh fetch      only fill the cache
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${GPUTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gputrace}/cupti-headers
cc=${CC:-gcc}
work=

# API version (cupti_version.h), whether the library answers without a driver (13.2 crashes, 13.3 and later
# refuse: then the test walks the records itself), CUPTI wheel, wheel with its cuda.h
versions='
18     library nvidia-cuda-cupti-cu11 11.8.87   nvidia-cuda-runtime-cu11 11.8.89
18     library nvidia-cuda-cupti-cu12 12.1.105  nvidia-cuda-runtime-cu12 12.1.105
22     library nvidia-cuda-cupti-cu12 12.4.127  nvidia-cuda-runtime-cu12 12.4.127
24     library nvidia-cuda-cupti-cu12 12.6.80   nvidia-cuda-runtime-cu12 12.6.77
26     library nvidia-cuda-cupti-cu12 12.8.90   nvidia-cuda-runtime-cu12 12.8.90
130001 library nvidia-cuda-cupti      13.0.85   nvidia-cuda-runtime      13.0.96
130202 headers nvidia-cuda-cupti      13.2.86   nvidia-cuda-runtime      13.2.86
130500 headers nvidia-cuda-cupti      13.5.25   nvidia-cuda-runtime      13.5.37
'
# NVTX's headers: those of its own library (CUDA 12 and before) and the latest
nvtx='
nvidia-nvtx-cu12 12.1.105
nvidia-nvtx      13.5.25
'
# crt/host_defines.h, which the older runtime wheels leave to the compiler's wheel; macros only
crt='nvidia-cuda-crt 13.0.88'

# fetch NAME VERSION: unpacks the wheel's headers and libcupti into $cache/NAME-VERSION
fetch() {
	into=$cache/$1-$2
	[ -d "$into" ] && return
	mkdir -p "$cache"
	tmp=$(mktemp -d "$cache/.fetch.XXXXXX")
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--dest "$tmp" "$1==$2"
	python3 - "$tmp" <<-'EOF'
		import glob, sys, zipfile
		folder = sys.argv[1]
		for wheel in glob.glob(folder + "/*.whl"):
		    with zipfile.ZipFile(wheel) as z:
		        z.extractall(folder, [n for n in z.namelist() if "/include/" in n or "/libcupti.so" in n])
	EOF
	rm -f "$tmp"/*.whl
	mv "$tmp" "$into"
}

# holds FOLDER FILE: the include folder of an unpacked wheel that has FILE
holds() {
	found=$(find "$1" -path "*/include/$2" | head -n 1)
	[ -n "$found" ] || { echo "cupti_headers: no $2 in $1" >&2; exit 1; }
	echo "${found%/"$2"}"
}

# Options for the headers of folder $1: the newest structure of each record (the library writes that one), and whether
# the older structures are in a file of their own
newest() {
	[ ! -e "$1/cupti_activity_deprecated.h" ] || echo "-DWITH_DEPRECATED"
	for record in Kernel Memcpy MemcpyPtoP Memset Overhead Device Context Stream Synchronization CudaEvent Memory Jit; do
		cat "$1/cupti_activity.h" "$1/cupti_activity_deprecated.h" 2>/dev/null |
			grep -o "^} CUpti_Activity${record}[0-9]*;" | tr -d '};' | sort -V | tail -n 1 |
			sed "s/^ */-DNEWEST_$record=/"
	done
}

# Compares the callback ids of cuda_api.h with the enumerations in folder $1: a name found there has the same number
callback_ids() {
	python3 - "$root/include/gputrace/cuda_api.h" "$1" <<-'EOF'
		import re, sys
		table, folder = sys.argv[1:]
		theirs = {}  # (domain, name without version) -> numbers
		for domain in "runtime", "driver":
		    text = open(f"{folder}/cupti_{domain}_cbid.h").read()
		    for name, number in re.findall(r"_TRACE_CBID_(\w+?)(?:_v\d{4,5})?\s*=\s*(\d+)", text):
		        theirs.setdefault((domain.upper(), name), set()).add(int(number))
		header = open(table).read()
		stubs = dict(re.findall(r"#define (GPT_CBID_\w+) (\d+)", header))
		aliases = {}  # (domain, the table's number) -> other numbers
		for domain, other, number in re.findall(r"X\((RUNTIME|DRIVER), (\w+), (\d+)\)", header):
		    aliases.setdefault((domain, int(number)), set()).add(int(stubs.get(other, other)))
		captures = re.findall(r"X\((RUNTIME|DRIVER), (\w+), (?:BEGINS|ENDS), (\d+), (\d+)\)", header)
		rows = re.findall(r"X\((RUNTIME|DRIVER),\s*(\w+),\s*\w+,\s*\w+,\s*(\w+),\s*(\d+),\s*(\d+)\)",
		                  header) + [(domain, name, "PTSZ", *ids) for domain, name, *ids in captures]
		wrong = seen = 0
		for domain, name, twin, cbid, twin_cbid in rows:
		    names = [(name, int(cbid))]
		    if twin != "NONE":
		        names.append((name + "_" + twin.lower(), int(twin_cbid)))
		    for symbol, number in names:
		        numbers = theirs.get((domain, symbol), set())
		        seen += bool(numbers)
		        if numbers and not numbers & ({number} | aliases.get((domain, number), set())):
		            print(f"cuda_api.h: {symbol} is {number}, the header says {sorted(numbers)}", file=sys.stderr)
		            wrong += 1
		print(f"{seen} of our callback ids are in the headers")
		sys.exit(wrong != 0 or len(captures) < 7 or len(rows) < 107 or seen < 150)
	EOF
}

rows() {
	echo "$versions" | grep -v '^ *$'
}

rows | while read -r _ _ cupti cupti_version runtime runtime_version; do
	fetch "$cupti" "$cupti_version"
	fetch "$runtime" "$runtime_version"
done
# shellcheck disable=SC2086 # two words on purpose
fetch $crt
echo "$nvtx" | grep -v '^ *$' | while read -r name version; do
	fetch "$name" "$version"
done
[ "${1:-}" = fetch ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
checked=0
rows >"$work/rows"
while read -r api run cupti cupti_version runtime runtime_version; do
	echo "== CUPTI $cupti_version"
	headers=$(holds "$cache/$cupti-$cupti_version" cupti_activity.h)
	library=
	[ "$run" = headers ] || library=$(find "$cache/$cupti-$cupti_version" -name 'libcupti.so*' | head -n 1)
	# shellcheck disable=SC2046,SC2086 # one word per definition; none or one library
	if "$cc" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -DEXPECTED_API="$api" \
		-I"$root/include" -I"$root/user" $(newest "$headers") -isystem "$headers" -isystem "$(holds "$cache/$runtime-$runtime_version" cuda.h)" \
		-isystem "$(holds "$cache/$(echo "$crt" | tr ' ' -)" crt/host_defines.h)" \
		-o "$work/check" "$root/tests/cupti_headers.c" -ldl && "$work/check" $library &&
		callback_ids "$headers"; then
		checked=$((checked + 1))
	else
		echo "cupti_headers: $cupti $cupti_version FAILED" >&2
		failed=$((failed + 1))
	fi
done <"$work/rows"
echo "$nvtx" | grep -v '^ *$' >"$work/rows"
while read -r name version; do
	"$cc" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$root/include" -I"$root/user" \
		-isystem "$(holds "$cache/$name-$version" nvtx3/nvToolsExt.h)" -o "$work/check" "$root/tests/nvtx_headers.c" -ldl &&
		"$work/check" || failed=$((failed + 1))
done <"$work/rows"
echo "cupti_headers: $checked versions agree, $failed do not"
[ "$failed" -eq 0 ] && [ "$checked" -ge 6 ]
