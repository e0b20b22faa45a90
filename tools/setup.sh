#!/bin/sh
# Make .venv with everything pinned, and the command .venv/bin/dcka. Returns at once when that is done already:
# the stamp holds what the environment was made from, and where.
# PYTHON=/path/to/python chooses the interpreter; without it, the newest one that is found.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd -P)
stamp=.venv/.made-from

say() { printf '%s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

made_from() { printf '%s\n' "$root"; cat pyproject.toml constraints.txt tools/pinned_wheels.txt | cksum; }
version_of() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null; }

# An environment that was finished once, in this very folder, and with the PYTHON that is asked for.
is_usable() {
    [ -x .venv/bin/dcka ] && [ "$(head -n 1 $stamp 2>/dev/null)" = "$root" ] && .venv/bin/python -c '' 2>/dev/null || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of .venv/bin/python)" ]
}

is_done() { is_usable && [ "$(cat $stamp)" = "$(made_from)" ]; }

# A name on the PATH proves nothing (version managers put stand-ins there), so each one is run.
can_run() { command -v "$1" >/dev/null 2>&1 && "$1" -c "import sys; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; }
can_make_venv() { "$1" -c "import venv, ensurepip" >/dev/null 2>&1; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        can_run "$PYTHON" || fail "PYTHON=$PYTHON is not a Python of 3.11 or later"
        python=$PYTHON
        return
    fi
    python=
    for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
        can_run "$name" || continue
        python=${python:-$name}
        if can_make_venv "$name"; then python=$name; return; fi
    done
    [ -n "$python" ] || fail "no Python of 3.11 or later on the PATH: install one, or say PYTHON=/path/to/python3 make setup"
}

make_venv() {
    find_python
    # Debian keeps ensurepip in a package of its own.
    can_make_venv "$python" || sh tools/system_packages.sh venv "$python"
    say "setup: a virtual environment in .venv, with Python $(version_of "$python")"
    "$python" -m venv --clear .venv
}

install_all() {
    pip="env PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 .venv/bin/python -m pip --disable-pip-version-check install --quiet"
    say "setup: installing the pinned packages"
    $pip --no-deps --only-binary=:all: --require-hashes -r tools/pinned_wheels.txt
    # The build backends are pinned too, hence no isolated build with whatever is newest: ours, and esptool's.
    $pip -c constraints.txt hatchling setuptools
    $pip -c constraints.txt --no-build-isolation -e '.[dev,experiments,parquet,postgresql]'
    .venv/bin/python -m pip --disable-pip-version-check check >/dev/null || .venv/bin/python -m pip check
}

unset PYTHONHOME PYTHONPATH VIRTUAL_ENV
is_done && exit 0
[ -w . ] || fail "cannot write to $root: make setup needs a checkout of its own"
usable=; if is_usable; then usable=yes; fi
rm -f "$stamp"  # so that what is interrupted is begun afresh
[ -n "$usable" ] || make_venv
install_all
made_from > "$stamp"
say "setup: done. The command is .venv/bin/dcka"
