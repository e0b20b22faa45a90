"""The schema's versions, one file each, never changed once they are out; `dcka.history.migrate` runs them."""
