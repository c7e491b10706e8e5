"""The commands of the command line, one module each with `run(arguments) -> exit status`.

What several modules of one command answer has a room: what commands are given, what layouts options
name, what `explain` says.
"""
