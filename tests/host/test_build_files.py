"""The manifest of what a board gets, and where it is read."""

import ast
import json
import os
import tempfile
from pathlib import Path, PurePosixPath

import pytest

from dcka import __version__, firmware_files, scratch
from dcka.emulation.build import build
from dcka.firmware_files import FirmwareFilesError, board_files, firmware_folder
from dcka.scratch import scratch_folder
from dcka_core.voice import VERSION

ROOT = Path(__file__).parents[2]


def manifest(folder: Path, text: str) -> Path:
    (folder / "manifest.py").write_text(text)
    return folder


def test_the_manifest_of_this_checkout_is_whole_and_compiles() -> None:
    assert firmware_folder() == ROOT / "firmware"
    files = board_files()
    assert {"boot.py", "main.py", "dcka_core/node.py", "chumicro_mqtt/client.py"} <= {
        str(f.path) for f in files
    }
    assert all(file.source.is_file() for file in files)
    made = build(files)
    # What is always loaded together is one file.
    gone = {file.path for file in files if file.path.with_suffix(".mpy") not in made.files} - set(made.files)
    assert PurePosixPath("dcka_core/node.py") in gone and PurePosixPath("chumicro_mqtt/client.py") in gone
    assert (
        PurePosixPath("dcka_core/tree.py") not in gone and PurePosixPath("dcka_device/shell.py") not in gone
    )
    assert len(made.files) + len(made.left_out) + len(gone) == len(files)


def test_the_manifest_says_what_no_node_calls_of_a_library() -> None:
    files = {str(file.path): file for file in board_files()}
    client = files["chumicro_mqtt/client.py"]
    assert "MQTTClient.from_config" in client.unused
    assert "_force_non_blocking" in client.idle
    assert files["dcka_core/node.py"].unused == ()


def test_what_a_module_of_the_manifest_imports_is_in_it_too() -> None:
    files = [file for file in board_files() if file.path.suffix == ".py"]
    modules = {".".join(file.path.with_suffix("").parts).removesuffix(".__init__") for file in files}
    for file in files:
        for imported in ast.walk(ast.parse(file.source.read_text())):
            if not isinstance(imported, ast.ImportFrom) or imported.module is None:
                continue
            package = imported.module in (
                "dcka_core",
                "dcka_device",
            )  # a folder: what is taken are its modules
            needed = [f"{imported.module}.{name.name}" for name in imported.names] if package else []
            if imported.module.startswith(("dcka_core.", "dcka_device.")):
                needed = [imported.module]
            assert set(needed) <= modules, f"{file.path} imports {needed}"


