"""What the command line names for a command: files, functions, arguments of a kernel, a launch."""
