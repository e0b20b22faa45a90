"""mypy on `firmware/`, strict, against MicroPython's own stubs instead of CPython's.

The stub packages lie loose in site-packages, where mypy does not look for single modules, and which it
refuses as a search path. So their files are laid out once in a folder of their own: `stdlib/` in it replaces
mypy's typeshed (what MicroPython's builtins and modules really have), the rest (`machine`, `network`,
`time`, …) is found by name. More arguments go to mypy.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".mypy_cache" / "firmware"
STUB_PACKAGES = ("micropython-stdlib-stubs", "micropython-esp32-stubs")


def stubs_folder() -> Path:
    """The folder with the files of STUB_PACKAGES, laid out if these versions are not there yet.

    Raises PackageNotFoundError where they are not installed.
    """
    packages = [distribution(name) for name in STUB_PACKAGES]
    folder = CACHE / ("stubs-" + "-".join(package.version for package in packages))
    if folder.is_dir():
        return folder
    aside = folder.with_suffix(f".{os.getpid()}")
    for package in packages:
        for file in package.files or []:
            if file.suffix == ".pyi" or file.name == "VERSIONS":
                target = aside / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target)
    aside.rename(folder)
    return folder


def main() -> int:
    """Run mypy as the interpreter's module; its exit code is ours."""
    try:
        stubs = stubs_folder()
    except PackageNotFoundError as error:
        print(f"{error.name} is not in this environment: make setup installs it", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "tools" / "mypy_firmware.ini")]
    command += ["--custom-typeshed-dir", str(stubs), "--cache-dir", str(CACHE), *sys.argv[1:]]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join([str(ROOT / "firmware"), str(stubs)])}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
