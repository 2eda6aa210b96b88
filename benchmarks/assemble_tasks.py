"""What people would have assembled, over the conversations of `tests/assemble/talks`.

Each task names, by the markers of the talks, what must be in and what must not, within a budget that
is tight. They were written before anything was tuned; those `aside` were looked at only at the end.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """A description, a budget, and the markers of what belongs in and of what does not."""

    description: str
    budget_tokens: int
    need: tuple[str, ...]
    unwanted: tuple[str, ...]
    aside: bool = False


def _task(description: str, budget_tokens: int, need: str, unwanted: str, *, aside: bool = False) -> Task:
    return Task(description, budget_tokens, tuple(need.split()), tuple(unwanted.split()), aside)


TASKS: tuple[Task, ...] = (
    _task(
        "Chrome extension auth flow, OAuth tokens", 850,
        "k-auth-options k-auth-choice k-pkce-write k-auth-done k-local-choice k-local-done k-loop-done",
        "k-build-noise h-key-plan l-rate-options l-login-edit",
    ),
    _task(
        "kestrel: where are the tokens stored and why was that changed", 650,
        "k-store-old k-local-ask k-local-options k-local-choice k-vault k-local-done",
        "k-tokens-v1 h-key-done l-rate-old",
    ),
    _task(
        "the refresh loop that signed people out, how it was fixed", 650,
        "k-loop-ask k-loop-cause k-loop-fail k-loop-why k-lock-save k-loop-done",
        "l-cookie-done k-dark l-login-done",
    ),
    _task(
        "web store rejection and the permissions in manifest.json", 650,
        "k-review-ask k-review-cause k-review-choice k-review-edit k-review-done k-manifest-new",
        "k-manifest-old k-manifest-mid",
    ),
    _task(
        "flaky playwright test on CI in the extension", 500,
        "k-flaky-ask k-flaky-error k-flaky-cause k-flaky-choice k-flaky-edit k-flaky-done",
        "l-flaky k-flaky-noise",
    ),
    _task(
        "why harrow uses Parquet and DuckDB instead of a database server", 550,
        "h-db-ask h-db-options h-db-choice h-layout h-db-done",
        "h-compact-v1 l-lock-cause",
    ),
    _task(
        "daylight saving time bug in the station readings, parse.py", 850,
        "h-dst-ask h-dst-cause h-dst-plan h-dst-edit h-dst-fail h-dst-why h-dst-fix h-dst-done",
        "h-dst-dups h-chart-done",
    ),
    _task(
        "current retry policy for fetching readings, dead letters", 550,
        "h-retry2-ask h-retry2-plan h-retry2-choice h-retry2-edit h-retry2-done",
        "h-oom-noise l-hook-replay",
    ),
    _task(
        "compaction runs out of memory", 650,
        "h-oom-ask h-oom-cause h-oom-still h-oom-try h-oom-edit2 h-oom-pass h-oom-done",
        "h-scan l-deploy-noise",
    ),
    _task(
        "how do we do migrations that add an index on a big table", 600,
        "l-lock-ask l-lock-cause l-lock-error l-lock-atomic l-lock-done l-lock-rule l-lock-ruled",
        "l-hook-idem h-db-options",
    ),
    _task(
        "rate limiting in lantern, what is in place now", 450,
        "l-rate2-ask l-rate2-options l-rate2-choice l-rate2-write l-rate2-done",
        "h-retry2-plan k-loop-cause",
    ),
    _task(
        "zero downtime deploys, the failing readiness probe, draining requests", 450,
        "l-deploy-choice l-deploy-cause l-deploy-fix l-deploy-done l-deploy-drain l-deploy-drained",
        "l-deploy-noise l-lock-log",
    ),
    _task(
        "stripe webhook signatures and double events", 550,
        "l-hook-ask l-hook-cause l-hook-edit l-hook-twice l-hook-idem l-hook-done",
        "l-hook-log l-login-plan",
    ),
    _task(
        "PKCE sign in for the extension and staff login with Google", 800,
        "k-auth-choice k-pkce-write k-auth-done l-login-ask l-login-plan l-login-edit l-login-done",
        "k-build-noise h-basic",
    ),
    _task(
        "everything about retries and rate limits that we took back later", 600,
        "h-retry-old h-retry2-ask h-retry2-choice h-retry2-done l-rate-old l-rate2-ask l-rate2-choice "
        "l-rate2-done",
        "k-loop-log h-oom-noise",
    ),
    _task(
        "memory use: compaction on the 4 GB machine; MemoryMax", 550,
        "h-oom-ask h-oom-cause h-oom-edit2 h-oom-done h-oom-limit h-oom-unit",
        "h-oom-noise h-db-options",
    ),
    _task(
        "tokens.ts single flight refresh", 700,
        "k-loop-cause k-single-flight k-loop-fail k-lock-save k-loop-pass k-loop-done",
        "h-key-done l-rate-options",
    ),
    _task(
        "sign-out and token revocation in kestrel, and the encrypted vault", 500,
        "k-logout k-logout-done k-local-choice k-vault k-local-done",
        "k-tokens-v1 h-basic-done l-rate-open",
    ),
    _task(
        '"CREATE INDEX CONCURRENTLY" error and the health check timeout', 550,
        "l-lock-error l-lock-atomic l-lock-done l-deploy-fail l-deploy-cause l-deploy-fix l-deploy-pass",
        "l-deploy-noise h-oom-still",
    ),
    _task(
        "folder layout of the weather data, late readings, nightly merge", 550,
        "h-db-choice h-layout h-db-done h-oom-edit2 h-oom-done",
        "h-oom-noise h-dst-dups",
    ),
    # -- kept aside until the end ------------------------------------------------------------------
    _task(
        "what we decided about the retry attempts and the circuit breaker", 550,
        "h-retry2-ask h-retry2-plan h-retry2-choice h-retry2-edit h-retry2-done",
        "l-rate2-write k-loop-done", aside=True,
    ),
    _task(
        "rolling versus blue-green", 400,
        "l-deploy-ask l-deploy-options l-deploy-choice l-deploy-edit l-deploy-done",
        "l-deploy-noise l-lock-ask", aside=True,
    ),
    _task(
        "users must sign in after every browser restart", 600,
        "k-local-ask k-local-options k-local-choice k-vault k-local-done",
        "k-loop-log h-basic-done", aside=True,
    ),
    _task(
        "the nginx limits and the scraper, from the first idea to what runs now", 550,
        "l-rate-ask l-rate-options l-rate-choice l-rate2-ask l-rate2-options l-rate2-choice l-rate2-done",
        "h-key-plan l-login-done", aside=True,
    ),
    _task(
        "badgeFor crash after dropping the tabs permission", 400,
        "k-review-choice k-review-fail k-review-why k-review-fix k-review-done",
        "k-flaky-noise k-manifest-old", aside=True,
    ),
    _task(
        "lost bookings after the Stripe upgrade, payments/views.py", 500,
        "l-hook-ask l-hook-cause l-hook-edit l-hook-pass l-hook-replay l-hook-done",
        "l-hook-log h-retry2-done", aside=True,
    ),
    _task(
        "summer time readings, and gaps in the chart", 650,
        "h-dst-ask h-dst-plan h-dst-fix h-dst-done h-chart-ask h-chart-edit h-chart-done",
        "h-dst-dups h-scan", aside=True,
    ),
    _task(
        "API token rotation for the weather provider", 300,
        "h-key-ask h-key-plan h-key-done",
        "k-loop-cause l-rate-options k-local-done", aside=True,
    ),
    _task(
        "lock timeout during the deploy of migration 0042, what became a rule", 600,
        "l-lock-ask l-lock-cause l-lock-edit l-lock-atomic l-lock-pass l-lock-rule l-lock-ruled",
        "l-lock-log l-deploy-fail", aside=True,
    ),
    _task(
        "offline outbox test and the service worker", 450,
        "k-flaky-ask k-flaky-error k-flaky-cause k-flaky-choice k-flaky-edit k-flaky-pass",
        "k-flaky-noise k-review-fail", aside=True,
    ),
)  # fmt: skip
