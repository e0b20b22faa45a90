"""The read API for stored runs: `router(history)`, to be mounted where a page is, or `application(history)` alone.

`models`: what is answered, as OpenAPI has it. `route`: entity tags, and refusals in plain words. See docs/python.md.
"""

from dcka.web.api.application import OPENAPI, application
from dcka.web.api.runs import PREFIX, router

__all__ = ["OPENAPI", "PREFIX", "application", "router"]
