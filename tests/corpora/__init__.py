"""What the rules say of other people's kernels, against what was judged by the manual."""
