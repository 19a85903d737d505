"""How calls ended, and what makes a failure good again (docs/runs.md, "History as runs")."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.outcomes import OpenFailures, normalised, outcome
from slicebase.graph.turn import Part
from tests.context.test_projection import call, result


def ended(name: str, arguments: Any, text: str, error: bool = True) -> str:
    return outcome(call(name, arguments, "1"), result(text, "1", error)).ended


def made_good(failing: tuple[str, Any, str], succeeding: tuple[str, Any]) -> bool:
    """Returns whether a success makes a failure good."""
    name, arguments, text = failing
    failures = OpenFailures()
    failures.add("f", outcome(call(name, arguments, "1"), result(text, "1", True)))
    return failures.made_good(outcome(call(*succeeding, "2"), result("ok", "2"))) == ["f"]


def sh(command: str) -> tuple[str, Any]:
    return "Bash", {"command": command}


@pytest.mark.parametrize(
    ("failing", "succeeding"),
    [
        (sh("make"), sh("make")),
        (sh("npm run build"), sh("npm run build -- --watch=false 2>&1 | tail -5")),
        (sh("git commit -m x"), sh("git commit -m 'a better message'")),
        (sh("python tools/load.py --all"), sh("python tools/load.py --first 10")),
        (sh("pytest tests/test_a.py::test_one"), sh("pytest -q tests/test_a.py::test_one")),
        (sh("pytest tests/test_a.py::test_one"), sh("pytest tests/test_a.py")),
        (sh("pytest tests/unit/test_a.py"), sh("pytest tests")),
        (sh("go test ./pkg -run TestOne"), sh("go test ./pkg")),
        (sh("go test ./pkg -run TestOne"), sh("go test ./...")),
        (sh("go build ./..."), sh("go test ./...")),
        (("Edit", {"file_path": "/x/a.py", "old_string": "1"}), ("Write", {"file_path": "/x/a.py", "content": "2"})),
        (("Edit", {"file_path": "/x/a.py", "old_string": "1"}), ("Edit", {"file_path": "/x/a.py", "old_string": "2"})),
        (("mcp__db__query", {"sql": "select 1"}), ("mcp__db__query", {"sql": "select 1"})),
        (sh("make"), sh("cd app && make")),
        (sh("cd /w/app && make"), sh("cd app && make")),
        (sh("python3 tools/load.py"), sh("python tools/load.py")),
        (sh("pytest /w/tests/test_a.py::test_one"), sh("pytest tests/test_a.py")),
        (sh("pytest tests/test_a.py"), sh("make test")),
        (sh("mise run test:unit"), sh("mise run test:ci")),
        (("Edit", {"file_path": "/x/a.py", "old_string": "1"}), ("Edit", {"file_path": "x/a.py", "old_string": "2"})),
        (("Edit", {"file_path": "/x/a.py", "old_string": "1"}), sh("cd /x && sed -i 's/1/2/' a.py")),
        (("Edit", {"file_path": "/x/a.py", "old_string": "1"}), sh("cat > /x/a.py <<'EOF'\n2\nEOF")),
        (("Edit", {"file_path": "/x/a.py", "old_string": "1"}), sh('python -c \'Path("/x/a.py").write_text("2")\'')),
        (sh("go build ./pkg"), sh("go build ./...")),
        (sh("go build"), sh("go build ./cmd/tool")),
        (sh("go build -o bin/tool ./cmd/tool"), sh("go build ./cmd/tool")),
        (sh("mypy src/a.py"), sh("mypy .")),
        (sh("cargo build -p x"), sh("cargo build --workspace")),
        (sh("pip install shop"), sh("pip install -U shop==2 other")),
        (sh("pip install shop"), sh("pip install git+https://git.example.net/team/shop.git@v2")),
        (sh("kubectl apply -f k/a.yaml"), sh("kubectl apply -f k/")),
        (sh("git push"), sh("git push -u origin fix")),
        (sh("bash -c 'cd a && pytest tests/test_a.py'"), sh("pytest tests/test_a.py")),
        (sh("pip install shop"), sh("sudo pip3 install shop")),
        (sh("docker run -p 80:80 shop"), sh("docker run -p 81:80 shop")),
        (sh("docker pull node:18"), sh("docker pull node:20")),
        (sh("docker compose up -d web"), sh("docker compose up -d")),
        (sh("pytest"), sh("pytest -n auto")),
        (sh("python -m unittest tests.test_a"), sh("python -m unittest discover")),
        (sh("python manage.py test app"), sh("python manage.py test")),
        (sh("npm run build && npm test"), sh("npm test")),
        (sh("curl -f http://h/a"), sh("curl -sf 'http://h/a' | jq .")),
    ],
)
def test_the_success_of_the_same_intention_makes_a_failure_good(failing: Any, succeeding: Any) -> None:
    assert made_good((*failing, "error: it does not work"), succeeding)


@pytest.mark.parametrize(
    ("failing", "succeeding"),
    [
        (sh("make"), sh("ls")),
        (sh("npm run build"), sh("npm run lint")),
        (sh("git commit -m x"), sh("git status")),
        (sh("pytest tests/test_a.py"), sh("pytest tests/test_a.py::test_one")),
        (sh("pytest tests/test_a.py"), sh("pytest tests/test_b.py")),
        (sh("go test ./..."), sh("go test ./pkg")),
        (("Edit", {"file_path": "/x/a.py"}), ("Edit", {"file_path": "/x/b.py"})),
        (("mcp__db__query", {"sql": "select 1"}), ("mcp__db__query", {"sql": "select 2"})),
        (("Edit", {"file_path": "/x/a.py"}), ("Read", {"file_path": "/x/a.py"})),
        (("Edit", {"file_path": "/x/a.py"}), ("Grep", {"path": "/x/a.py", "pattern": "z"})),
        (("Edit", {"file_path": "/x/a/mod.rs"}), ("Edit", {"file_path": "/x/b/mod.rs"})),
        (sh("cd a && make"), sh("cd b && make")),
        (sh("make && make install"), sh("make")),
        (sh("mypy src"), sh("ruff check src")),
        (sh("npm run build"), sh("go build ./...")),
        (sh("npm run build"), sh("go test ./...")),
        (sh("pytest tests/test_a.py"), sh("jest")),
        (sh("mise run test:e2e"), sh("mise run test:unit")),
        (sh("cargo test parser"), sh("cargo test lexer")),
        (sh("gh pr create"), sh("gh pr view")),
        (sh("python manage.py migrate"), sh("python manage.py check")),
        (("Edit", {"file_path": "/x/a.py"}), sh("sed -n 1,3p /x/a.py")),
        (("Edit", {"file_path": "/x/a.py"}), sh("sed -i s/1/2/ /x/b.py")),
        (sh("go build ./..."), sh("go build ./pkg")),
        (sh("go test ./..."), sh("go build ./... && go test ./pkg")),
        (sh("cargo build"), sh("cargo build -p x")),
        (sh("pip install a"), sh("pip install b")),
        (sh("uv pip install a"), sh("uv pip install b")),
        (sh("kubectl apply -f a.yaml"), sh("kubectl apply -f b.yaml")),
        (sh("docker compose up"), sh("docker compose down")),
        (sh("cargo test -p x"), sh("cargo test -p y")),
        (sh("kubectl logs pod-a"), sh("kubectl logs pod-b")),
        (sh("docker compose up -d web"), sh("docker compose up -d db")),
        (sh("systemctl restart web"), sh("systemctl restart db")),
        (sh("pytest unit"), sh("pytest integration")),
        (sh("pytest unit"), sh("for f in a b; do pytest $f; done")),
        (sh("npm test && npm run lint"), sh("npm test")),
        (sh("npm test && git push"), sh("npm test")),
        (sh("curl -f http://h/a"), sh("curl -f http://h/b")),
        (sh("curl -X POST http://h/a"), sh("curl http://h/a")),
    ],
)
def test_the_success_of_something_else_does_not(failing: Any, succeeding: Any) -> None:
    assert not made_good((*failing, "error: it does not work"), succeeding)


def test_of_commands_in_one_call_the_tests_have_to_succeed_if_the_output_says_that_they_failed() -> None:
    assert made_good((*sh("npm run lint && npm test"), "3 failed, 2 passed"), sh("npm test"))
    assert not made_good((*sh("npm run lint && npm test"), "3 problems (3 errors)"), sh("npm test"))


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("make 2>&1 | tail -3", "x.c:3: error: no\nmake: *** [all] Error 2"),
        ("go build ./... || true", "./x.go:3:2: undefined: foo"),
        ("npx tsc; echo done", "src/a.ts(3,4): error TS2304: Cannot find name 'x'."),
    ],
)
def test_a_command_that_complains_and_whose_status_is_hidden_has_not_succeeded(command: str, output: str) -> None:
    assert ended(*sh(command), output, error=False) == "nothing"
    assert ended(*sh(command), "done", error=False) == "ok"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error TS2304: no", "error TS2345: no"),
        ("FAILED t.py::test_case_1", "FAILED t.py::test_case_2"),
        ("a/x.c:1: error: no", "b/x.c:1: error: no"),
    ],
)
def test_two_failures_with_similar_words_are_two(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_a_failure_in_another_folder_does_not_end_one() -> None:
    failures = OpenFailures()
    failures.add("a", outcome(call(*sh("cd a && make"), "1"), result("error: one", "1", True)))
    assert failures.add("b", outcome(call(*sh("cd b && make"), "2"), result("error: two", "2", True))) == []


def test_all_commands_of_a_script_have_to_succeed_in_one_call_or_in_several() -> None:
    failures = OpenFailures()
    failures.add("f", outcome(call(*sh("npm run build && git commit -m x"), "1"), result("error: no", "1", True)))
    assert failures.made_good(outcome(call(*sh("git commit -m y"), "2"), result("ok", "2"))) == []
    assert failures.made_good(outcome(call(*sh("npm run build"), "3"), result("ok", "3"))) == ["f"]


def test_what_a_command_no_longer_reports_when_it_fails_again_is_made_good() -> None:
    failures = OpenFailures()

    def fail(name: str, text: str) -> list[str]:
        return failures.add(name, outcome(call(*sh("make"), "1"), result(text, "1", True)))

    assert fail("one", "a.c:3: error: x is undefined") == []
    assert fail("both", "b.c:9: error: y is undefined\na.c:7: error: x is undefined") == []
    assert fail("other", "b.c:12: error: y is undefined") == ["one"]


@pytest.mark.parametrize(
    ("name", "arguments", "text", "expected"),
    [
        ("Bash", {"command": "make"}, "exit code 2", "failed"),
        ("Bash", {"command": "make"}, "", "failed"),
        ("Bash", {"command": "grep x y"}, "", "nothing"),
        ("Bash", {"command": "git cat-file -t e53647b"}, "fatal: could not get object info", "nothing"),
        ("Read", {"file_path": "/x"}, "File does not exist.", "nothing"),
        ("Edit", {"file_path": "/x"}, "<tool_use_error>File has not been read yet.</tool_use_error>", "nothing"),
        ("Bash", {"command": "make"}, "[Request interrupted by user for tool use]", "refused"),
        ("Bash", {"command": "make"}, "The user doesn't want to proceed with this tool use.", "refused"),
        ("Bash", {"command": "make"}, "Tool use was rejected by the user", "refused"),
        ("Edit", {"file_path": "/x"}, "the disk is full", "failed"),
    ],
)
def test_what_the_user_refuses_and_what_the_client_says_is_no_failure(
    name: str, arguments: Any, text: str, expected: str
) -> None:
    assert ended(name, arguments, text) == expected


def test_tests_that_fail_are_a_failure_without_a_mark_of_the_tool() -> None:
    assert ended("Bash", {"command": "pytest -q"}, "2 failed, 7 passed", error=False) == "failed"
    assert ended("Bash", {"command": "pytest -q"}, "9 passed", error=False) == "ok"
    assert ended("Bash", {"command": "cat log"}, "2 failed, 7 passed", error=False) == "ok"


def test_repetitions_have_the_same_fingerprint_and_other_errors_another() -> None:
    def fingerprint(command: str, text: str) -> str:
        return outcome(call(*sh(command), "1"), result(text, "1", True)).fingerprint

    once = fingerprint("make all", "/tmp/a1/x.c:31: error at 10:31:07: commit 1f2e3d4c5b fails")
    assert once == fingerprint("make all 2>&1 | tail", "/tmp/b22/x.c:7: error at 09:00:12: commit aabbccddee1 fails")
    assert once != fingerprint("make all", "/tmp/a1/y.c:31: error at 10:31:07: commit 1f2e3d4c5b fails")
    assert once != fingerprint("make test", "/tmp/a1/x.c:31: error at 10:31:07: commit 1f2e3d4c5b fails")


commands = st.sampled_from(["make", "make test", "pytest", "pytest a.py", "pytest a.py::t", "git commit", "ls"])
steps = st.lists(st.tuples(commands, st.booleans(), st.sampled_from(["error: a", "error: b 7"])), max_size=30)


@settings(max_examples=40, deadline=None)
@given(steps)
def test_a_failure_is_open_until_it_is_made_good_once(done: list[tuple[str, bool, str]]) -> None:
    failures, known = OpenFailures(), set()
    for command, failed, text in done:
        found = outcome(Part("tool_call", name="bash", arguments={"command": command}), result(text, "1", failed))
        if found.ended == "failed":
            gone = failures.add(found.fingerprint, found)
            known.add(found.fingerprint)
        else:
            gone = failures.made_good(found) if found.ended == "ok" else []
        assert len(set(gone)) == len(gone)
        assert set(gone) <= known
        known -= set(gone)
        assert normalised(normalised(text)) == normalised(text)
    for command in ("make", "make test", "pytest", "git commit"):
        known -= set(failures.made_good(outcome(call(*sh(command), "1"), result("ok", "1"))))
    assert not known
