"""Rules about mbarriers and clusters: arrival counts, phases, expect-tx accounting, scopes."""
