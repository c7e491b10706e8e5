"""Clusters: barriers, copies and arrivals between CTAs, and CTAs that exit."""
