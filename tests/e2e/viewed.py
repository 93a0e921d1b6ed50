# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running `gputrace view` and its answers."""

import http.client
import json
import os
import signal
import subprocess
import urllib.parse

import machine
import tracing


class Viewed:
    """A running server; without a log, of the last trace."""

    def __init__(self, log, *options, env=None):
        self.process = subprocess.Popen([machine.GPUTRACE, "view", *([log] if log else []), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        universal_newlines=True, env={**os.environ, **(env or {})})
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.process.stderr.read()
        self.at = urllib.parse.urlparse(self.address)

    def ask(self, path, host=None):
        """(status, body) of a path after the token, or one that begins with a slash."""
        connection = http.client.HTTPConnection("127.0.0.1", self.at.port, timeout=tracing.PATIENCE_S)
        connection.putrequest("GET", path if path.startswith("/") else self.at.path + path, skip_host=True)
        connection.putheader("Host", host or self.at.netloc)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read()

    def fetch(self, path):
        status, body = self.ask(path)
        assert status == 200, (path, status)
        return json.loads(body)

    def tracks(self):
        """The tracks, once the whole log was read."""
        tracing.until(lambda: self.fetch("tracks")["done"])
        return self.fetch("tracks")

    def sums(self):
        tracing.until(lambda: self.fetch("sums")["ready"])
        return self.fetch("sums")

    def slices(self, **asked):
        """[(label of the track, start, length, name, where, count, busy)]"""
        info = self.tracks()
        given = self.fetch("slices?" + urllib.parse.urlencode({"from": 0, "to": info["span"], "width": 4000, **asked}))
        labels = {track[0]: track[1] for track in info["tracks"]}
        return [(labels[track], given["from"] + boxes[i], boxes[i + 1], *given["labels"][str(boxes[i + 2])][:2], boxes[i + 3], boxes[i + 4])
                for track, _, boxes in given["rows"] for i in range(0, len(boxes), 6)]

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(tracing.PATIENCE_S)
