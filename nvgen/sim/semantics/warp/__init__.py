"""What the threads of a warp do together: shuffles, votes, matrices, mma.sync and wmma.

Here belongs what is convergent in a warp and complete when it returns.
"""
