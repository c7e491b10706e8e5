"""Fuzzing: spoilt input of every kind at nvgen's public doors, and what comes of it.

    python -m tests.fuzz --minutes 5 --seed 1
    python -m tests.fuzz --replay FILE

An input is accepted or refused with findings; everything else is a problem: see `problems`.
`seeds` says what is spoilt, `mutate` and its neighbours how, `doors` where it goes in, `worker` in
which process, `shrink` makes it small, `campaign` does all of that for as long as it is told.
"""
