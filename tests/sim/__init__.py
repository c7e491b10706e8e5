"""The simulator by small kernels in PTX: values, faults and deadlocks as the manual says."""
