"""`python -m nvgen`."""

from nvgen.cli import main

raise SystemExit(main())
