"""console.py: one line for each thing that changes, in the words of docs/boards.md. On CPython and on MicroPython."""

from bench import Lines, Parts
from chumicro_mqtt.client import ProtocolState

from dcka_core.voice import VERSION
from dcka_device import console

WAITING, FAILED, CONNECTED = (
    ProtocolState.AWAITING_TRANSPORT,
    ProtocolState.FAILED,
    ProtocolState.CONNECTED,
)
SETTINGS = {"node": 3, "network": "greenhouse", "broker": {"host": "192.168.1.10", "port": 1883}}


class Case:
    """A console before its first look at a node without data, whose link begins to connect."""

    def __init__(self, now=0):
        self.lines = Lines()
        console.print = self.lines
        self.now = now
        self.console = console.Console(SETTINGS, 12)
        self.link = Parts(client=Parts(state=WAITING, last_error=None), connector=None, up=False)
        self.node = Parts(points=None, problem="", settled=False)

    def look(self, after_ms=100):
        """What is said in one look, without "dcka: "."""
        seen = len(self.lines)
        self.now = (self.now + after_ms) % (1 << 30)
        self.console.look(self.link, self.node, self.now)
        assert all(line.startswith("dcka: ") for line in self.lines)
        return [line[6:] for line in self.lines[seen:]]

    def fail(self, reason, error, client_error=None):
        self.link.up = False
        self.link.client.state = FAILED
        self.link.client.last_error = client_error or OSError(error)
        self.link.connector = Parts(reason=reason, last_error=error and OSError(error))

    def connect(self):
        self.link.up = True
        self.link.client.state = CONNECTED
        self.link.client.last_error = None


def test_the_way_in():
    case = Case()
    assert case.lines == ["dcka: node 3 of greenhouse, boot 12, firmware " + VERSION]
    case.node.points = Parts(count=900)
    assert case.look() == ["data 900 points", "broker connecting 192.168.1.10:1883"]
    assert case.look() == []
    case.link.client.state = ProtocolState.CONNECTING
    assert case.look() == []
    case.connect()
    assert case.look() == []
    case.node.settled = True
    assert case.look() == ["ready"]
    for _ in range(1000):
        assert case.look(1000) == []


def test_each_trouble_has_its_word():
    for reason in ("refused", "unreachable", "unknown host", "certificate", "clock", "closed", "too slow"):
        case = Case()
        case.look()
        case.fail(reason, 104)
        assert case.look() == ["broker failed: " + reason + " (" + str(OSError(104)) + ")"]


class Answer(Exception):
    """What the client has of a broker that says no."""

    def __init__(self, code):
        super().__init__(f"broker rejected CONNECT (return code {code})")
        self.return_code = code


def test_a_broker_that_answers_no():
    for code, told in (
        (1, "unavailable (broker rejected CONNECT (return code 1))"),
        (2, "unavailable (broker rejected CONNECT (return code 2))"),
        (3, "unavailable (broker rejected CONNECT (return code 3))"),
        (4, "login"),
        (5, "login"),
    ):
        case = Case()
        case.look()
        case.fail("closed", None, Answer(code))
        assert case.look() == ["broker failed: " + told]


def test_a_connection_that_only_the_client_knows_the_end_of():
    case = Case()
    case.connect()
    case.look()
    case.fail("closed", None, ValueError("timed out awaiting pingresp"))
    assert case.look() == ["broker failed: closed (timed out awaiting pingresp)"]
    case.fail("too slow", None, ValueError("timed out awaiting connack"))
    assert case.look() == ["broker failed: too slow (timed out awaiting connack)"]


def retry(case):
    """One more attempt that fails, as the link makes them: what is said of it."""
    case.link.client.state = WAITING
    said = case.look(250)
    case.link.client.state = FAILED
    return said + case.look(1750)


def test_the_same_trouble_is_said_again_after_a_minute():
    # Wherever the ticks wrap meanwhile.
    for now in (0, (1 << 30) - 30000):
        case = Case(now)
        case.look()
        case.fail("refused", 111)
        line = "broker failed: refused (" + str(OSError(111)) + ")"
        assert case.look() == [line]
        said = [case_line for _ in range(60) for case_line in retry(case)]
        assert said == [line, line], now


def test_of_several_addresses_each_is_named_with_its_trouble_once_a_minute():
    case = Case()
    broker = {"host": "a", "port": 1, "others": [["b", 2]]}
    case.console = console.Console({"node": 3, "network": "greenhouse", "broker": broker}, 12)
    case.look()
    said = []
    for _ in range(60):
        case.link.client.state = WAITING
        said += case.look(500)
        case.fail("refused" if broker["host"] == "a" else "unreachable", 111)
        said += case.look(500)
        broker["host"], broker["port"] = ("b", 2) if broker["host"] == "a" else ("a", 1)
    error = " (" + str(OSError(111)) + ")"
    once = ["broker failed: refused" + error + " at a:1", "broker failed: unreachable" + error + " at b:2"]
    assert said == once, said
    case.fail("refused", 111)
    assert case.look(5000) == once[:1]


def test_another_trouble_is_said_at_once():
    case = Case()
    case.look()
    case.fail("refused", 111)
    case.look()
    case.fail("unreachable", 113)
    assert case.look() == ["broker failed: unreachable (" + str(OSError(113)) + ")"]


def test_lost_and_found_again():
    case = Case()
    case.look()
    case.connect()
    case.node.settled = True
    assert case.look() == ["ready"]
    case.fail("closed", None, ValueError("connection closed"))
    assert case.look() == ["broker failed: closed (connection closed)"]
    assert retry(case) == []
    case.connect()
    assert case.look() == ["ready"]
    # The same trouble after a good time is news.
    case.fail("closed", None, ValueError("connection closed"))
    assert case.look() == ["broker failed: closed (connection closed)"]


def test_data_that_comes_changes_and_is_refused():
    case = Case()
    assert case.look()[0] == "no data"
    case.node.points = Parts(count=5)
    assert case.look() == ["data 5 points"]
    case.node.points = Parts(count=6)
    assert case.look() == ["data 6 points"]
    # The old data stay; what was put instead is refused.
    case.node.problem = "the data can't be stored: [Errno 28] ENOSPC"
    assert case.look() == ["data refused: the data can't be stored: [Errno 28] ENOSPC"]
    assert case.look() == []
    case.node.problem = ""
    assert case.look() == ["data 6 points"]


def test_a_damaged_data_file_at_boot():
    case = Case()
    case.node.problem = "the data can't be read: it is cut short"
    assert case.look()[0] == "data refused: the data can't be read: it is cut short"
    assert case.look() == []
    # A run that the node can't begin takes the place of the problem, and the data are as bad as before.
    case.node.problem = "no data"
    assert case.look() == []
    case.node.points = Parts(count=7)
    case.node.problem = ""
    assert case.look() == ["data 7 points"]


def test_a_run_that_is_refused_is_no_trouble_with_the_data():
    for problem in ("no data", "no member of run 3", "rows of another kind than the run"):
        case = Case()
        assert case.look()[0] == "no data"
        case.node.problem = problem
        assert case.look() == []
    for problem in ("data of another dataset", "data changed since run 3 began"):
        case = Case()
        case.node.points = Parts(count=900)
        case.look()
        case.node.problem = problem
        assert case.look() == []
