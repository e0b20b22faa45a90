"""Build hook: a wheel carries the firmware and the broker configurations as package data.

They go to `dcka/_firmware` and `dcka/_mqtt_broker`. An editable install gets no copy, which would go
stale unseen: there, `firmware/` and `mqtt_broker/` are read in the checkout.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE_DATA = {"firmware": "dcka/_firmware", "mqtt_broker": "dcka/_mqtt_broker"}


class PackageDataHook(BuildHookInterface[Any]):
    """Add PACKAGE_DATA to a standard wheel; leave an editable one alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the build; `version` is "standard" or "editable"."""
        if version == "standard":
            build_data["force_include"].update(PACKAGE_DATA)
