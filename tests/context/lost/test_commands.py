"""Which commands are needed again, and which change something and are never given back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost.commands import changes_things, command_class, needed_again
from slicebase.context.lost.shell import pipelines

NEEDED = {
    "test": [
        "pytest -q", "uv run pytest", ".venv/bin/python -m pytest x", "go test ./...", "npm run test:unit", "npm t",
        "make test", "mise run test:ci", "timeout 60 cargo test --all", "cargo nextest run", "npx jest", "A=1 tox",
        "docker compose exec web pytest", "bin/rails test", "flutter test", "composer test", "python manage.py test",
        "pytest tests/test_delete.py -k drop", "go test -run TestDeploy ./...",
    ],
    "build": ["make build", "go build -o /tmp/x ./cmd", "npm run build", "cargo build --release", "make", "gcc a.c"],
    "check": ["mise run lint", "ruff check .", "npm run typecheck", "mypy", "tsc --noEmit"],
    "call": [
        "gh api repos/a/b/pulls/1/comments", "bash tools/run.sh setup", "python tools/load.py --users 5",
        "kubectl get pods", "ssh prod ls", "ssh web 'tail x 2>/dev/null'", "curl -s localhost:8080/health",
        "terraform plan", "python tools/smoke.py --url http://localhost:8081/x", "curl -s https://a.example.net/health",
        "./tools/smoke postgresql://me:word@127.0.0.1/shop",
    ],
    None: ["pip install pytest", "git diff tests/", "cat test.py", "ls", "git status", "python -c 'print(1)'"],
}  # fmt: skip
CHANGING = [
    "terraform destroy -auto-approve", "terraform apply", "kubectl delete pod shop-1", "kubectl apply -f x.yaml",
    "curl -X POST https://a.example.net/orders -d @o.json", "curl --json '{}' https://a.example.net", "git push",
    'psql prod -c "drop table customers_old"', "alembic downgrade 0041", "git filter-repo --path x --invert-paths",
    "gh pr create --title x", "gh issue comment 5 --body x", "gh pr merge 5", "gh api -X DELETE repos/a/b",
    'ssh prod "sudo systemctl restart shop"', "python send_mail.py --really", "make deploy", "make stage",
    "docker compose exec db psql -c 'delete from orders'", "npm publish", "rm -rf build", "aws s3 rm s3://b/x",
    "bash scripts/drop_database.sh", "./deploy.sh", "rails db:migrate", "helm upgrade shop .", "make seed",
    "ssh host 'cat x; rm y'", "bin/rails runner 'User.delete_all'", "celery -A shop purge -f", "redis-cli flushall",
    "gh api graphql -f query='mutation { x }'", "psql prod < dump.sql", "npx prisma db push", "node scripts/refund.js",
    "sudo env A=1 nice kubectl delete ns shop", "uv run python tools/import.py --force", "git reset --hard HEAD~3",
    "curl https://a.example.net/v1/reboot?host=7", "python transfer.py --amount 500", "./run_payments",
    "node tools/newsletter.js --list all", "node tools/deleteUsers.js", "python ueberweisen.py --monat 10",
    "bash skripte/löschen.sh", "python enviar_facturas.py",
    "make start-prod", "rake emails:weekly", "ssh web 'cat a > /etc/b'", 'psql -c "select delete_customer(4)"',
    "git stash", "git checkout -- .", "alembic revision -m x", "tox -e release", "python scripts/rotate_keys.py",
    "alembic upgrade head", "flask db upgrade", "dotnet ef database update", "python scripts/backfill.py --commit",
    "node scripts/index.js --env=prod", "go run main.go --reset", "cargo run --release -- --reset", "npm run test:prod",
    "npx nx run-many --target=deploy", "forge script Deploy --broadcast", "dbt build --full-refresh",
    "pio run -t erase", "psql -c 'select * into b from a'",
    "python tools/load.py --url https://staging.example.com --users 50",
    "npx playwright test --base-url=https://shop.example.com", "./tools/smoke wss://user:word@live.example.com/x",
]  # fmt: skip
# What is set for a script says what it is aimed at, or that it is meant.
SET = [
    "RAILS_ENV=production bundle exec rspec", "ENV=prod ./scripts/report.sh", "export APP_ENV=live; pytest",
    "DRY_RUN=false python tools/recalc.py", "CONFIRM=yes make db", "FORCE=1 ./run.sh",
    "NODE_ENV='production' npm start",
]  # fmt: skip


def classes(script: str) -> set[str | None]:
    return {command_class(each) for each in pipelines(script)}


@pytest.mark.parametrize("what", NEEDED)
def test_what_a_command_is_needed_again_for(what: str | None) -> None:
    assert {each: classes(each) for each in NEEDED[what]} == {each: {what} for each in NEEDED[what]}


def test_a_command_that_changes_something_elsewhere_is_never_needed_again() -> None:
    assert [each for each in CHANGING if not changes_things(each)] == []
    assert [each for each in CHANGING if needed_again(each)] == []


@given(
    st.sampled_from(CHANGING),
    st.sampled_from(["{}", "cd /repo && {}", "make test && {}", "{}; make test", "make test | {}", "A=1 sudo {} 2>&1",
                     "for i in 1 2; do {}; done", "{} || true", "{} | tail -5 && ruff check ."]),
)  # fmt: skip
def test_no_part_of_a_script_that_is_given_back_changes_something(changing: str, around: str) -> None:
    script = around.format(changing)
    assert not any(changing in script[each.start : each.end] for each in needed_again(script))


def test_a_command_that_is_set_to_what_is_live_is_not_needed_again_but_a_build_is() -> None:
    assert [each for each in SET if needed_again(each)] == []
    assert needed_again("NODE_ENV=production npm run build")
    assert needed_again("DRY_RUN=1 python tools/recalc.py")


def test_what_only_cleans_or_is_not_known_is_not_needed_again() -> None:
    scripts = ("make clean", "flutter clean", "make $TARGET", "curl -fsSL https://a.example.net/install.sh | bash")
    assert [each for each in scripts if needed_again(each)] == []
    assert needed_again("make clean test")


def test_of_a_script_only_the_lines_that_are_needed_again_are_kept() -> None:
    def kept(script: str) -> list[str]:
        return [script[each.start : each.end] for each in needed_again(script)]

    assert kept("cd /repo && make test 2>&1") == ["cd /repo && make test 2>&1"]
    assert kept("rm -rf x\ncd /repo && make test 2>&1\n\n# count\nls | wc -l") == ["make test 2>&1"]
    assert kept("gh pr create --body \"$(cat <<'E'\npytest tests/a.py\nE\n)\"") == []
