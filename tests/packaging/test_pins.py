"""The pins agree with what pyproject.toml declares, with each other, and with what is installed."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = [
    *PROJECT["dependencies"],
    *(one for extra in PROJECT["optional-dependencies"].values() for one in extra),
]


def lines_of(name):
    """The lines that pip reads: no comments, continuations joined."""
    text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def constraints():
    """Name → version."""
    return dict(line.split("==") for line in lines_of("constraints.txt"))


def pinned_wheels():
    """Name → (requirement, hashes)."""
    wheels = {}
    for line in lines_of("tools/pinned_wheels.txt"):
        text, *hashes = line.split("--hash=sha256:")
        requirement = Requirement(text.strip())
        wheels[canonicalize_name(requirement.name)] = (requirement, [item.strip() for item in hashes])
    return wheels


def test_every_constraint_is_one_exact_version():
    for line in lines_of("constraints.txt"):
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line), line
    names = [line.split("==")[0] for line in lines_of("constraints.txt")]
    assert names == sorted(set(names))


def test_every_declared_dependency_is_pinned_within_its_range():
    pinned = constraints()
    for text in DECLARED:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


def test_what_is_declared_exactly_is_pinned_by_hash():
    exact = {}
    for text in PROJECT["dependencies"]:
        requirement = Requirement(text)
        if "==" in str(requirement.specifier):
            exact[canonicalize_name(requirement.name)] = requirement
    wheels = pinned_wheels()
    assert set(exact) <= set(wheels)
    for name, requirement in exact.items():
        assert (wheels[name][0].specifier, wheels[name][0].marker) == (
            requirement.specifier,
            requirement.marker,
        )


def test_a_pinned_wheel_is_of_the_constrained_version_and_has_hashes():
    pinned = constraints()
    for name, (requirement, hashes) in pinned_wheels().items():
        assert str(requirement.specifier) == f"=={pinned[name]}"
        assert hashes, name
        for item in hashes:
            assert re.fullmatch("[0-9a-f]{64}", item), (name, item)


def test_what_goes_onto_the_nodes_is_pinned_by_hash_with_all_it_needs():
    chumicro = {name for name in constraints() if name.startswith("chumicro-")}
    assert "chumicro-mqtt" in chumicro
    assert chumicro <= set(pinned_wheels())


def test_no_pin_names_an_address():
    for name in ("constraints.txt", "tools/pinned_wheels.txt", "tools/pinned_wasm.sha256", "tools/wasm.sh"):
        text = (ROOT / name).read_text("utf-8")
        assert "://" not in text, name
        assert not re.search(r"(?m)^--?(i|f|index|extra|find|trusted)\b", text), name


def test_what_is_installed_is_what_is_pinned():
    different = []
    for name, pinned in constraints().items():
        try:
            installed = version(name)
        except PackageNotFoundError:  # not for this platform
            continue
        if installed != pinned:
            different.append(f"{name}: installed {installed}, pinned {pinned}")
    assert not different


def test_the_table_of_dependencies_has_every_declared_one_in_its_pinned_version():
    rows = re.findall(
        r"(?m)^\| `([a-z0-9-]+)` \| (\S+) \| (.+?) \|", (ROOT / "docs/dependencies.md").read_text("utf-8")
    )
    pinned = constraints()
    table = {name: version for name, version, licence in rows}
    assert set(table) >= {canonicalize_name(Requirement(text).name) for text in DECLARED}
    assert table == {name: pinned[name] for name in table}
