# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""takes_name.py NAME COMMAND [ARGUMENT...]: executes the command after another process has bound the abstract socket
NAME, in which {} is the command's pid."""

import os
import signal
import socket
import sys

name, command = sys.argv[1].format(os.getpid()), sys.argv[2:]
bound, holds = os.pipe()
if not os.fork():
    os.close(bound)
    taken = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    taken.bind("\0" + name)
    taken.listen(1)
    os.write(holds, b"x")
    os.dup2(os.open("/dev/null", os.O_RDWR), 1)
    while True:
        signal.pause()
os.close(holds)
os.read(bound, 1)
os.execv(command[0], command)
