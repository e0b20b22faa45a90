"""`dcka monitor --web` in a real browser: a run appears as it goes, and stays whole through reloads and outages."""

import json
import time

import pytest
from servers import LIMIT_S, TestClient, wait_until
from web_scene import browsing, scene, shown

KEEPALIVE_S = 10


@pytest.fixture(autouse=True)
def a_history_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("DCKA_HISTORY", str(tmp_path / "history.sqlite"))


@pytest.fixture
def expect():
    """Playwright's, with as much patience as all tests have."""
    assertions = pytest.importorskip("playwright.sync_api").expect
    assertions.set_options(timeout=LIMIT_S * 1000)
    return assertions


def watched(page):
    """What goes wrong in the page, as it goes wrong."""
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
    return trouble


def test_a_run_that_is_started_there_appears_survives_a_reload_and_is_checked(tmp_path, expect):
    with scene(tmp_path, delay_ms=15) as made, browsing(viewport={"width": 1280, "height": 900}) as page:
        trouble = watched(page)
        page.goto(made.monitor.url)
        expect(page.locator("#online")).to_have_text("5 of 5 nodes online")
        page.select_option("#start [name=schedule]", "gossip")
        page.fill("#start [name=seed]", "3")
        page.get_by_role("button", name="Start a run").click()
        expect(page.locator("#run-title")).to_have_text("run 1: gossip, K = 9, 5 nodes")
        expect(page.locator("#run-words")).to_contain_text("at step")
        before = page.evaluate(
            "() => Object.keys(window.dcka.values()).filter((name) => name.startsWith('story/'))"
        )
        page.reload()
        expect(page.locator("#link")).to_have_text("connected")
        wait_until(
            lambda: set(before) <= set(page.evaluate("() => Object.keys(window.dcka.values())")),
            "all of it again",
        )
        expect(page.locator("#verdict-badge")).to_have_text("PASS")
        expect(page.locator("#control-words")).to_have_text("Done.")
        steps = int(page.locator("#cursor").get_attribute("max")) + 1
        assert steps > 5
        for chart in ("ssd", "spread", "moved"):
            expect(page.locator(f"#{chart} canvas").first).to_be_visible()
            page.locator(f"#{chart}-table").locator("xpath=ancestor::details").locator("summary").click()
        expect(page.locator("#ssd-table tbody tr")).to_have_count(steps)
        expect(page.locator("#moved-table tbody tr")).to_have_count(steps - 1)
        assert page.locator("#spread-table tbody tr").count() >= 3 * steps
        expect(page.locator("#spread-words")).to_contain_text("second eigenvalue")
        expect(page.locator("#history tbody tr")).to_have_count(1)
        expect(page.locator("#history")).to_contain_text("PASS")
        other = page.context.new_page()
        other.goto(made.monitor.url)
        expect(other.locator("#verdict-badge")).to_have_text("PASS")
        wait_until(lambda: shown(other) == shown(page), "a fresh page knows the same")
        # Out of the history it is the same run, step by step.
        steps_live = {name: value for name, value in shown(page).items() if name.startswith("story/centres/")}
        number = page.evaluate("async () => (await (await fetch('/page/history')).json()).runs[0].id")
        kept = page.evaluate("async (id) => (await fetch(`/page/history/${id}`)).json()", number)
        for name, part in steps_live.items():
            held = kept[name.removeprefix("story/")]
            assert {node: held["sets"][at] for node, at in held["of"].items()} == {
                node: part["sets"][at] for node, at in part["of"].items()
            }
        page.locator("#history button").first.click()
        expect(page.locator("#runs")).to_contain_text("(kept)")
        page.get_by_role("button", name="Replay").click()
        expect(page.locator("#play")).to_contain_text("Pause")
        expect(page.locator("#at")).to_contain_text(f"of {steps}")
        assert trouble == []


