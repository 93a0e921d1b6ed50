#!/bin/sh
# gen-names.sh INCLUDE_DIR: prints the names of CUPTI's callback ids as C tables, from CUPTI's headers.
set -eu
table() {
    printf 'static const char *const %s[] = {\n' "$1"
    sed -n "s/^ *CUPTI_$2_TRACE_CBID_\([A-Za-z0-9_]*\) *= *\([0-9]*\),.*/    [\2] = \"\1\",/p" \
        "$3" | grep -v '"\(INVALID\|SIZE\|FORCE_INT\)"'
    printf '};\n'
}
printf '/* names.inc: made by gen-names.sh. */\n'
table runtime_names RUNTIME "$1/cupti_runtime_cbid.h"
table driver_names DRIVER "$1/cupti_driver_cbid.h"
