"""A launch, whatever it runs on: the kernel with its parameters, the shape, arguments, tensor maps."""
