# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Says which signals it gets; ends with 40 at those that are named as arguments."""

import os
import signal
import sys

reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.set_wakeup_fd(writing)
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"):
    signal.signal(getattr(signal, name), lambda number, frame: None)
print("ready", os.getpid(), flush=True)
while True:
    for number in os.read(reading, 64):
        name = signal.Signals(number).name
        print("got", name, flush=True)
        if name in sys.argv[1:]:
            sys.exit(40)
