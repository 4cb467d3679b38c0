"""A real browser, without a window: the Chromium of the machine."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def path_of_chromium() -> str | None:
    """Path of Chromium; None if it isn't installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def launched(path: str) -> Iterator[Browser]:
    """The browser at a path, as long as it is needed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
