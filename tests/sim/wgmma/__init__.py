"""wgmma: products by numpy, and registers that are touched too early."""
