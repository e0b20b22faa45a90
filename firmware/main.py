"""The node's program: what a board runs after boot.py, and what an emulated node runs on a desktop."""

import gc

# While code is loaded, collect after every KB: what a load leaves behind would scatter the code over the heap, and a
# small heap fails for want of 300 bytes in one piece while 7 KB are free in crumbs.
gc.threshold(1024)

from dcka_device.shell import main  # noqa: E402

main()
