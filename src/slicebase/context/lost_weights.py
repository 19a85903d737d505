"""The weights of the features of lost items (`lost_score`), learned by `tools/lost_weights.py`.

They are reviewed data: after a change of the features, learn them again and read the difference.
"""

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "instruction, rule": 1.67,
    "command": 1.0,
    "task, on the list": 1.0,
    "names current": 0.82,
    "decision": 0.79,
    "names absent": 0.75,
    "newest of its class": 0.6,
    "code": 0.53,
    "open problem": 0.52,
    "recent": 0.51,
    "artefact, branch": 0.47,
    "artefact, pull request or issue": 0.47,
    "command, test": 0.47,
    "chain": 0.38,
    "names": 0.37,
    "repeated": 0.3,
    "figures": 0.29,
    "negates": 0.28,
    "interim": 0.25,
    "place": 0.22,
    "artefact": 0.2,
    "instruction, asked": 0.15,
    "long answer": 0.15,
    "instruction": 0.08,
    "failed": 0.06,
    "command, call": 0.05,
    "artefact, file": -0.13,
    "command, build": -0.14,
    "instruction, correction": -0.17,
    "a newer one like it": -0.23,
    "task": -0.24,
    "artefact, commit": -0.25,
    "command, check": -0.3,
    "narrow": -0.3,
    "output": -0.35,
    "artefact, url": -0.37,
    "instruction, told": -0.42,
    "error": -0.5,
    "listed": -0.5,
    "question": -0.79,
    "finding": -1.04,
    "report": -1.35,
    "done sign": -1.53,
}
