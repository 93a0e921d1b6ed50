# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""HTA's breakdown of GPU time and its overlap for traces of several ranks, as JSON; runs in the environment of
tools/get-hta.  usage: hta_breakdown.py FILE..., with the file of rank 0 first"""

import json
import os
import sys

from hta.trace_analysis import TraceAnalysis

FILES = {rank: os.path.abspath(path) for rank, path in enumerate(sys.argv[1:])}
analysis = TraceAnalysis(trace_files=FILES, trace_dir=os.path.dirname(FILES[0]), include_last_profiler_step=True)
breakdown = analysis.get_temporal_breakdown(visualize=False).set_index("rank")
overlap = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")
print(json.dumps([{
    "idle_us": float(breakdown.loc[rank, "idle_time(us)"]),
    "compute_us": float(breakdown.loc[rank, "compute_time(us)"]),
    "non_compute_us": float(breakdown.loc[rank, "non_compute_time(us)"]),
    "kernel_us": float(breakdown.loc[rank, "kernel_time(us)"]),
    "overlap_percent": float(overlap.loc[rank, "comp_comm_overlap_pctg"]),
    "rows": int(analysis.t.get_trace(rank)["stream"].ne(-1).sum()),
} for rank in FILES]))
