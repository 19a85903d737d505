"""Redaction: replaces secrets of well-known shapes by a labelled mark, and counts them.

A mark reads `[redacted:github-token]`. Only shapes count: each rule matches keys that their issuer made
recognisable. Nothing is guessed from how random a text looks, so the hash of a commit is not changed.

Why it is fast: nearly all shapes contain a run of `RUN` letters, digits, `_` and `-` in which one of a few prefixes is
at the start or after a `-`. It is cheap to map each byte to "token character or not" and to search for such a run. The
rules are applied only to texts with a suspicious run, or with one of a few fixed words. `redacted_by_all_rules` applies
all rules to every text; a test checks that the two agree.
"""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from slicebase.graph.turn import Part, Session
from slicebase.importers.values import Batch

RUN: Final = 20
_HEAD: Final = 3


class SecretRule(NamedTuple):
    """A shape of secrets. The group `secret` is replaced if the pattern has one, else the complete match.

    Every match contains one of the `words`. If `leads` is true, a match begins with one of them, at the start of a run
    of token characters or after a `-` in it; else every text is searched for the words.
    """

    label: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    leads: bool = True


def _rule(label: str, words: str, pattern: str) -> SecretRule:
    return SecretRule(label, tuple(words.split()), re.compile(rf"(?<![A-Za-z0-9_]){pattern}"))


def _anywhere(label: str, words: Iterable[str], pattern: str) -> SecretRule:
    return SecretRule(label, tuple(words), re.compile(pattern), leads=False)


_HEX: Final = "0123456789abcdef"
# A Discord token begins with the base64 of the bot's number: two digits decide its first three characters.
_DISCORD: Final = tuple(sorted({b64encode(f"{number:02}0".encode())[:_HEAD].decode() for number in range(100)}))

