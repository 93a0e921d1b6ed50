#!/bin/sh
# get-headers.sh: prints a folder with CUDA 13's and CUPTI's headers: the toolkit's if it is installed
# (CUDA_HOME, or the usual place), else the header packages from PyPI, fetched once into the cache.
set -eu

has_headers() {
    [ -f "$1/cuda.h" ] && [ -f "$1/cuda_runtime_api.h" ] && [ -f "$1/cupti.h" ] &&
        grep -q '^#define CUPTI_API_VERSION 1300' "$1/cupti_version.h" 2>/dev/null
}

for folder in "${CUDA_HOME:+$CUDA_HOME/include}" /usr/local/cuda/include; do
    if [ -n "$folder" ] && has_headers "$folder"; then
        echo "$folder"
        exit 0
    fi
done

cache=${GPUTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gputrace}/cuda-headers-13.0
include=$cache/nvidia/cu13/include
if ! has_headers "$include"; then
    new=$cache.$$
    trap 'rm -rf "$new"' EXIT
    mkdir -p "$new"
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$new" \
        'nvidia-cuda-cupti==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' >&2
    has_headers "$new/nvidia/cu13/include" || {
        echo "get-headers.sh: the packages do not hold the headers" >&2
        exit 1
    }
    rm -rf "$cache"
    mv "$new" "$cache"
fi
echo "$include"
