"""Some seventy things a person types who knows exactly what they saw, and where it is (`talks/`).

The talks hold near misses of each: twins in another case, the same name inside a longer one, the
same file name in another folder, the error beside it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ask:
    """A query as typed, the marker of what it must find first, and what of it stands there verbatim.

    `plain`: typed as plain text, because it holds signs of the query language.
    """

    query: str
    marker: str
    literal: str
    plain: bool = False


def _ask(query: str, marker: str, *, literal: str = "", plain: bool = False) -> Ask:
    return Ask(query, marker, literal or query.strip('"'), plain)


IDENTIFIERS = [
    _ask("parse_retry_after", "parse_retry_after"),
    _ask("parseRetryAfter", "parseRetryAfter"),
    _ask("TokenStore.refresh", "TokenStore.refresh"),
    _ask("useAuthSession", "useAuthSession"),
    _ask("useAuthSessionStorage", "storage-hook"),
    _ask("__init_subclass__", "init-subclass"),
    _ask("std::sync::mpsc::RecvTimeoutError", "RecvTimeoutError"),
    _ask("next_frame_unchecked", "next_frame_unchecked"),
    _ask("feature_flags.enable_async_export", "async-export"),
    _ask("idx_orders_customer_created", "idx"),
    _ask("contribution_margin_pct", "gross"),
    _ask("byte_fallback=True", "byte-fallback"),
    _ask("--max-old-space-size", "max-old-space"),
    _ask("--color-secondary-700", "contrast"),
    _ask("DATABASE_POOL_TIMEOUT", "pool-timeout"),
    _ask("HARBOR_REFRESH_LEEWAY_SECONDS", "leeway-seconds"),
    _ask('@app.post("/v2/sessions")', "app-post-v2", plain=True),
]
CODES = [
    _ask("RFC-7231", "rfc-7231"),
    _ask("CVE-2024-12345", "CVE"),
    _ask("ERR_MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"),
    _ask("E0382", "E0382"),
    _ask("TS2345", "TS2345"),
    _ask("0x80070005", "0x80070005"),
    _ask("SQLSTATE: 23505", "23505"),
    _ask("9f1c2ab", "sha-short"),
    _ask("c0ffee1fa2b3*", "sha-long", literal="c0ffee1fa2b3c4d5e6f708192a3b4c5d6e7f8091"),
    _ask("5d41402abc4b2a76b9719d911017c592", "bisect"),
    _ask("b7e23ec2-9d1f-4a53-8a60-2f9f0d6b1c11", "request-id"),
    _ask("3.12.4", "python-3.12.4"),
    _ask("v2.1.0-rc.3", "rc3"),
    _ask("db.staging:5433", "port-5433"),
    _ask("ECONNREFUSED 127.0.0.1:5433", "ECONNREFUSED"),
    _ask("checkout-7d9f8b6c5-x2x4q", "pod"),
    _ask("arn:aws:iam::123456789012:role/deployer", "arn"),
    _ask("clippy::too-many-arguments", "clippy"),
]
PATHS = [
    _ask("src/auth/token_store.py", "path-token_store"),
    _ask("file:src/auth/token_store.py LEEWAY", "path-token_store", literal="src/auth/token_store.py"),
    _ask("./scripts/deploy.sh", "deploy-sh"),
    _ask(r"C:\Users\ada\AppData\Local\Ferry\cache.db", "cache-db"),
    _ask("tests/unit/test_retry.py::test_http_date", "http-date"),
    _ask("packages/web/src/hooks/useAuthSession.ts", "web-hook-path"),
    _ask("/etc/nginx/conf.d/checkout.conf", "nginx"),
    _ask("terraform/modules/rds/main.tf", "rds-main"),
    _ask("Dockerfile.alpine", "alpine"),
    _ask(".github/workflows/release.yml", "release-yml"),
]
ERRORS = [
    _ask("TypeError: Cannot read properties of undefined (reading 'map')", "reading-map", plain=True),
    _ask(
        "sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) could not connect to server: "
        "Connection refused",
        "sqlalchemy",
        plain=True,
    ),
    _ask(
        "error[E0502]: cannot borrow `queue` as mutable because it is also borrowed as immutable",
        "E0502",
        plain=True,
    ),
    _ask("remaining connection slots are reserved for non-replication superuser connections", "slots"),
    _ask("Error: listen EADDRINUSE: address already in use :::3000", "EADDRINUSE"),
    _ask(
        "The process cannot access the file because it is being used by another process.", "used-by-another"
    ),
    _ask("npm ERR! peer dep missing: react@^18.2.0", "peer-dep"),
    _ask("Access is denied. (0x80070005)", "0x80070005", plain=True),
    _ask("x509: certificate has expired or is not yet valid", "x509-expired"),
    _ask("AssertionError: expected 30 but got 1800", "expected-30"),
    _ask("RuntimeError: dictionary changed size during iteration", "dictionary-changed"),
    _ask("KeyError: 'access_token'", "KeyError-access_token"),
    _ask("CUDA out of memory. Tried to allocate 2.50 GiB", "cuda-oom"),
    _ask("pandas.errors.SettingWithCopyWarning: A value is trying to be set on a copy", "SettingWithCopy"),
    _ask("loss nan grad_norm inf", "nan-loss"),
    _ask("keywords must not contain spaces", "keywords"),
    _ask("FX rate for CLF missing", "nightly"),
    _ask("expected 'DECLINED' to equal 'APPROVED'", "payment"),
]
PHRASES = [
    _ask('"clock skew"', "clock-skew"),
    _ask('"exponential backoff with full jitter"', "full-jitter"),
    _ask('"at least once delivery"', "at-least-once"),
    _ask('"never retry a POST"', "never-retry-a-post"),
    _ask('"the leader lease expired"', "lease"),
    _ask('"kubectl rollout undo"', "undo"),
    _ask('"git rebase --onto main"', "onto"),
]
SCRIPTS = [
    _ask("时钟偏差", "clock-zh"),
    _ask("连接池耗尽", "pool-zh"),
    _ask('"令牌刷新失败"', "refresh-zh"),
    _ask("認証トークン", "auth-token-ja"),
    _ask("データベースの移行", "migrate-ja"),
    _ask("リトライ回数", "retry-ja"),
    _ask("토큰 만료", "expiry-ko"),
]

ASKS = [*IDENTIFIERS, *CODES, *PATHS, *ERRORS, *PHRASES, *SCRIPTS]
