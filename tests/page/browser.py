"""Chromium without a window."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS = 60
ZONE = "Europe/Berlin"
PROGRAMS = [shutil.which(name) for name in ("chromium", "chromedriver")]
_SWITCHES = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars "
    "--no-first-run --disable-extensions --disable-background-networking"
)


class Browser:
    """A browser on one page, with what its console says."""

    def __init__(self, profile: Path, *, width: int = 1280, height: int = 900) -> None:
        chromium, driver = PROGRAMS
        assert chromium
        assert driver
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for switch in (*_SWITCHES.split(), f"--user-data-dir={profile}"):
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))
        self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ZONE})
        self.size(width, height)

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def colors(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, url: str) -> None:
        self.driver.get(url)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        """Wait for an element."""
        return self.until(lambda: next(iter(self.all(selector)), None), selector)

    def text(self, selector: str = "main") -> str:
        script = "return document.querySelector(arguments[0])?.innerText ?? ''"
        return str(self.driver.execute_script(script, selector))

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)

    def sees(self, text: str, selector: str = "main") -> None:
        """Wait for a text."""
        self.until(lambda: text in self.text(selector), text)

    def until(self, condition: Callable[[], Any], what: str = "") -> Any:
        def met(_: Any) -> Any:
            return condition()

        return WebDriverWait(self.driver, SECONDS, 0.1).until(
            met, f"{what}: {self.text('.range')} {self.text('.read')} {self.text('.rows')[:300]}"
        )

    def said(self) -> list[str]:
        """Return what the console says since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def close(self) -> None:
        self.driver.quit()
