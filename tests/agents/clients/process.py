"""The process of a client, which speaks JSON in lines: what the clients have in common."""

import json
import os
import queue
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final, NamedTuple

from tests.agents.clients.model import ScriptedModel
from tests.agents.clients.packages import client_program

PATIENCE: Final = 120.0  # seconds that a client may be silent; a busy machine needs some
_ENDS: Final = 30.0  # seconds that a client and its last hooks have to end
SERVER: Final = "slicebase"  # the name under which the clients know our MCP server


class Answer(NamedTuple):
    """The client's last words to a prompt, and whether it compacted its context."""

    text: str
    compacted: bool = False


class ClientProcess:
    """A client in a home and a workspace of its own, whose environment holds nothing else of this machine."""

    client: str

    def __init__(self, home: Path, workspace: Path, model: ScriptedModel, tools: Path) -> None:
        self.home, self.workspace, self.model = home, workspace, model
        self.mcp = [str(tools / "tt"), "mcp"]
        self.session: str | None = None
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._log = (home / "client.log").open("a", encoding="utf-8")
        kept = {name: os.environ[name] for name in ("LANG", "TZ", "TMPDIR") if name in os.environ}
        path = os.pathsep.join((str(tools), os.environ["PATH"]))
        self.environment = {**kept, "PATH": path, "HOME": str(home), "TERM": "xterm-256color", "NO_COLOR": "1"}
        self.configure()

    def configure(self) -> None:
        """Writes the settings of the client's home, and adds to its environment."""
        raise NotImplementedError

    def say(self, prompt: str) -> Answer:
        """Sends a prompt, and waits for the end of the answer."""
        raise NotImplementedError

    def compact(self) -> None:
        """Compacts the context now, or with the next prompt."""
        raise NotImplementedError

    def resume(self) -> None:
        """Ends the process. The next prompt continues the session in another one."""
        self.close()

    # The process

    @property
    def running(self) -> bool:
        return self._process is not None

    def start(self, *arguments: str) -> None:
        self._lines = queue.Queue()
        self._process = subprocess.Popen(
            [client_program(self.client), *arguments],
            cwd=self.workspace,
            env=self.environment,
            text=True,
            bufsize=1,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        Thread(target=self._read, args=(self._process.stdout, self._lines), daemon=True).start()

    def _read(self, stream: IO[str], lines: "queue.Queue[str | None]") -> None:
        with stream:
            for line in stream:
                lines.put(line)
        lines.put(None)

    def send(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")

    def line(self) -> str | None:
        """Returns the next line of output; None at its end."""
        return self._lines.get(timeout=PATIENCE)

    def receive(self) -> dict[str, Any]:
        """Returns the next line that is a JSON object."""
        while (line := self.line()) is not None:
            if line.startswith("{"):
                return dict(json.loads(line))
        raise AssertionError(f"{self.client} ended; {self._log.name} says why")

    def end_input(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def close(self) -> None:
        """Ends the process by the end of its input; if that does not help, by signals to all that it started."""
        if self._process is None:
            return
        process, self._process = self._process, self._process
        self.end_input()
        for ask in (None, signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                if ask is not None:
                    os.killpg(process.pid, ask)
                process.wait(timeout=_ENDS)
                break
        self._process = None

    def finish(self) -> None:
        self.close()
        self._log.close()

    def write(self, path: str, content: str | dict[str, Any]) -> Path:
        """Writes a file of the client's home."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        return target
