# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Starts a program for every folder of a folder; like a shell with job control, counts how often it sees one stopped.

watches.py FOLDER PROGRAM [ARG...]: the folder's name is the program's last argument.  CPython 3.6 to 3.15.
"""

import os
import signal
import sys

stops = 0
for name in sorted(os.listdir(sys.argv[1])):
    pid = os.fork()
    if not pid:
        os.execv(sys.argv[2], sys.argv[2:] + [os.path.join(sys.argv[1], name)])
    status = os.waitpid(pid, os.WUNTRACED)[1]
    while os.WIFSTOPPED(status):
        stops += 1
        os.kill(pid, signal.SIGCONT)
        status = os.waitpid(pid, os.WUNTRACED)[1]
    if status:
        sys.exit("ended with status %d" % status)
print("stops", stops, flush=True)
