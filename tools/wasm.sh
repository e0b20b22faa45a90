#!/bin/sh
# Put the 32-bit MicroPython for node into .venv/wasm; do nothing where it is there already, with the pinned hashes.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/opt/homebrew/bin
package=@micropython/micropython-webassembly-pyscript
version=1.29.0-6

root=$(pwd)

verified() { (cd .venv/wasm && "$root/.venv/bin/python" "$root/tools/verify_sha256.py" "$root/tools/pinned_wasm.sha256"); }

verified >/dev/null 2>&1 && exit 0
rm -rf .venv/wasm
mkdir -p .venv/wasm
echo "setup: $package $version"
# --prefix, --no-package-lock: nothing of npm's is left in the checkout.
npm install --prefix .venv/wasm --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
    "$package@$version" >/dev/null
verified