def test_who_dies_goes_offline_who_lives_does_not_and_hostile_words_are_text(tmp_path, expect):
    with scene(tmp_path) as made, browsing() as page, TestClient(made.broker.address, "hostile") as stranger:
        trouble = watched(page)
        page.goto(made.monitor.url)
        expect(page.locator("#online")).to_have_text("5 of 5 nodes online")

        def status(node):
            return page.locator(f"tr[data-node='{node}'] .state")

        began = time.monotonic()
        made.nodes.kill(4)
        expect(status(4)).to_have_text("offline")
        assert time.monotonic() - began <= 1.5 * KEEPALIVE_S
        expect(page.locator("#online")).to_have_text("4 of 5 nodes online")
        expect(page.locator("#map .node.offline")).to_have_count(1)

        # C24: a will of the session before comes late; the node that lives says that it does.
        said = page.evaluate("() => window.dcka.values()['node/2']")
        will = {"v": 1, "node": 2, "boot": said["boot"], "nonce": nonce_of(made, 2), "state": "offline"}
        stranger.publish("dcka/sensors/status/2", json.dumps(will).encode(), retain=True)
        expect(page.locator("#log")).to_contain_text("node 2 offline")
        expect(status(2)).to_have_text("ready")

        # A node of the page's worst dreams. Of a retained word nobody knows the age.
        word = {"v": 1, "node": 9, "boot": 1, "nonce": 5, "state": "ready"}
        evil = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
        stranger.publish(
            "dcka/sensors/status/9",
            json.dumps(word | {"problem": evil, "firmware": evil}).encode(),
            retain=True,
        )
        expect(page.locator("tr[data-node='9'] td:last-child")).to_contain_text(
            "<script>window.hacked = 1</script>"
        )
        for payload in (
            json.dumps(word | {"problem": "A" * (1 << 20)}).encode(),
            b'{"v":1,"node":9,"boot":1,"nonce":5,"state":"\xff\xfe"}',
            b'{"v":1,"node":9,"boot":1,"nonce":5,"state":"ready","heap":NaN}',
            b'{"v":1,"node":9,"boot":1,"nonce":5,"state":"ready","dropped":{"stale":1e999}}',
        ):
            stranger.publish("dcka/sensors/status/9", payload)
        stranger.publish("dcka/sensors/status/9", json.dumps(word | {"problem": "the end"}).encode())
        expect(page.locator("tr[data-node='9'] td:last-child")).to_contain_text("the end")
        expect(page.locator("#log")).to_contain_text("dropped a message on status/9: heap is no whole number")
        assert page.evaluate("() => window.hacked") is None
        assert trouble == []


def nonce_of(made, node):
    """What a node's status says of itself, as the broker has kept it."""
    with TestClient(made.broker.address, "curious") as client:
        client.subscribe(f"dcka/sensors/status/{node}")
        return json.loads(client.next().payload)["nonce"]


def test_a_page_whose_monitor_goes_away_says_so_and_ends_as_a_fresh_one(tmp_path, expect):
    with scene(tmp_path) as made, browsing() as page:
        page.goto(made.monitor.url)
        expect(page.locator("#online")).to_have_text("5 of 5 nodes online")
        made.run("--schedule", "tree", "--seed", "3")
        expect(page.locator("#verdict-badge")).to_have_text("PASS")
        began = time.monotonic()
        made.monitor.close()
        expect(page.locator("#link")).to_have_text("disconnected")
        assert time.monotonic() - began <= 5.0
        for seed in ("4", "5", "6"):
            made.run("--schedule", "tree", "--seed", seed)
        made.restart()
        expect(page.locator("#link")).to_have_text("connected")
        expect(page.locator("#run-title")).to_have_text("run 4: tree, K = 9, 5 nodes")
        expect(page.locator("#online")).to_have_text("5 of 5 nodes online")
        other = page.context.new_page()
        other.goto(made.monitor.url)
        for one in (page, other):
            expect(one.locator("#history tbody tr")).to_have_count(4)
        wait_until(lambda: shown(other) == shown(page), "the page is as a fresh one")
        numbers = page.locator("#history tbody tr td:first-child").all_text_contents()
        assert numbers == ["4", "3", "2", "1"]
