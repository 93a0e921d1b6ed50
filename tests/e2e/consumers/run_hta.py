# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs HTA's analyses on one trace, in the environment of tools/get-hta; prints their results as JSON."""

import json
import os
import sys

from hta.trace_analysis import TraceAnalysis

path = os.path.abspath(sys.argv[1])
analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path), include_last_profiler_step=True)
analysis.get_temporal_breakdown(visualize=False)
_, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
idle, _ = analysis.get_idle_time_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
launches = analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
queue = analysis.get_queue_length_summary()
bandwidth = analysis.get_memory_bw_summary()
critical_path = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=0)

rows = analysis.t.get_trace(0)
gpu = rows[(rows["stream"] >= 0) & (rows["correlation"] >= 0)]
print(json.dumps({
    "kernel_us": {row["name"]: float(row["sum (us)"]) for _, row in kernels.iterrows()},
    "idle_categories": sorted(set(idle["idle_category"])),
    "launches": len(launches),
    "streams_with_queue": len(queue),
    "bandwidth_series": sorted({name for _, name in bandwidth.index}),
    "critical_path": bool(critical_path[1]),
    "gpu_rows": len(gpu),
    "gpu_rows_joined": int((gpu["index_correlation"] > 0).sum()),
    "gpu_rows_of_steps": {int(step): int(count) for step, count in gpu["iteration"].value_counts().items() if step >= 0},
}))
