"""Why a board does not answer, or does not join: checks, one small function each, that say what to do."""
