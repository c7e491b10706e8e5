"""What holds for all tests: properties are repeatable, and no test is against the clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("nvgen", derandomize=True, deadline=None, database=None)
settings.load_profile("nvgen")
