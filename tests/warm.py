"""`tt` without the time that its start takes: a process that has loaded the package forks for every command.

Each command still is a process of its own, with the folder, the variables and the streams of its caller. It is for
tests of what commands do together. What a new process loads, and how it starts and ends, is tested with new processes.
"""

import atexit
import functools
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import slicebase
from slicebase.cli.entry import main
from tests.paths import PROJECT

# No command of these tests needs them; the kernel may not be compiled for this Python.
_OTHERS = ("slicebase.__main__", "slicebase.adapters", "slicebase.mcp", "slicebase.graph.native")

# Isolated and without site-packages it starts in a tenth of the time of `tt`. It sends its own streams.
_CLIENT = """#!{python} -IS
import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

server = socket(AF_UNIX, SOCK_STREAM)
server.connect({address!r})
told = [os.getcwdb(), b"%d" % len(os.environb), *(b"%s=%s" % each for each in os.environb.items())]
told += [os.fsencode(each) for each in sys.argv[1:]]
data = b"\\0".join(told)
streams = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2))
server.sendmsg([b"%020d" % len(data)], [(SOL_SOCKET, SCM_RIGHTS, streams)])
server.sendall(data)
os._exit(int(server.recv(20)))
"""


@functools.cache
def warm_programs(*below: str) -> Path:
    """Returns a folder with a program `tt` whose commands run warm, until the process of the tests ends.

    `below` is a command that starts the server with other rights, which all its commands have then.
    """
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    address = str(folder / "address")
    program = folder / "tt"
    program.write_text(_CLIENT.format(python=sys.executable, address=address))
    program.chmod(0o755)
    server = subprocess.Popen(
        [*below, sys.executable, "-m", "tests.warm", address],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
    )
    atexit.register(_end, server, folder)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return folder


def _end(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    server.kill()
    with server:
        pass
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def serve(address: str) -> NoReturn:
    """Loads the package, and then runs a command for each client."""
    for module in pkgutil.walk_packages(slicebase.__path__, "slicebase."):
        if not module.name.startswith(_OTHERS):
            import_module(module.name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        os.write(1, b"ready\n")
        while True:
            client, _ = listening.accept()
            with suppress(ChildProcessError):  # there are none
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass
            with client:
                if os.fork() == 0:
                    listening.close()
                    _answer(client)


def _answer(client: socket.socket) -> NoReturn:
    """Runs the command of a client in a process, and sends its status."""
    head, streams, _, _ = socket.recv_fds(client, 20, 3)
    with client.makefile("rb") as stream:
        folder, count, *rest = stream.read(int(head)).split(b"\0")
    variables, arguments = rest[: int(count)], rest[int(count) :]
    process = os.fork()
    if process == 0:
        client.close()
        for number, given in enumerate(streams):
            os.dup2(given, number)
            os.close(given)
        os.chdir(folder)
        os.environb.clear()
        os.environb.update(each.split(b"=", 1) for each in variables)  # type: ignore[misc]
        sys.argv = ["tt", *map(os.fsdecode, arguments)]
        main()
    for given in streams:
        os.close(given)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    client.sendall(b"%d" % (status if status >= 0 else 128 - status))
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
