"""The reference pages that are made from the rows, and the pages themselves.

Here belongs what turns rows into Markdown; `make docs` writes it, by `isel.reference`.
"""
