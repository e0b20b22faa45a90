"""The process of one emulated board: `python -m dcka.boards.emulated JSON`, commanded over its standard input."""

import json
import os
import signal
import socket
import sys

from dcka.boards.emulated.faults import Faults
from dcka.boards.emulated.server import Server, Settings
from dcka.processes import unwinding_signals


def main() -> None:
    """Serve one board. argv[1]: {"settings": …, "faults": …}."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started us ends us
    record = json.loads(sys.argv[1])
    with socket.socket(fileno=os.dup(0)) as commander, unwinding_signals():
        Server(Settings(**record["settings"]), Faults(**record["faults"]), commander).run()


main()
