"""How a verb that runs on is told to end."""

import signal

import pytest

from dcka.cli.until import told_to_end


def test_signals_are_noted_in_the_block_and_a_second_one_is_an_exception() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with told_to_end() as told:
        assert not told()
        signal.raise_signal(signal.SIGINT)
        assert told()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(SystemExit) as caught, told_to_end() as told:
            signal.raise_signal(number)
            assert told()
        assert caught.value.code == 128 + number
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with told_to_end() as told:
            signal.raise_signal(signal.SIGHUP)
            assert not told()
    finally:
        signal.signal(signal.SIGHUP, hang_up)
