"""The weights of the features of lost items (`lost_score`), learned by `tools/lost_weights.py`.

They are reviewed data: after a change of the features, learn them again and read the difference.
"""

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "instruction, rule": 1.65,
    "task, on the list": 1.0,
    "command": 0.93,
    "names current": 0.78,
    "decision": 0.76,
    "names absent": 0.64,
    "newest of its class": 0.6,
    "code": 0.52,
    "open problem": 0.51,
    "recent": 0.49,
    "command, test": 0.47,
    "artefact, branch": 0.45,
    "artefact, pull request or issue": 0.45,
    "chain": 0.38,
    "names": 0.38,
    "negates": 0.33,
    "repeated": 0.3,
    "figures": 0.29,
    "artefact": 0.28,
    "interim": 0.28,
    "long answer": 0.23,
    "place": 0.21,
    "instruction, asked": 0.11,
    "absent": 0.1,
    "instruction": 0.1,
    "failed": 0.06,
    "command, call": 0.05,
    "artefact, commit": -0.08,
    "artefact, file": -0.15,
    "command, build": -0.15,
    "instruction, correction": -0.18,
    "a newer one like it": -0.23,
    "command, check": -0.3,
    "instruction, told": -0.3,
    "narrow": -0.3,
    "output": -0.32,
    "task": -0.33,
    "artefact, url": -0.39,
    "error": -0.49,
    "listed": -0.49,
    "question": -0.86,
    "finding": -1.07,
    "report": -1.32,
    "done sign": -1.54,
}
