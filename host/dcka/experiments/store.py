"""The folder of an experiment: its manifest, and finished jobs, from which an interrupted experiment goes on."""

import csv
import io
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dcka.config.state import StateError, write_whole
from dcka.experiments.errors import ExperimentUsageError
from dcka.experiments.work import Job, Row

MANIFEST = "manifest.json"
LIBRARIES = ("dcka", "numpy", "numba", "matplotlib", "joblib", "distributed")


class Store:
    """`folder` of one experiment. Every file is written aside and renamed, so each is whole or not there."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. Raises ExperimentUsageError where that, or writing in it, is refused."""
        self.folder = folder
        self.jobs = folder / "jobs"
        try:
            self.jobs.mkdir(parents=True, exist_ok=True)
            write_whole(self.jobs / ".writable", b"")
        except (OSError, StateError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ExperimentUsageError(
                f"--out {folder} cannot be written to ({reason}); name another folder"
            ) from error

    def begin(
        self, identity: Mapping[str, Any], command: Sequence[str], data: Mapping[str, str]
    ) -> list[dict[str, str]]:
        """Write the manifest; `identity` is what jobs that were kept must have in common with this call. `data`: of
        each data set the SHA-256.

        Returns the versions, other than those of now, with which runs in this folder may have been made: the manifest
        has them too. Raises ExperimentUsageError where the folder holds an experiment of another identity.
        """
        plain, now = json.loads(json.dumps(identity)), versions()
        before = self._manifest()
        if before is not None:
            kept = before["identity"]
            different = [name for name in plain if kept.get(name) != plain[name]]
            if different:
                name = different[0]
                raise ExperimentUsageError(
                    f"{self.folder} holds runs with {name} = {kept.get(name)}, and not {plain.get(name)}; "
                    f"name another folder with --out"
                )
        made_with = [] if before is None else [before.get("versions"), *before.get("earlier_versions", [])]
        earlier = [one for i, one in enumerate(made_with) if one not in (None, now, *made_with[:i])]
        self.write_json(
            MANIFEST,
            {
                "identity": plain,
                "command": list(command),
                "data_sha256": dict(data),
                "versions": now,
                "earlier_versions": earlier,
            },
        )
        return earlier

    def _manifest(self) -> Any:
        """That of an earlier call, or None. Raises ExperimentUsageError for a file that is none."""
        file = self.folder / MANIFEST
        if not file.exists():
            return None
        try:
            found = json.loads(file.read_bytes())
            found["identity"].keys()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ExperimentUsageError(
                f"{file} is no manifest ({error}); name another folder with --out"
            ) from error
        return found

    def kept(self, job: Job) -> list[Row] | None:
        """The rows of a job that was finished, or None; a damaged file counts as none."""
        try:
            found = json.loads((self.jobs / f"{job.key}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found["rows"] if isinstance(found, dict) and found.get("job") == _plain(job) else None

    def keep(self, job: Job, rows: Sequence[Row]) -> None:
        """Keep a finished job. Raises StateError where the disk refuses."""
        content = json.dumps({"job": _plain(job), "rows": list(rows)})
        write_whole(self.jobs / f"{job.key}.json", content.encode())

    def write_json(self, name: str, record: Mapping[str, Any]) -> None:
        write_whole(self.folder / name, (json.dumps(record, indent=1) + "\n").encode())

    def write_rows(self, name: str, rows: Sequence[Row]) -> None:
        """A CSV file of rows that all have the columns of the first."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(self.folder / name, text.getvalue().encode())


def _plain(job: Job) -> Any:
    return json.loads(json.dumps(job.record()))


def versions() -> dict[str, str]:
    """Of Python and what the figures depend on."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            found[name] = "not installed"
    return found
