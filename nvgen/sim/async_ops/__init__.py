"""Operations in flight: when they take effect, and what may have them take effect.

Here belongs what lies between the issue of an asynchronous operation and its completion: the engine
with its schedules, groups that are waited for, arrivals on their way to other CTAs, registers that
belong to multiplies meanwhile, and the search for the operations whose delay makes a run fail.
"""
