# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A process with a service like NCCL's RAS: lines of text on a port that several processes may share.

ras_server.py KIND PORT [NAME]: prints "ready", then each line that it receives.  Its answers contain NAME.
"""

import socket
import sys

KIND, PORT, NAME = sys.argv[1], int(sys.argv[2]), (sys.argv[3:] or ["a job"])[0]
LINE_LENGTHS = {"endless": 1000, "endless_short": 10}
STATUS = f"Status of {NAME}\n\n  rank\tcalls\n  0\t5\n  1\t4 \x1b[2J\x00\xff\n"


def lines_of(connection):
    pending = b""
    while True:
        received = connection.recv(4096)
        if not received:
            return
        pending += received
        while b"\n" in pending:
            line, pending = pending.split(b"\n", 1)
            print(line.decode(), flush=True)
            yield line.decode().upper()


def answer(connection, words):
    """Sends the words in one write; KIND "slow": byte by byte."""
    data = words.encode("latin-1")
    for at in range(0, len(data), 1 if KIND == "slow" else len(data)):
        connection.sendall(data[at:at + (1 if KIND == "slow" else len(data))])


def converse(connection):
    for line in lines_of(connection):
        if KIND == "silent":
            continue
        if KIND == "garbage":
            connection.sendall(bytes(range(256)) * 100 + b"\n")
        elif line.startswith("CLIENT PROTOCOL "):
            answer(connection, "SERVER PROTOCOL 2\n")
        elif line.startswith("TIMEOUT "):
            answer(connection, "ERROR: what is that\n" if KIND == "old" else "OK\n")
        elif line == "STATUS":
            if KIND == "leaves":
                return
            while KIND in LINE_LENGTHS:
                answer(connection, "x" * LINE_LENGTHS[KIND] + "\n")
            answer(connection, "Status of" if KIND == "hangs" else STATUS)
            if KIND != "hangs":
                return


server = socket.socket(socket.AF_INET6 if KIND == "six" else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind(({"six": "::1", "any": "0.0.0.0", "outside": "10.9.8.7"}.get(KIND, "127.0.0.1"), PORT))
server.listen(100)
print("ready", flush=True)
while True:
    accepted = server.accept()[0]
    try:
        converse(accepted)
    except OSError as error:
        print(type(error).__name__, flush=True)
    accepted.close()
