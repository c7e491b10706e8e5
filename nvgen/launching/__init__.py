"""Launches on the simulator and on GPUs alike: kernels, shapes, arguments and tensor maps."""
