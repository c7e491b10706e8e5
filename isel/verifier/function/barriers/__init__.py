"""Rules about mbarriers and clusters: counts, phases, expected bytes, who arrives."""
