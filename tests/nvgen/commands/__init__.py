"""The command line, called in process: what it prints, and its exit status."""
