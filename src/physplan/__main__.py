"""`python -m physplan` is `physplan`."""

from physplan.cli import main

raise SystemExit(main())
