# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints HTA's result for the collectives in traces of several ranks as JSON; runs in the environment of tools/get-hta.
usage: hta_collectives.py FILE..., with the file of rank 0 first."""

import json
import os
import sys

from hta.configs.parser_config import ParserConfig
from hta.trace_analysis import TraceAnalysis

FILES = {rank: os.path.abspath(path) for rank, path in enumerate(sys.argv[1:])}
COLUMNS = ["collective_name", "in_msg_nelems", "out_msg_nelems", "msg_dtype", "group_size"]


def collectives(trace, rank):
    """{correlation: [kernel, its columns]} of the collectives that ran on the GPU."""
    rows = trace.get_trace(rank)
    names = trace.symbol_table.get_sym_table()
    rows = rows[(rows["stream"] >= 0) & (rows["group_size"] > 0)]
    return {int(row["correlation"]): [names[row["name"]], *(row[column] for column in COLUMNS)] for _, row in rows.iterrows()}


ParserConfig.set_default_cfg(ParserConfig(ParserConfig.ARGS_DEFAULT + ParserConfig.ARGS_COMMUNICATION))
analysis = TraceAnalysis(trace_files=FILES, trace_dir=os.path.dirname(FILES[0]), include_last_profiler_step=True)
overlap = analysis.get_comm_comp_overlap(visualize=False)
kinds, _ = analysis.get_gpu_kernel_breakdown(visualize=False)
print(json.dumps({
    "overlap_percent": {int(row["rank"]): float(row["comp_comm_overlap_pctg"]) for _, row in overlap.iterrows()},
    "us_by_kind": {row["kernel_type"]: float(row["sum"]) for _, row in kinds.iterrows()},
    "collectives": {rank: collectives(analysis.t, rank) for rank in FILES},
}, default=str))
