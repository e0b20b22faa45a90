"""The page from 320 to 2,000 pixels, light and dark, by keyboard; and the pictures of it in docs and README.

DCKA_PICTURES=docs/pictures makes these anew.
"""

import os
from pathlib import Path

import pytest
from servers import LIMIT_S
from web_scene import browsing, scene

WIDTHS = (320, 390, 768, 1280, 2000)


@pytest.fixture(autouse=True)
def a_history_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("DCKA_HISTORY", str(tmp_path / "history.sqlite"))


def too_wide(page):
    """What is wider than the window, but for what scrolls by itself."""
    return page.evaluate(
        """() => document.documentElement.scrollWidth > innerWidth
        ? [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1
            && !one.closest('.scroll')).map((one) => one.tagName + '#' + one.id).slice(0, 5) : []"""
    )


def test_it_fits_every_screen_is_used_by_keyboard_and_has_words_for_every_picture(tmp_path):
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=LIMIT_S * 1000)
    pictures = Path(os.environ.get("DCKA_PICTURES") or tmp_path)
    with scene(tmp_path, per_gaussian=100) as made, browsing(viewport={"width": 1280, "height": 900}) as page:
        page.goto(made.monitor.url)
        made.run("--schedule", "gossip", "--seed", "3")
        expect(page.locator("#verdict-badge")).to_have_text("PASS")
        for colours in ("light", "dark"):
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                expect(page.locator("#ssd canvas").first).to_be_visible()
                assert too_wide(page) == [], (colours, width)
        for name, colours, width, height in (
            ("light", "light", 1760, 1180),
            ("dark", "dark", 1760, 1180),
            ("phone", "light", 390, 1560),
        ):
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(1000)  # a picture: no harm where it is taken too early
            page.screenshot(path=pictures / f"monitor-{name}.png")
            assert (pictures / f"monitor-{name}.png").stat().st_size > 10_000

        # Every picture has a sentence and a table.
        for picture in ("map", "space", "ssd", "spread", "moved"):
            assert len(page.locator(f"#{picture}-words").inner_text()) > 10
            page.locator(f"#{picture}-table").locator("xpath=ancestor::details").locator("summary").focus()
            page.keyboard.press("Enter")
            expect(page.locator(f"#{picture}-table tbody tr").first).to_be_visible()

        # From the top, Tab comes to all that can be used, and each shows where it is.
        page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        reached = set()
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("() => document.activeElement.id || document.activeElement.className"))
        assert {"skip", "theme", "runs", "play", "cursor", "speed"} <= reached
        page.locator("#play").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#play")).to_contain_text("Pause")
        page.keyboard.press("Enter")
        expect(page.locator("#play")).to_contain_text("Replay")
        page.locator("#cursor").focus()
        page.keyboard.press("Home")
        expect(page.locator("#at")).to_contain_text("step 1 of")
