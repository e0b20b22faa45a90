"""The wheel holds the host, the core, and all that a board gets; so does one built from the sdist."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.slow

IMPORT_FROM_WHEEL = """
import sys
sys.path.insert(0, sys.argv[1])
import dcka, dcka_core
print(dcka.__version__, dcka.__file__, dcka_core.__file__, sep="\\n")
"""


def sources(folder):
    """Relative path → content of a folder's files, without what interpreters and tools leave there."""
    found = {}
    for path in sorted((ROOT / folder).rglob("*")):
        relative = path.relative_to(ROOT / folder)
        left_by_tools = any(part == "__pycache__" or part.startswith(".") for part in relative.parts)
        if path.is_file() and not left_by_tools and path.suffix not in (".pyc", ".mpy"):
            found[relative.as_posix()] = path.read_bytes()
    return found


def build(target, source, folder):
    """Build a "wheel" or "sdist" of the tree `source` into `folder`; returns the file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    (built,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def names_in(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("host/dcka", "dcka"),
        ("firmware/dcka_core", "dcka_core"),
        ("firmware", "dcka/_firmware"),
        ("mqtt_broker", "dcka/_mqtt_broker"),
    ],
)
def test_a_folder_is_in_the_wheel_byte_for_byte(wheel, folder, place):
    expected = {f"{place}/{name}": content for name, content in sources(folder).items()}
    assert expected
    with zipfile.ZipFile(wheel) as archive:
        assert {name: archive.read(name) for name in expected} == expected


def test_nothing_else_is_in_the_wheel(wheel):
    tops = {name.split("/")[0] for name in names_in(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dcka", "dcka_core"}
    assert not [name for name in names_in(wheel) if "__pycache__" in name or name.endswith((".pyc", ".mpy"))]


def test_secrets_and_compiled_files_of_a_checkout_stay_out(tmp_path):
    for name in ("pyproject.toml", "LICENSE", "README.md", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    for folder in ("host", "firmware", "mqtt_broker", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    planted = (
        "firmware/node.json",
        "firmware/dcka_core/codec.mpy",
        "mqtt_broker/passwords",
        "mqtt_broker/ca.key",
    )
    for name in planted:
        (tmp_path / name).write_text("secret", "utf-8")
    names = names_in(build("wheel", tmp_path, tmp_path / "dist"))
    assert "dcka/_firmware/node.example.json" in names
    assert not [name for name in names if Path(name).name in {Path(path).name for path in planted}]


def test_the_wheel_says_its_licence_and_brings_the_command(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        metadata = archive.read(f"{info}/METADATA").decode("utf-8")
        assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert "dcka = dcka.cli:main" in archive.read(f"{info}/entry_points.txt").decode("utf-8")
    assert "\nLicense-Expression: MIT\n" in metadata
    assert "\nRequires-Python: >=3.11\n" in metadata


def test_the_packages_import_from_the_wheel_alone(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-I", "-S", "-c", IMPORT_FROM_WHEEL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    version, *files = done.stdout.splitlines()
    assert wheel.name.startswith(f"dcka-{version}-")
    assert all(Path(file).is_relative_to(tmp_path) for file in files)


def test_a_wheel_from_the_sdist_is_the_same(wheel, tmp_path):
    sdist = build("sdist", ROOT, tmp_path)
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.2, Debian's, is older than the filters
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(tmp_path / "unpacked")
    (source,) = (tmp_path / "unpacked").iterdir()
    again = build("wheel", source, tmp_path)
    assert again.read_bytes() == wheel.read_bytes()
