"""Numbers of kernels in Python: arithmetic and conversions against numpy and ml_dtypes."""