SECRET_RULES: Final[tuple[SecretRule, ...]] = (
    # clouds
    _rule("aws-access-key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9_])"),
    _anywhere(
        "aws-secret-key",
        ("aws_secret", "AWS_SECRET", "SecretAccessKey"),
        r"(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|SecretAccessKey)[\"']?\s*[=:]\s*[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    _rule("google-api-key", "AIza", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    _rule("google-oauth-secret", "GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{28}"),
    _anywhere("google-oauth-token", ("ya29.",), r"\bya29\.[0-9A-Za-z_-]{20,}"),
    _anywhere("azure-storage-key", ("AccountKey=",), r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    _anywhere("azure-client-secret", ("Q~",), r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])"),
    _rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _rule("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _rule("alibaba-key", "LTAI", r"LTAI[A-Za-z0-9]{17,21}(?![A-Za-z0-9_-])"),
    _rule("heroku-key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,}"),
    _rule("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    # code, packages, deployment
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{36,255}"),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glcbt- gloas- glft- glimt- glsoat- glagent- glffct-",
        r"gl(?:pat|dt|rt|ptt|cbt|oas|ft|imt|soat|agent|ffct)-[0-9A-Za-z_-]{20,}",
    ),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _rule("pypi-token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    _rule("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _rule("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{27,}"),
    _rule("terraform-token", "atlasv1", r"atlasv1\.[A-Za-z0-9_-]{60,}")._replace(leads=False),
    _anywhere("vault-token", ("hvs.", "hvb."), r"\bhv[sb]\.[A-Za-z0-9_-]{24,}"),
    _rule("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    _rule("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_-]{32,}"),
    # models
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[a-z]{3,6}\d\d-[A-Za-z0-9_-]{20,}"),
    _rule("openrouter-key", "sk-or-v1-", r"sk-or-v1-[a-f0-9]{64}"),
    _rule("openai-key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    _rule("openai-key", "sk-", r"sk-[A-Za-z0-9]{32,}(?![A-Za-z0-9_-])"),
    _rule("huggingface-token", "hf_", r"hf_[A-Za-z]{34}(?![A-Za-z0-9_])"),
    _rule("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{52}"),
    _rule("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,}"),
    _rule("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{48}"),
    _rule("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    # money
    _rule("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _anywhere("webhook-secret", ("whsec_",), r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    _rule("square-token", "sq0csp- sq0atp-", r"sq0(?:csp|atp)-[0-9A-Za-z_-]{22,}"),
    _rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    # messages
    _rule("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", r"xox[abcdeoprs]-[0-9A-Za-z-]{15,}"),
    _rule("slack-token", "xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{16,}"),
    _anywhere(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9+/]{20,})",
    ),
    _rule("twilio-key", " ".join(f"SK{digit}" for digit in _HEX), r"SK[0-9a-f]{32}(?![A-Za-z0-9_])"),
    _anywhere("sendgrid-key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _rule("mailgun-key", "key-", r"key-[0-9a-f]{32}(?![A-Za-z0-9_])"),
    _anywhere("telegram-token", (":AA",), r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{32,33}(?![A-Za-z0-9_-])"),
    _rule(
        "discord-token", " ".join(_DISCORD), r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
    ),
    _anywhere(
        "discord-webhook", ("/webhooks/",), r"discord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[A-Za-z0-9_-]{60,})"
    ),
    # services
    _rule("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _rule("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _rule("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _anywhere("sentry-token", ("sntry",), r"\bsntry[su]_[A-Za-z0-9+/=_-]{60,}"),
    _rule("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _anywhere("grafana-token", ("glc_eyJ",), r"\bglc_eyJ[A-Za-z0-9+/]{32,400}={0,3}"),
    _rule("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    # standards
    _rule("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{17,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    _rule("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _anywhere(
        "private-key",
        ("PRIVATE KEY",),
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<secret>(?:(?!-----)[\s\S]){32,20000})",
    ),
    _anywhere("password-in-url", ("://",), r"://[^\s/:@\"'<>`]{1,100}:(?P<secret>[^\s/@\"'<>`${%*\[][^\s/@\"'<>`]{2,200})@"),
    _anywhere(
        "authorization-header",
        ("uthorization",),
        r"[Aa]uthorization[\"']?\s*[:=]\s*[\"']?(?:Bearer|bearer|Basic|basic|Token|token)\s+"
        r"(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
    ),
)  # fmt: skip

_ALWAYS: Final = tuple((word, rule) for rule in SECRET_RULES if not rule.leads for word in rule.words)
_HEADS: Final = frozenset(
    word.partition("-")[0][:_HEAD].encode() for rule in SECRET_RULES if rule.leads for word in rule.words
)
_LEADING: Final = tuple(rule for rule in SECRET_RULES if rule.leads)
_IS_TOKEN: Final = (
    bytes(ord("a") if chr(byte).isalnum() or chr(byte) in "_-" else 32 for byte in range(128)) + b" " * 128
)
_LONG_RUN: Final = b"a" * RUN


def redacted(text: str, counts: Counter[str]) -> str:
    """Returns the text with every known secret replaced by its mark, and adds to `counts` by label."""
    for word, rule in _ALWAYS:
        if word in text:
            text = _replaced(text, rule, counts)
    if len(text) >= RUN and _has_suspicious_run(text):
        for rule in _LEADING:
            if any(word in text for word in rule.words):
                text = _replaced(text, rule, counts)
    return text


def redacted_by_all_rules(text: str, counts: Counter[str]) -> str:
    """Returns the same as `redacted`, but applies every rule to every text."""
    for rule in (*(rule for rule in SECRET_RULES if not rule.leads), *_LEADING):
        text = _replaced(text, rule, counts)
    return text


def _replaced(text: str, rule: SecretRule, counts: Counter[str]) -> str:
    def mark(found: re.Match[str]) -> str:
        counts[rule.label] += 1
        start, end = found.span("secret") if "secret" in rule.pattern.groupindex else found.span()
        whole = found.start()
        return f"{found[0][: start - whole]}[redacted:{rule.label}]{found[0][end - whole :]}"

    return rule.pattern.sub(mark, text)


def _has_suspicious_run(text: str) -> bool:
    data = text.encode("utf-8", "surrogatepass")
    mapped = data.translate(_IS_TOKEN)
    start = mapped.find(_LONG_RUN)
    while start >= 0:
        end = mapped.find(b" ", start)
        end = len(data) if end < 0 else end
        if any(piece[:_HEAD] in _HEADS for piece in data[start:end].split(b"-")):
            return True
        start = mapped.find(_LONG_RUN, end)
    return False


# Turns


def redact(batch: Batch) -> Batch:
    """Returns the batch without secrets in the texts of its turns and in the facts of its session.

    Only secrets in turns are counted, because every batch repeats the facts of the session.
    """
    counts: Counter[str] = Counter()
    turns = tuple(replace(turn, parts=tuple(_part(part, counts) for part in turn.parts)) for turn in batch.turns)
    session = _session(batch.session) if batch.session else None
    return replace(batch, session=session, turns=turns if counts else batch.turns, redacted=dict(counts))


def _part(part: Part, counts: Counter[str]) -> Part:
    before = counts.total()
    fields = {field: _value(getattr(part, field), counts) for field in ("text", "name", "arguments", "uri")}
    return replace(part, **fields) if counts.total() > before else part


def _session(session: Session) -> Session:
    counts: Counter[str] = Counter()
    return replace(session, title=_value(session.title, counts), facts=_value(session.facts, counts))


def _value(value: Any, counts: Counter[str]) -> Any:
    if isinstance(value, str):
        return redacted(value, counts)
    if isinstance(value, Mapping):
        return {redacted(key, counts): _value(inner, counts) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_value(inner, counts) for inner in value]
    return value
