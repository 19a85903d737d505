"""How many examples tests try: few in `make test`, which are the same each time, and many or all in `make fuzz`."""

import os

MORE = int(os.environ.get("SLICEBASE_EXAMPLES", "1"))  # how many times as many examples
EXPLORE = os.environ.get("HYPOTHESIS_PROFILE") == "explore"  # everything, not only a part
