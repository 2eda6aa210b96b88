"""Secrets masked in what leaves the store: `[redacted:KIND]` in place of the whole of each.

>>> redact("export GITHUB_TOKEN=ghp_Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R").text
'export GITHUB_TOKEN=[redacted:github-token]'
"""

from recollect.redact.engine import Redacted, has_secret, redact, redact_object

__all__ = ["Redacted", "has_secret", "redact", "redact_object"]
