"""The weights of the features of lost items (`lost_score`), learned by `tools/lost_weights.py`.

They are reviewed data: after a change of the features, learn them again and read the difference.
"""

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "instruction, rule": 1.86,
    "task, on the list": 1.0,
    "command": 0.93,
    "recent": 0.85,
    "newest of its class": 0.84,
    "artefact, branch": 0.66,
    "names current": 0.63,
    "code": 0.62,
    "names absent": 0.59,
    "names": 0.57,
    "command, test": 0.56,
    "figures": 0.55,
    "decision": 0.51,
    "artefact, id": 0.47,
    "repeated": 0.37,
    "interim": 0.36,
    "negates": 0.35,
    "place": 0.34,
    "command, call": 0.25,
    "failed": 0.2,
    "long answer": 0.19,
    "artefact, pull request or issue": 0.1,
    "instruction": 0.08,
    "instruction, correction": 0.08,
    "artefact": 0.01,
    "instruction, asked": -0.15,
    "absent": -0.16,
    "artefact, commit": -0.18,
    "command, build": -0.22,
    "artefact, file": -0.23,
    "a newer one like it": -0.3,
    "command, check": -0.36,
    "error": -0.39,
    "output": -0.4,
    "narrow": -0.41,
    "listed": -0.53,
    "instruction, told": -0.57,
    "task": -0.58,
    "artefact, url": -0.79,
    "finding": -1.1,
    "report": -1.48,
    "done sign": -1.77,
}
