"""A launch, whatever it runs on: the kernel, its shape, what it is given, its tensor maps."""
