# SPDX-License-Identifier: BSD-2-Clause
"""Drive Debian's chromium, headless, through its debugging pipe: messages are JSON that ends in a zero byte."""
import base64
import json
import os
import select
import signal
import subprocess
import time

PATIENCE = 120  # seconds after which an answer will never come


class Browser:
    def __init__(self, profile, log):
        ours, theirs = os.pipe(), os.pipe()
        self.log = open(log, "wb")
        self.read, self.write = theirs[0], ours[1]
        self.buffer, self.number, self.events = b"", 0, []

        def plug():
            # first out of the way, since the ends may be 3 and 4 themselves
            a, b = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-breakpad",
             "--disable-component-update", "--disable-sync", "--user-data-dir=" + profile, "--remote-debugging-pipe",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=plug, pass_fds=(3, 4),
            start_new_session=True, env={**os.environ, "HOME": profile})
        os.close(ours[0])
        os.close(theirs[1])
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    session = None

    def message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.read, 1 << 16)
            if not data:
                raise EOFError("the browser ended: status %s" % self.process.wait(PATIENCE))
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        while True:
            m = self.message()
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError("%s: %s" % (method, m["error"]))
                return m["result"]
            self.events.append(m)

    def wait_event(self, name, since):
        while not any(e.get("method") == name for e in self.events[since:]):
            self.events.append(self.message())

    def open(self, url):
        since = len(self.events)
        self.call("Page.navigate", url="about:blank")  # else a page with another #place is not loaded again
        self.wait_event("Page.loadEventFired", since)
        since = len(self.events)
        self.call("Page.navigate", url=url)
        self.wait_event("Page.loadEventFired", since)

    def run(self, code, promise=False):
        r = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=promise)
        if "exceptionDetails" in r:
            raise RuntimeError("%s: %s" % (code, r["exceptionDetails"]))
        return r["result"].get("value")

    def until(self, code):
        """Wait for what `code` says to come true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if self.run(code):
                    return True
            except RuntimeError:  # between two pages
                pass
            time.sleep(0.05)
        return False

    def until_page(self, code):
        """The same, and the page has its script running: keys do something."""
        return self.until("document.readyState == 'complete' && (%s)" % code)

    def key(self, key, text=None):
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9}.get(key, 0)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        params = {"key": key, "windowsVirtualKeyCode": code}
        if text:
            params["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        for c in text:
            self.key(c)

    def screen(self, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self):
        """What went wrong in the pages, and what they asked for, since the last time."""
        bad, asked = [], []
        for e in self.events:
            method, p = e.get("method"), e.get("params", {})
            if method == "Runtime.exceptionThrown":
                bad.append(str(p["exceptionDetails"].get("exception", p["exceptionDetails"]))[:300])
            elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert", "warning"):
                bad.append(str(p["args"])[:300])
            elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                bad.append(p["entry"]["text"])
            elif method == "Page.javascriptDialogOpening":
                bad.append("a dialog: " + p["message"])
            elif method == "Network.requestWillBeSent":
                asked.append(p["request"]["url"])
        self.events = []
        return bad, asked

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        except (OSError, EOFError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            pass
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()
