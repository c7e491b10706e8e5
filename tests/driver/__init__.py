"""What the driver is asked for, against NVIDIA's bindings, and a GPU where there is one."""
