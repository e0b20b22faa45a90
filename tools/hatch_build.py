"""Build hook: a wheel carries the firmware and the broker configurations as package data.

They go to `dcka/_firmware` and `dcka/_mqtt_broker`. An editable install gets no copy, which would go
stale unseen: there, `firmware/` and `mqtt_broker/` are read in the checkout.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# (folder, place in the wheel, what is taken). By pattern: a node.json with secrets, or a broker's
# password file, may well lie in a developer's checkout.
PACKAGE_DATA = (
    ("firmware", "dcka/_firmware", ("*.py", "node.example.json")),
    ("mqtt_broker", "dcka/_mqtt_broker", ("*.conf", "*.md")),
)


class PackageDataHook(BuildHookInterface[Any]):
    """Add PACKAGE_DATA to a standard wheel; leave an editable one alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the build; `version` is "standard" or "editable"."""
        if version != "standard":
            return
        for folder, place, patterns in PACKAGE_DATA:
            source = Path(self.root, folder)
            for pattern in patterns:
                for file in sorted(source.rglob(pattern)):
                    build_data["force_include"][str(file)] = f"{place}/{file.relative_to(source).as_posix()}"
