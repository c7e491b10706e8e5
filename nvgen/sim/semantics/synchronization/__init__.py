"""What threads wait for: mbarriers, barriers of a CTA and of a cluster, and fences.

Here belongs what orders and moves no data; `races` says what an order is worth.
"""
