"""Humidity and temperature of four real motes; ATTRIBUTION.md says whose they are, and the terms."""

from dataclasses import replace
from importlib.resources import as_file, files

import numpy as np

from dcka.inject.csv_reader import read_csv
from dcka.inject.dataset import Dataset, build

FILE = "suthaharan.csv.gz"
NODES = (1, 2, 3, 4)
LABELS = {"0": "normal", "1": "event"}


def suthaharan() -> Dataset:
    """18,914 readings, 5 s apart, of four TelosB motes; node i holds those of mote i.

    Columns humidity (%) and temperature (°C). The labels, "normal" or "event", are for pictures: no
    clustering sees them.
    """
    with as_file(files("dcka.datasets") / FILE) as path:
        table = read_csv(path, columns=("humidity", "temperature"), split_by="mote_id", label="label")
    found = build(table, NODES, "column", name="suthaharan")
    texts = found.labels or {}
    return replace(
        found, labels={node: np.array([LABELS[text] for text in own]) for node, own in texts.items()}
    )
