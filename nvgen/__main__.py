"""`python -m nvgen`, which is `nvgen`: the working directory is no place for modules.

Python has put it on the path, and has imported nvgen by then; `python -P -m nvgen` never looks
there.
"""

import os
import sys

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if not sys.flags.safe_path and os.path.realpath(sys.path[0]) != os.path.realpath(_OWN):
    del sys.path[0]

from nvgen.cli import main  # noqa: E402 - not from the working directory

raise SystemExit(main())
