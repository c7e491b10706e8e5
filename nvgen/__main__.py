"""`python -m nvgen`, and the console script `nvgen`: the working directory is no place for modules.

With `-m` Python has put it on the path, and has imported nvgen by then; `python -P -m nvgen` never
looks there.
"""

import os
import sys

_INTERRUPTED = 130


def main() -> int:
    """Run one command and give its exit status; Ctrl-C ends it, even while modules are imported."""
    try:
        from nvgen.cli import main as run

        return run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("interrupted", file=sys.stderr)
        return _INTERRUPTED


if __name__ == "__main__":
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not sys.flags.safe_path and os.path.realpath(sys.path[0]) != os.path.realpath(own):
        del sys.path[0]
    raise SystemExit(main())
