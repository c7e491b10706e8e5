"""The pytest plugin, as a project that tests its kernels sees it."""
