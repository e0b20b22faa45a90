"""The file that `dcka init` writes, and the page that lists its keys, agree with the table of keys."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.config import from_mapping, parse, template
from dcka.config.sections import SECTIONS, keys_of
from dcka.config.template import toml_value

PAGE = Path(__file__).resolve().parents[2] / "docs" / "network-toml.md"


def sections_of(config):
    return [getattr(config, name) for name in SECTIONS]


def test_the_template_reads_as_the_defaults():
    assert sections_of(parse(template())) == sections_of(from_mapping({}))


def test_every_key_is_in_the_template_with_a_comment_above_it():
    lines = template().splitlines()
    for section in SECTIONS:
        begin = next(number for number, line in enumerate(lines) if line.startswith(f"[{section}]"))
        for key in keys_of(section):
            found = [
                number
                for number, line in enumerate(lines)
                if number > begin and re.match(rf"(# )?{key} = ", line)
            ]
            assert found, key
            assert lines[found[0] - 1].startswith("# ")
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize("section", SECTIONS)
def test_every_commented_example_is_a_legal_value(section):
    for name, info in keys_of(section).items():
        if info.raw is None:
            info.check.convert(info.example)
            assert f"# {name} = {toml_value(info.example)}" in template()


@settings(deadline=None, derandomize=True)
@given(
    st.integers(1, 200),
    st.integers(1, 4096),
    st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True),
    st.floats(1e-7, 0.5),
    st.lists(st.text(min_size=1, max_size=4).filter(str.strip), unique=True, max_size=3),
)
def test_what_is_put_into_the_template_comes_out_of_it(nodes, k, name, tolerance, columns):
    values = {
        "network": {"nodes": nodes, "name": name},
        "run": {"k": k, "tolerance": tolerance},
        "topology": {"kind": "line"},
        "data": {"columns": columns},
    }
    assert sections_of(parse(template(values))) == sections_of(from_mapping(values))


def test_the_page_lists_every_key_with_its_default():
    page = PAGE.read_text(encoding="utf-8")
    for section in SECTIONS:
        table = page.split(f"## [{section}]")[1].split("\n##")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", table, re.M))
        assert list(rows) == list(keys_of(section)), section
        for name, info in keys_of(section).items():
            assert rows[name].strip() == ("" if info.raw is None else f"`{toml_value(info.raw)}`"), name
