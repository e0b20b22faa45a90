"""Build hook: a wheel carries the firmware and the broker configurations as package data.

They go to `dcka/_firmware` and `dcka/_mqtt_broker`. An editable install gets no copy, which would go
stale unseen: there, `firmware/` and `mqtt_broker/` are read in the checkout.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# (folder, place in the wheel, what is taken). By pattern: a node.json with secrets, or a broker's
# password file, may well lie in a developer's checkout.
PACKAGE_DATA = (
    ("firmware", "dcka/_firmware", ("*.py", "node.example.json", "budget.toml")),
    ("mqtt_broker", "dcka/_mqtt_broker", ("*.conf", "*.md")),
)


class PackageDataHook(BuildHookInterface[Any]):
    """Add PACKAGE_DATA to a standard wheel; leave an editable one alone."""

    staging: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the build; `version` is "standard" or "editable"."""
        if version != "standard":
            return
        # Copies, since hatchling puts each file into a wheel once, and dcka_core is there as a package too.
        self.staging = Path(tempfile.mkdtemp(prefix="dcka-wheel-"))
        for folder, place, patterns in PACKAGE_DATA:
            source, target = Path(self.root, folder), self.staging / folder
            for file in (file for pattern in patterns for file in source.rglob(pattern)):
                copy = target / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy)
            build_data["force_include"][str(target)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling after the build."""
        if self.staging is not None:
            shutil.rmtree(self.staging)
