"""A real Chromium without a window, driven by Playwright: what the page is measured and tested with."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcka.errors import DckaError

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


class NoBrowser(DckaError):
    """There is no Chromium here, or nothing to drive it with; the text says what to install."""


def find_chromium() -> str:
    """The path of the browser. Raises NoBrowser."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NoBrowser("chromium is not installed here: apt-get install chromium")
    return found


@contextlib.contextmanager
def chromium(**options: Any) -> Iterator["BrowserContext"]:
    """A browser with a profile of its own, gone at the end of the block.

    `options`: Playwright's of a persistent context. Raises NoBrowser.
    """
    program = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NoBrowser("playwright is not installed here: pip install 'dcka[dev]'") from error
    profile = Path(tempfile.mkdtemp(prefix="dcka-chromium-"))
    try:
        with sync_playwright() as playwright:
            context = playwright.chromium.launch_persistent_context(
                profile, executable_path=program, headless=True, args=list(FLAGS), **options
            )
            try:
                yield context
            finally:
                context.close()
    finally:
        shutil.rmtree(profile, ignore_errors=True)
