"""A headless Chromium, driven through chromedriver with nothing but the standard library."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def missing() -> str:
    """What is not installed, empty if all is there."""
    programs = (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
    absent = [names[0] for names in programs if not any(shutil.which(name) for name in names)]
    return " and ".join(absent)


class Browser:
    """One page of one browser."""

    def __init__(self, address: str, profile: str) -> None:
        chromium = next(
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        )
        options = {
            "binary": chromium,
            "args": [*FLAGS, f"--user-data-dir={profile}"],
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._address = address
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{answer['sessionId']}"

    def _call(self, method: str, path: str, content: Any = None) -> Any:
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(  # noqa: S310 - always the driver on loopback
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - the same
            return json.load(response)["value"]

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        content = {"cmd": name, "params": parameters}
        return self._call("POST", f"{self._session}/goog/cdp/execute", content)

    def open(self, page: Path, width: int, theme: str = "light") -> None:
        """Show a file from disk at a width, under a system theme."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 640,
        )
        self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": theme}],
        )
        self._call("POST", f"{self._session}/url", {"url": page.as_uri()})

    def run(self, script: str) -> Any:
        """What a script returns."""
        content = {"script": script, "args": []}
        return self._call("POST", f"{self._session}/execute/sync", content)

    def console(self) -> list[dict[str, Any]]:
        """What was logged since the last call."""
        found: list[dict[str, Any]] = self._call(
            "POST", f"{self._session}/se/log", {"type": "browser"}
        )
        return found

    def close(self) -> None:
        """End the session."""
        self._call("DELETE", self._session)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a fresh profile, gone when the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert driver.stdout is not None
            port = next(
                match.group(1)
                for line in driver.stdout
                if (match := re.search(r"on port (\d+)", line)) and match.group(1) != "0"
            )
            found = Browser(f"http://127.0.0.1:{port}", profile)
            try:
                yield found
            finally:
                found.close()
        finally:
            driver.terminate()
            driver.wait(10)
            if driver.stdout is not None:
                driver.stdout.close()
