"""Texts that try to become more than texts: markup, scripts, links, huge lines, marks that turn the writing around."""

import json
from pathlib import Path
from typing import Any, Final

from tests.browser.memories import Shown, opened, record, transcript

SESSION: Final = "bad0bad0-3333-4c3e-8b1d-5c2f9e6a7b03"
SCRIPT: Final = "<script>window.ran = 1; alert(1)</script>"
IMAGE: Final = '<img src="https://evil.example/x.png" onerror="window.ran = 1; alert(2)">'
MARKUP: Final = (
    f"{SCRIPT} {IMAGE} <svg onload=alert(3)><a href='javascript:alert(4)'>link</a></svg> "
    "<iframe src=https://evil.example></iframe> <style>*{display:none}</style> </textarea></script><!-- "
    '"><b onmouseover=alert(5)>bold</b> {{7*7}} ${7*7}'
)
LINKS: Final = (
    "[click](javascript:window.ran=1) [data](data:text/html,<script>alert(6)</script>) [file](file:///etc/passwd)\n\n"
    "<javascript:window.ran=1> ![picture](https://evil.example/y.png) [ok](https://shop.example/)\n\n"
    "[ref][r]\n\n[r]: javascript:window.ran=1 'title'\n"
)
BACKWARDS: Final = (
    "price \u202e001 si\u202c \u2066\u202egnp.exe\u2069 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627"
)
ODD: Final = (
    "\u0301lone mark, \u200b\ufeff, \U0001f469\u200d\U0001f469\u200d\U0001f467, \u2028 and \u2029, \u2400, "
    "\x1b[31mred\x1b[0m \x07 \x7f end"
)
WIDE: Final = "W" * 1_000_000  # one word that no line can hold
ZALGO: Final = "Z" + "\u0335" * 400
NAME: Final = '"><img/src=x/onerror=alert(7)>&<script>#?%2F'  # a name without spaces
TITLE: Final = f"Title {IMAGE} {BACKWARDS} {ZALGO}"


def hostile(root: Path) -> Shown:
    """Creates a workspace whose every text, title, name and path is hostile."""
    with opened(root) as memory:
        memory.import_(_session(root))
        talk = [{"role": "user", "content": MARKUP}, {"role": "assistant", "content": LINKS + ODD}]
        named = root / "talk.json"
        named.write_text(json.dumps(talk))
        memory.import_(named, session=f"a session {NAME}")
        library = memory.library
        log = library.create(f"Log {TITLE}", MARKUP, type="jsonl", contract=[f"purpose={MARKUP}"])
        first = library.remember(log.id, json.dumps({"text": MARKUP, NAME: {"deep": [MARKUP, None, True]}}))
        library.remember(log.id, json.dumps({"text": WIDE, "more": BACKWARDS}), supersedes=first.ref)
        made = {"jsonl": log}
        bodies = {
            "markdown": f"# Head {MARKUP}\n\n{LINKS}\n\n{_TABLE}\n\n{MARKUP}\n",
            "text": MARKUP + ODD + WIDE,
            "yaml": f"key: '{SCRIPT}'\n",
            "code": f"text = '''{MARKUP}'''\n{WIDE[:100_000]}\n",
        }
        for kind, body in bodies.items():
            made[kind] = library.create(f"{kind} {TITLE}", LINKS, type=kind, body=body, meta=[f"owner={MARKUP}"])
        made["conversation"] = library.create(f"Talk {TITLE}", MARKUP, type="conversation")
        library.remember(made["conversation"].id, json.dumps({"role": "user", "content": MARKUP + LINKS}))
        made["routine"] = library.create(f"Routine {TITLE}", MARKUP, type="routine")
        library.remember(made["routine"].id, json.dumps({"instruction": MARKUP, "note": LINKS}))
        payload = root / "<img src=x onerror=alert(8)>.csv"
        payload.write_text("a,b\n")
        made["pointer"] = library.create(f"Pointer {TITLE}", ODD, from_file=payload)
        library.connect(made["markdown"].id, "see_also", log.id)
        context = memory.context(f"window.ran alert {MARKUP}", 1500)
        memory.runs.start(NAME.replace("/", "."), MARKUP, done=MARKUP + BACKWARDS)
        run = memory.runs.list_runs()[0].id
        with memory.runs.step(run, compact=False) as step:
            step.plan(MARKUP)
            step.act(f"bash {ODD}", command=MARKUP)
            step.observe(WIDE[:60_000])
            claim = step.claim(
                MARKUP, cite=(f"turn:{record(1, None, 'user', '', session=SESSION)['uuid']}", "lone mark")
            )
            step.fail(MARKUP, category="error", where=NAME)
            step.ask(MARKUP)
        memory.runs.compact(run)
        snapshot = str(memory.runs.snapshot(run)["snapshot_id"])
    return Shown(
        root, {name: each.id for name, each in made.items()}, (context.id,), (snapshot,), f"claim:{run}/{claim.id}", run
    )


_TABLE: Final = f"| {IMAGE} | b |\n|---|---|\n| <script>alert(9)</script> | [x](javascript:alert(10)) |"


def _session(root: Path) -> Path:
    use: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": f"Bash{SCRIPT}"}
    use["input"] = {"command": MARKUP, "file_path": NAME}
    change = {"file_path": f"/repo/{NAME}", "old_string": f"-{MARKUP}\n", "new_string": f"+{MARKUP}{BACKWARDS}\n"}
    edit = {"type": "tool_use", "id": "t2", "name": "Edit", "input": change}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"{ODD}\n{MARKUP}\n{WIDE}", "is_error": True}
    turns: list[tuple[str, Any]] = [
        ("user", f"{MARKUP}\n\n{ODD}"),
        ("assistant", [{"type": "thinking", "thinking": MARKUP + BACKWARDS, "signature": ""}]),
        ("assistant", [{"type": "text", "text": f"# {SCRIPT}\n\n{LINKS}\n\n{_TABLE}"}, use]),
        ("user", [result]),
        ("assistant", [edit]),
        ("user", [{"type": "tool_result", "tool_use_id": "t2", "content": MARKUP}]),
        ("assistant", f"```{NAME}\n{MARKUP}\n```\n\n{BACKWARDS}\n\n{ZALGO}"),
        ("user", WIDE),
        ("assistant", "> " * 300 + "deep\n" + "- " * 300 + "deep\n" + "*a " * 3000),
    ]
    place = {"cwd": f"/repo/{NAME}", "gitBranch": SCRIPT}
    records = [
        record(number, number - 1 if number > 1 else None, kind, content, session=SESSION, **place)
        for number, (kind, content) in enumerate(turns, 1)
    ]
    summary = {"type": "summary", "summary": TITLE, "leafUuid": records[-1]["uuid"]}
    return transcript(root / f"{SESSION}.jsonl", [summary, *records])
