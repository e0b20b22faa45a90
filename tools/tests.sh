#!/bin/sh
# All tests: those that assert how long something takes alone, after the others, of which WORKERS run at once.
# Arguments are handed on to pytest.
set -u
cd "$(dirname "$0")/.."
NOTHING_CHOSEN=5  # pytest's exit code where no test fits the arguments

# Once, and not by each worker at the same time; tests/system/conftest.py does it for whoever calls pytest itself.
.venv/bin/python -c "from dcka.emulation.build import build; build()" || exit 1

.venv/bin/python -m pytest -q -n "${WORKERS:-auto}" --dist worksteal --durations=20 --timed without "$@"
many=$?
# Interrupted, or called with what pytest does not know: the others would end no better.
case $many in 0 | 1 | $NOTHING_CHOSEN) ;; *) exit $many ;; esac
.venv/bin/python -m pytest -q --timed only "$@"
alone=$?
[ $many = $NOTHING_CHOSEN ] && exit $alone
[ $alone = $NOTHING_CHOSEN ] && exit $many
[ $many = 0 ] && exit $alone
exit $many
