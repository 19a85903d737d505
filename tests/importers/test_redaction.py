"""Secrets of known shapes. None of these was ever a key: they are invented, and built at run time."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph.turn import Part, Session, Turn
from slicebase.importers.redaction import SECRET_RULES, redact, redacted, redacted_by_all_rules
from slicebase.importers.values import Batch, Options
from tests.importers.reading import jsonl, take
from tests.importers.test_claude_code import call, record

ALNUM = "aZ0bY1cX2dW3eV4fU5gT6hS7iR8jQ9kP0lO1mN2nM3oL4pK5qJ6rI7sH8tG9uF0vE1wD2xC3yB4zA5" * 3
HEX = "0123456789abcdef" * 8
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" * 4

# Built from parts, so that no scanner of repositories reports these lines as keys.
EXAMPLES = {
    "aws-access-key": "AK" + "IA" + UPPER[:16],
    "aws-secret-key": "aws_secret_access_key = " + ALNUM[:40],
    "google-api-key": "AI" + "za" + ALNUM[:35],
    "google-oauth-secret": "GOC" + "SPX-" + ALNUM[:28],
    "google-oauth-token": "ya" + "29." + ALNUM[:60],
    "azure-storage-key": "AccountKey=" + ALNUM[:86] + "==",
    "azure-client-secret": "abc8" + "Q~" + ALNUM[:33],
    "digitalocean-token": "dop" + "_v1_" + HEX[:64],
    "databricks-token": "da" + "pi" + HEX[:32],
    "alibaba-key": "LT" + "AI" + ALNUM[:20],
    "heroku-key": "HR" + "KU-" + ALNUM[:40],
    "supabase-key": "sb" + "p_" + HEX[:40],
    "github-token": "gh" + "p_" + ALNUM[:36],
    "gitlab-token": "gl" + "pat-" + ALNUM[:20],
    "npm-token": "np" + "m_" + ALNUM[:36],
    "pypi-token": "py" + "pi-AgE" + ALNUM[:80],
    "rubygems-key": "ruby" + "gems_" + HEX[:48],
    "docker-token": "dc" + "kr_pat_" + ALNUM[:27],
    "terraform-token": ALNUM[:14] + ".atlas" + "v1." + ALNUM[:64],
    "vault-token": "hv" + "s." + ALNUM[:30],
    "pulumi-token": "pu" + "l-" + HEX[:40],
    "planetscale-token": "psc" + "ale_tkn_" + ALNUM[:40],
    "anthropic-key": "sk-" + "ant-api03-" + ALNUM[:90],
    "openrouter-key": "sk-" + "or-v1-" + HEX[:64],
    "openai-key": "sk-" + "proj-" + ALNUM[:48],
    "huggingface-token": "h" + "f_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "groq-key": "gs" + "k_" + ALNUM[:52],
    "xai-key": "xa" + "i-" + ALNUM[:80],
    "perplexity-key": "pp" + "lx-" + ALNUM[:48],
    "replicate-token": "r" + "8_" + ALNUM[:37],
    "stripe-key": "sk" + "_live_" + ALNUM[:24],
    "webhook-secret": "wh" + "sec_" + ALNUM[:32],
    "square-token": "sq" + "0csp-" + ALNUM[:43],
    "shopify-token": "shp" + "at_" + HEX[:32],
    "slack-token": "xo" + "xb-1234567890-" + ALNUM[:24],
    "slack-webhook": "https://hooks.slack" + ".com/services/T0/B0/" + ALNUM[:24],
    "twilio-key": "S" + "K" + HEX[:32],
    "sendgrid-key": "S" + "G." + ALNUM[:22] + "." + ALNUM[:43],
    "mailgun-key": "ke" + "y-" + HEX[:32],
    "telegram-token": "123456789" + ":AA" + ALNUM[:33],
    "discord-token": "MT" + "A" + ALNUM[:21] + "." + ALNUM[:6] + "." + ALNUM[:38],
    "discord-webhook": "https://discord" + ".com/api/webhooks/123/" + ALNUM[:68],
    "linear-key": "lin" + "_api_" + ALNUM[:40],
    "notion-token": "nt" + "n_" + ALNUM[:46],
    "newrelic-key": "NR" + "AK-" + UPPER[:27],
    "sentry-token": "snt" + "rys_" + ALNUM[:80],
    "grafana-token": "gl" + "sa_" + ALNUM[:32] + "_" + HEX[:8],
    "postman-key": "PM" + "AK-" + HEX[:24] + "-" + HEX[:34],
    "jwt": "ey" + "J" + ALNUM[:30] + ".ey" + "J" + ALNUM[:30] + "." + ALNUM[:40],
    "age-key": "AGE-SECRET" + "-KEY-1" + UPPER[:58],
    "private-key": "-----BEGIN RSA PRIVATE " + "KEY-----\n" + ALNUM[:64] + "\n-----END RSA PRIVATE KEY-----",
    "password-in-url": "postgres://app:" + "s3cret-word" + "@db.example.org/shop",
    "authorization-header": "Authorization: Bearer " + ALNUM[:40],
}


def test_every_rule_has_an_example() -> None:
    assert {rule.label for rule in SECRET_RULES} == EXAMPLES.keys()


@pytest.mark.parametrize("label", EXAMPLES)
@pytest.mark.parametrize("frame", ["{}", "key: {}\n", '{{"token":"{}"}}', "export X={} # mine", "it is `{}`."])
def test_an_example_is_replaced_by_its_mark(label: str, frame: str) -> None:
    counts: Counter[str] = Counter()
    text = redacted(frame.format(EXAMPLES[label]), counts)
    assert f"[redacted:{label}]" in text
    assert counts == {label: 1}
    assert redacted(text, Counter()) == text


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "00000000-0000-4000-8000-000000000001",
        "https://example.org/a/very/long/path/with-many-words-in-it?and=a&query=string",
        "sk-learn is a library, task-oriented-programming-interfaces are not keys",
        "postgres://user:${PASSWORD}@host and git@github.com:org/repo.git",
        "the class AbstractSingletonProxyFactoryBean of an enterprise",
        "-----BEGIN CERTIFICATE-----",
        "see http://localhost:8080/@scope/package",
    ],
)
def test_text_that_is_not_a_secret_is_kept(text: str) -> None:
    counts: Counter[str] = Counter()
    assert redacted(text, counts) == text
    assert not counts


PROSE = st.text(alphabet="abc XYZ_-./:=@\n'\"0é", max_size=30)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(PROSE, st.sampled_from(sorted(EXAMPLES.values()))), max_size=5),
    st.sampled_from(["", " ", "-", "_"]),
)
def test_the_fast_way_and_the_plain_one_agree(pieces: list[str], joint: str) -> None:
    text = joint.join(pieces)
    fast, plain = Counter[str](), Counter[str]()
    assert redacted(text, fast) == redacted_by_all_rules(text, plain)
    assert fast == plain


def test_every_text_of_a_turn_and_of_its_session_is_redacted() -> None:
    secret = EXAMPLES["github-token"]
    parts = (
        Part("text", text=secret),
        Part("tool_call", name="f", arguments={secret: [{"deep": f"x {secret}"}]}),
        Part("pointer", uri=f"https://example.org/?t={secret}"),
    )
    turn = Turn("00000000-0000-4000-8000-000000000001", "s", "user", parts, 0, (), "sha256:0")
    batch = redact(Batch(Session("s", "f", secret, {"summaries": {"x": secret}}), (turn,)))
    assert secret not in repr(batch)
    assert batch.redacted == {"github-token": 4}
    assert batch.turns[0].source_hash == turn.source_hash


def test_an_import_redacts_unless_its_options_say_otherwise() -> None:
    """Ruling 15: the source hash covers the unredacted record, so that both imports give the same turn."""
    data = jsonl([record(1, None, content=EXAMPLES["slack-token"]), call(2, 1, "c", token=EXAMPLES["npm-token"])])
    kept, marked = take(("x.jsonl", data), options=Options(redact=False)), take(("x.jsonl", data))
    assert marked.report.redacted == {"slack-token": 1, "npm-token": 1}
    assert marked.turns[1].parts[0].arguments == {"token": "[redacted:npm-token]"}
    assert kept.turns[0].parts[0].text == EXAMPLES["slack-token"]
    assert [turn.source_hash for turn in kept.turns] == [turn.source_hash for turn in marked.turns]
    assert [turn.content_hash for turn in kept.turns] != [turn.content_hash for turn in marked.turns]
