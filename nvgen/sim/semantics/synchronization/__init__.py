"""Synchronisation: mbarriers, barriers of a CTA and of a cluster, fences, and launch control.

Instructions that order others and move no data; `races` defines the order.
"""
