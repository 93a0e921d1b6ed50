# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests start and load is bounded, whatever other programs on the machine do meanwhile."""

import resource
import subprocess

import machine
import tracing

MOST = 8 << 30


def test_this_process_and_what_it_starts_may_allocate_8_gb():
    take = f"bytearray({MOST} - (1 << 28)); bytearray({MOST} + 1)"
    done = subprocess.run([machine.SYSTEM_PYTHON, "-c", take], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and done.stderr.endswith("MemoryError\n")
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] <= MOST


def test_of_a_trace_of_the_machine_one_process_is_read(cudart, tmp_path):
    """Another program launches much meanwhile: none of it is in what a test loads."""
    with tracing.target(tmp_path, cudart) as own, tracing.target(tmp_path, cudart) as other:
        with tracing.Tracer(tmp_path, "-p", own.pid, "-p", other.pid, names=()) as tracer:
            own.ask("steps 1")
            other.ask("steps 300")
            tracer.interrupt().must_be(0)
    least, most = (tracing.export_process(tmp_path / "trace.gpt", target.pid).stat().st_size for target in (own, other))
    assert 50 * least < most
