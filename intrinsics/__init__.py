"""intrinsics: what the machine is, as data."""
