# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Drives a Chromium without a screen through its debugging pipe, as a user at a page would."""

import json
import os
import subprocess

import machine
import tracing

FROM_US, TO_US = 3, 4  # the descriptors of Chromium's input and output


def find():
    """(path, None), or (None, why there is no browser that runs here)."""
    found = subprocess.run([machine.ROOT / "tools/get-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if found.returncode:
        return None, found.stderr.strip()
    path = found.stdout.strip()
    tried = subprocess.run([path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom", "about:blank"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=tracing.PATIENCE_S)
    if tried.returncode:
        return None, f"{path} does not run here: {(tried.stderr.strip() or b'?').splitlines()[-1]}"
    return path, None


class Browser:
    def __init__(self, path, home):
        commands, answers = os.pipe(), os.pipe()

        def give_pipe():
            # a descriptor may have the number that another one is to get
            ends = os.dup2(commands[0], 103), os.dup2(answers[1], 104)
            os.dup2(ends[0], FROM_US)
            os.dup2(ends[1], TO_US)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             f"--user-data-dir={home}", "about:blank"],
            preexec_fn=give_pipe, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(home)})
        os.close(commands[0])
        os.close(answers[1])
        self.to, self.of, self.number, self.rest, self.said = commands[1], answers[0], 0, b"", []

    def _message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.of, 1 << 20)
            assert piece, "the browser has ended"
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message.decode("utf-8"))

    def call(self, method, session=None, **given):
        self.number += 1
        message = {"id": self.number, "method": method, "params": given, **({"sessionId": session} if session else {})}
        os.write(self.to, json.dumps(message).encode("utf-8") + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.said.append(answer)

    def open(self, address, width=1200, height=900):
        """Opens a tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        page.call("Runtime.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url=address)
        return page

    def exceptions(self):
        """The exceptions that scripts of pages have thrown."""
        return [one["params"] for one in self.said if one.get("method") == "Runtime.exceptionThrown"]

    def close(self):
        self.process.terminate()
        self.process.wait(tracing.PATIENCE_S)
        os.close(self.to)
        os.close(self.of)


class Page:
    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session

    def call(self, method, **given):
        return self.browser.call(method, session=self.session, **given)

    def evaluate(self, script):
        """The value of a script."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, (script, answer)
        return answer["result"].get("value")

    def text(self, name):
        """The text of the element with that id."""
        return self.evaluate(f"(document.getElementById('{name}') || {{textContent: ''}}).textContent")

    def until(self, name, part):
        tracing.until(lambda: part in self.text(name))
        return self.text(name)

    def focus(self, name):
        self.evaluate(f"document.getElementById('{name}').focus()")

    def key(self, key):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **({"text": text} if text and kind == "keyDown" else {}))

    def box(self, name):
        """(left, top, width, height) of an element in the window."""
        return self.evaluate(f"(() => {{ const box = document.getElementById('{name}').getBoundingClientRect(); "
                             "return [box.left, box.top, box.width, box.height]; })()")

    def click(self, left, top, times=1):
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=left, y=top, button="left", clickCount=count)

    def drag(self, left, top, by, shift=False):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=left, y=top, button="left", clickCount=1, modifiers=8 if shift else 0)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + by, y=top, button="left", buttons=1, modifiers=8 if shift else 0)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=left + by, y=top, button="left", clickCount=1, modifiers=8 if shift else 0)

    def wheel(self, left, top, by, ctrl=False):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=left, y=top, deltaX=0, deltaY=by, modifiers=2 if ctrl else 0)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