def asked_by_name() -> set[str]:
    """Modules of the core that a node loads by their names: `load("…")`, and what a run's record says (`run.part`)."""
    found = {"tree"}
    for file in sorted((ROOT / "firmware").glob("dcka_*/*.py")):
        for part in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(part, ast.Call):
                name = getattr(part.func, "attr", getattr(part.func, "id", ""))
                words = part.args[:1] if name in ("load", "_load", "part") else []
            elif isinstance(part, ast.Assign) and getattr(part.targets[0], "attr", "") == "part":
                words = list(ast.walk(part.value))  # type: ignore[arg-type]
            else:
                continue
            found |= {
                one.value for one in words if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
    return {name for name in found if (ROOT / f"firmware/dcka_core/{name}.py").is_file()}


def test_what_a_node_asks_for_by_name_is_a_file_of_its_own() -> None:
    """A build that puts it into the file of its only importer leaves nodes without it, and only when they need it."""
    asked = asked_by_name()
    assert {"duty", "epochs", "latest", "forgetting", "window"} <= asked
    made = build(parts=["sensing", "sleeping"])
    assert {f"dcka_core/{name}.mpy" for name in asked} <= {str(path) for path in made.files}


def test_an_installed_package_reads_its_own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "dcka"
    for folder in (package / "_firmware", tmp_path / "firmware"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(firmware_files, "__file__", str(package / "firmware_files.py"))
    with pytest.raises(FirmwareFilesError, match="the firmware is not beside"):
        firmware_folder()
    manifest(tmp_path / "firmware", "")
    assert firmware_folder() == tmp_path / "firmware"
    manifest(package / "_firmware", "")
    assert firmware_folder() == package / "_firmware"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("LIBRARIES = ()", "FILES must be a tuple of texts"),
        ("FILES = ()", "LIBRARIES must be a tuple of texts"),
        ("FILES = 'main.py'\nLIBRARIES = ()", "FILES must be a tuple of texts"),
        ("FILES = (1,)\nLIBRARIES = ()", "FILES must be a tuple of texts"),
        ("FILES = ('/etc/passwd',)\nLIBRARIES = ()", "'/etc/passwd', which is no path within a board"),
        ("FILES = ('../main.py',)\nLIBRARIES = ()", "'../main.py', which is no path within a board"),
        ("FILES = ('',)\nLIBRARIES = ()", "'', which is no path within a board"),
        ("FILES = ('main.py', './main.py')\nLIBRARIES = ()", "has ./main.py twice"),
        ("FILES = ('missing.py',)\nLIBRARIES = ()", "FILES has missing.py, but there is no "),
        (
            "FILES = ()\nLIBRARIES = ('no_such_library/x.py',)",
            "the library no_such_library, which every board gets, is not",
        ),
        (
            "FILES = ()\nLIBRARIES = ('chumicro_mqtt/missing.py',)",
            "LIBRARIES has chumicro_mqtt/missing.py, but",
        ),
        ("FILES = ()\nLIBRARIES = ('../x.py',)", "is not installed"),
        (
            "FILES = ('main.py',)\nLIBRARIES = ()\nUNUSED = {'x.py': ('f',)}",
            "UNUSED has x.py, which no board gets",
        ),
        (
            "FILES = ('main.py',)\nLIBRARIES = ()\nUNUSED = {'main.py': 'f'}",
            "main.py must be a tuple of texts",
        ),
        ("FILES = ()\nLIBRARIES = ()\nUNUSED = ('f',)", "UNUSED must be a dict"),
        (
            "FILES = ('main.py',)\nLIBRARIES = ()\nIDLE = {'x.py': ('f',)}",
            "IDLE has x.py, which no board gets",
        ),
    ],
)
def test_a_wrong_manifest_is_a_sentence(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    with pytest.raises(FirmwareFilesError) as caught:
        board_files(manifest(tmp_path, text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scratch_is_in_memory_private_and_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(scratch, "MEMORY", tmp_path)
    with scratch_folder("test") as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text(json.dumps({}))
    assert not folder.exists()


def test_scratch_is_elsewhere_without_room_or_where_the_user_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scratch, "MEMORY", tmp_path / "memory")
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(scratch, "ROOM_BYTES", 1 << 62)
    with scratch_folder("test") as folder:
        assert folder.parent != tmp_path / "memory"
    monkeypatch.setattr(scratch, "ROOM_BYTES", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with scratch_folder("test") as folder:
        assert folder.parent == tmp_path
    assert os.listdir(tmp_path / "memory") == []


def test_what_a_killed_program_left_is_removed_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    left, unmarked, named_otherwise = (
        tmp_path / name for name in (scratch.PREFIX + "left", scratch.PREFIX + "unmarked", "another-one")
    )
    for folder in (left, unmarked, named_otherwise):
        folder.mkdir()
        (folder / "file").touch()
    for folder in (left, named_otherwise):
        (folder / scratch.MARK).touch()
    with scratch_folder("broker") as held, scratch_folder("nodes") as new:
        assert sorted(tmp_path.iterdir()) == sorted([unmarked, named_otherwise, held, new])


@pytest.mark.parametrize("march", ["xtensawin", "rv32imc"])
def test_every_module_compiles_for_the_boards(march: str) -> None:
    """ESP32 and S3, and C3 and C6: the kernels of machine code too."""
    made = build(board_files(), march=march)
    assert made.left_out == ()
    kernels = [file for file in made.files if file.stem.startswith("kernel_viper")]
    assert len(kernels) == 13
    # The third byte of an .mpy holds its architecture in the upper six bits; 0 is bytecode alone.
    assert all((made.folder / file).read_bytes()[2] >> 2 for file in kernels)


def test_host_and_firmware_are_of_one_version() -> None:
    """The core imports nothing of the host, so the number stands in both."""
    assert __version__ == VERSION
