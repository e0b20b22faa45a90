#!/bin/sh
# Put the 32-bit MicroPython for node into .venv/wasm; do nothing where it is there already, with the pinned hashes.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
PATH=$PATH:/opt/homebrew/bin
package=@micropython/micropython-webassembly-pyscript
version=1.29.0-6

verified() { (cd .venv/wasm && "$root/.venv/bin/python" "$root/tools/verify_sha256.py" "$root/tools/pinned_wasm.sha256"); }

verified >/dev/null 2>&1 && exit 0
rm -rf .venv/wasm
mkdir -p .venv/wasm
echo "setup: $package $version"
# A package.json of its own keeps npm in this folder. (--prefix would do so too, and make npm overlook its settings.)
echo '{"private": true}' > .venv/wasm/package.json
(cd .venv/wasm && npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
    "$package@$version" >/dev/null)
verified
