"""A headless Chromium, driven over two pipes (--remote-debugging-pipe): pages are opened in it, asked by JavaScript, and told how much
processor time they took, which a busy machine does not change. SPDX-License-Identifier: MIT"""
import json
import os
import subprocess


class Chromium:
    """with Chromium(program, profile folder) as browser: ..."""

    def __init__(self, program, profile):
        commands, self.out = os.pipe()
        self.back, answers = os.pipe()

        def numbered():  # Chromium reads commands from 3 and writes answers to 4
            high = os.dup(commands), os.dup(answers)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900", f"--user-data-dir={profile}",
             "--remote-debugging-pipe", "about:blank"], preexec_fn=numbered, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.count, self.read, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.out)  # it ends when nobody commands it
        self.process.wait()
        os.close(self.back)

    def message(self):
        while b"\0" not in self.read:
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError("Chromium has ended")
            self.read += data
        first, self.read = self.read.split(b"\0", 1)
        return json.loads(first)

    def call(self, method, session=None, **params):
        self.count += 1
        command = {"id": self.count, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.out, json.dumps(command).encode() + b"\0")
        while (answer := self.message()).get("id") != self.count:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message())

    def open(self, address, script, dark=False):
        """What the script, an expression, gives when the page has been opened and painted; seconds of the processor until then;
        texts of errors that it logged."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

        def ask(method, **params):
            return self.call(method, session, **params)

        def processor():
            return next(row["value"] for row in ask("Performance.getMetrics")["metrics"] if row["name"] == "ProcessTime")

        def value(expression):
            return ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)["result"].get("value")

        for domain in ("Page", "Log", "Runtime", "Performance"):
            ask(f"{domain}.enable")
        if dark:
            ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.events = []
        start = processor()
        ask("Page.navigate", url=address)
        self.wait("Page.loadEventFired")
        value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds = processor() - start
        told = value(script)
        logged = [event["params"] for event in self.events
                  if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")]
        self.call("Target.closeTarget", targetId=target)
        return told, seconds, logged
