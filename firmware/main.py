"""The node's program: what a board runs after boot.py, and what an emulated node runs on a desktop."""

import gc

# The folder of the version that runs. Provisioning puts its name in here, last of all: with this one line a board
# changes from one version to the next. On a desktop all is in the current folder.
FIRMWARE = ""

# While code is loaded, collect after every KB: what a load leaves behind would scatter the code over the heap, and a
# small heap fails for want of 300 bytes in one piece while 7 KB are free in crumbs.
gc.threshold(1024)

if not FIRMWARE:
    from dcka_device.shell import main

    main()
elif not globals().get("stop_reason"):  # boot.py's
    import sys

    sys.path.insert(0, FIRMWARE)
    from dcka_device.guard import run

    run(FIRMWARE)
