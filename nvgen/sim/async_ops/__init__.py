"""Operations in flight, from issue to completion.

The engine with its schedules, groups that are waited for, registers that multiplies in flight own,
and the search for operations whose delay makes a run fail.
"""
