#!/bin/sh
# All tests: those that assert how long something takes alone, after the others, of which WORKERS run at once. What fails
# in company is run once more, alone.
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
# What failed beside others, on a machine that may have more to do, is run once more, alone; what fails then, fails.
if [ $many = 1 ]; then
    echo 'tests: some failed beside others (above); they are run again, one by one'
    .venv/bin/python -m pytest -q --timed without --last-failed --last-failed-no-failures none "$@"
    many=$?
    [ $many = $NOTHING_CHOSEN ] && many=1  # what failed was no test
    [ $many = 0 ] && echo 'tests: alone they pass. What cannot stand company is worth a look'
fi
.venv/bin/python -m pytest -q --timed only "$@"
alone=$?
[ $many = $NOTHING_CHOSEN ] && exit $alone
[ $alone = $NOTHING_CHOSEN ] && exit $many
[ $many = 0 ] && exit $alone
exit $many
