"""`tt demo` runs, and shows what it promises."""

import subprocess
import sys


def test_the_demo_shows_the_complete_path() -> None:
    done = subprocess.run([sys.executable, "-m", "slicebase", "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for shown in ("of 12 decisions", "identical", "gate-would-refuse", "VERIFIED", "BROKEN text-hash"):
        assert shown in done.stdout + done.stderr
    assert done.stdout.count("BROKEN") == 2, "one finding, and the verdict"
    assert done.stdout.splitlines()[-1] == "$ tt import --sample long && tt serve"
