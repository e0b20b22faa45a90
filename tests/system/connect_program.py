"""What MicroPython runs for test_tls_nodes.py: a node's link, and what it has to say of its attempts to connect.

Its argument is JSON: `broker` as node.json has it; `attempts`: end after so many have failed; `names`: what each
look-up of the host gives, a port on 127.0.0.1 or null for none, the last one for ever. The answer is JSON, too.
"""

import json
import os
import socket
import sys
import time

from dcka_device import connector
from dcka_device import link as links

LIMIT_MS = 20000
# What a node waits between two attempts is looked at elsewhere.
links._RETRY_MS = links._RETRY_CAP_MS = 1


class Names:
    """The module `socket` with a name server of the test's own."""

    SOCK_STREAM = socket.SOCK_STREAM
    socket = socket.socket

    def __init__(self, answers):
        self.answers = answers
        self.asked = 0

    def getaddrinfo(self, *_):
        port = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if port is None:
            raise OSError(-2)
        return socket.getaddrinfo("127.0.0.1", port, 0, socket.SOCK_STREAM)


def now():
    return time.ticks_ms() & 0x3FFFFFFF


def descriptors():
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def main(wanted):
    if "names" in wanted:
        connector.socket = Names(wanted["names"])
    config = {"network": "t", "node": 1, "broker": wanted["broker"], "max_message": 1024, "keepalive": 10}
    link = links.Link(config, ("dcka/t/status/1", "{}"), now, lambda bound: 0)
    open_before = descriptors()
    link.open()
    failures = []
    worst = 0
    last = None
    began = time.ticks_ms()
    while len(failures) < wanted["attempts"] and not link.up:
        if time.ticks_diff(time.ticks_ms(), began) > LIMIT_MS:
            break
        turned = time.ticks_ms()
        link.tick(now())
        worst = max(worst, time.ticks_diff(time.ticks_ms(), turned))
        if link.client.state == "failed" and link.connector is not last:
            last = link.connector
            failures.append((last.reason, str(last.last_error)))
        link.wait(now(), 200)
    print(
        json.dumps(
            {
                "up": link.up,
                "failures": failures,
                "worst_ms": worst,
                "descriptors": (open_before, descriptors()),
                "asked": getattr(connector.socket, "asked", None),
                "ms": time.ticks_diff(time.ticks_ms(), began),
            }
        )
    )


main(json.loads(sys.argv[1]))
