"""The databases that the history's tests run on: fixtures, which conftest.py has."""

import uuid

import pytest
from postgres import postgresql

from dcka.history import open_history


@pytest.fixture(scope="session")
def postgresql_server():
    with postgresql() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def place(request, tmp_path):
    """Where a new history can be: a file, or an URL of a schema of its own."""
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite")
    import psycopg

    url = request.getfixturevalue("postgresql_server")
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}&options=-csearch_path%3D{name}"


@pytest.fixture
def history(place):
    with open_history(place) as opened:
        yield opened
