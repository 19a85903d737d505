"""The weights of the features of lost items (`lost_score`), learned by `tools/lost_weights.py`.

They are reviewed data: after a change of the features, learn them again and read the difference.
"""

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "command": 0.92,
    "instruction, rule": 0.84,
    "newest of its class": 0.83,
    "recent": 0.82,
    "names current": 0.71,
    "names absent": 0.7,
    "artefact, branch": 0.65,
    "code": 0.6,
    "figures": 0.57,
    "command, test": 0.54,
    "decision": 0.52,
    "names": 0.48,
    "artefact, id": 0.46,
    "place": 0.41,
    "repeated": 0.37,
    "interim": 0.29,
    "negates": 0.28,
    "command, call": 0.24,
    "long answer": 0.21,
    "failed": 0.19,
    "artefact, pull request or issue": 0.1,
    "instruction, correction": 0.08,
    "instruction": 0.04,
    "artefact": -0.03,
    "absent": -0.09,
    "instruction, asked": -0.17,
    "artefact, commit": -0.19,
    "command, build": -0.23,
    "artefact, file": -0.24,
    "a newer one like it": -0.31,
    "command, check": -0.37,
    "task": -0.38,
    "narrow": -0.41,
    "error": -0.43,
    "output": -0.45,
    "instruction, told": -0.58,
    "listed": -0.63,
    "artefact, url": -0.8,
    "finding": -1.03,
    "report": -1.55,
    "done sign": -1.65,
}
