"""The helpers of the core's tests, held to what they promise."""

from support import SkipTest, raises, skip, vector_path


def test_raises_returns_the_expected_error():
    error = raises(ValueError, int, "seven")
    assert isinstance(error, ValueError)


def test_raises_demands_an_error():
    try:
        raises(ValueError, int, "7")
    except AssertionError as error:
        assert "ValueError" in str(error) and "7" in str(error), error
    else:
        raise RuntimeError("nothing was raised, and nobody complained")


def test_raises_lets_another_error_through():
    try:
        raises(ValueError, [].pop)
    except IndexError:
        return
    raise RuntimeError("the IndexError was swallowed")


def test_skip_says_why():
    assert "no viper" in str(raises(SkipTest, skip, "no viper here"))


def test_vectors_lie_beside_the_core_tests():
    assert vector_path("codec.json").endswith("/vectors/codec.json")
