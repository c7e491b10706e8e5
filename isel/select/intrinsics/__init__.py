"""Calls of intrinsics to records: by the rows that spell them, or as statements of PTX."""
