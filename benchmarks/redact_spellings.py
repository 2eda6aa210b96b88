"""Spellings of secrets, written down before the rules that are to find them: where people put secrets, and how.

Every value is drawn when it is asked for, so nothing in this file is a secret. Rules were tuned on one half of
the spellings, by the checksum of their name, and scored on the other; `LATER` was written when that was done.
What was missed then was looked at, so for the next rules a new set is due. `BLIND` is such a set by now: what
an author wrote who did not know the rules, 77 kinds out of 360 spellings of which 83 were missed; the rules were
tuned on them, so they are no longer unseen. Of their values most are plain words, so that only the place tells.

In a spelling `@@` is the value, `@64@` the value in base64, `@wrap@` the value over several lines, `@%@`
percent-encoded. What must not be left of it is what `planted` gives beside the text.
"""

# ruff: noqa: E501 (one spelling is one line)

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

Draw = Callable[[random.Random], str]
STRETCH_CHARS = 12  # what is left of a secret counts if it is so long, or all of it
WRAP_CHARS = 38
AWS_ID = "AKIA" + "2K5QEXW3BZTD6YLM"  # no secret; what stands beside one


@dataclass(frozen=True)
class Spelling:
    """One way to write a secret: what it is and where it stands."""

    name: str
    draw: Draw
    text: str

    @property
    def group(self) -> str:
        if self.name.startswith("later: "):
            return "later"
        if self.name.startswith("blind: "):
            return "of a blind author"
        return "one half" if zlib.crc32(self.name.encode()) % 2 == 0 else "other half"

    def planted(self, seed: int) -> tuple[str, list[str]]:
        """The text with a value of that seed, and the stretches of which none may be left."""
        value = self.draw(random.Random(f"{seed} {self.name}"))
        text, stretches = self.text.replace("@aws@", AWS_ID), []
        for mark, write in _MARKS.items():
            if mark in text:
                written = write(value)
                text = text.replace(mark, written)
                stretches += _stretches(written)
        return text, stretches


def spellings() -> Iterator[Spelling]:
    """All of them; a name is used once."""
    for name, draw, text in (*ISSUED, *PLACED, *WORDED, *LATER, *BLIND):
        yield Spelling(name, draw, text)


def is_left(text: str, stretches: list[str]) -> bool:
    return any(each in text for each in stretches)


def _stretches(written: str) -> list[str]:
    lines = [line.strip() for line in written.replace("\\n", "\n").splitlines()]
    lines = [line for line in lines if line and not line.startswith("-----")]
    return [
        line[at : at + STRETCH_CHARS]
        for line in lines
        if len(line) >= min(8, len(written))
        for at in range(max(1, len(line) - STRETCH_CHARS + 1))
    ]


def _wrap(value: str) -> str:
    return "\n".join(value[at : at + WRAP_CHARS] for at in range(0, len(value), WRAP_CHARS))


_MARKS: dict[str, Callable[[str], str]] = {
    "@64@": lambda value: base64.b64encode(value.encode()).decode(),
    "@wrap@": _wrap,
    "@%@": lambda value: quote(value, safe=""),
    "@json@": lambda value: json.dumps(value)[1:-1],
    "@@": lambda value: value,
}

# -- values ---------------------------------------------------------------------------------------

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
WORD = ALNUM + "_-"
BASE64 = ALNUM + "+/"
SIGNS = ALNUM + "!#%^*+~"
WORDS = (
    "otter", "harbor", "maple", "copper", "violet", "lantern", "thunder", "pebble", "saddle", "walnut", "hunter",
    "correct", "horse", "battery", "staple", "winter", "dragon", "monkey", "falcon", "silver", "orange", "purple",
    "rocket", "coffee", "guitar", "wizard", "jungle", "planet", "marble", "ginger",
)  # fmt: skip


def of(letters: str, count: int, before: str = "", after: str = "") -> Draw:
    """So many letters; the first and last of them no sign, which is not told from what stands around."""
    ends = [each for each in letters if each.isalnum()]

    def draw(by: random.Random) -> str:
        middle = "".join(by.choices(letters, k=count - 2))
        return f"{before}{by.choice(ends)}{middle}{by.choice(ends)}{after}"

    return draw


def joined(*parts: Draw | str) -> Draw:
    return lambda by: "".join(part if isinstance(part, str) else part(by) for part in parts)


def uuid(by: random.Random) -> str:
    return "-".join("".join(by.choices(HEX, k=count)) for count in (8, 4, 4, 4, 12))


PLANTS = (
    "marigold", "foxglove", "snowdrop", "huckleberry", "clementine", "lavender", "dandelion", "buttercup", "figtree",
    "hazelnut", "rhubarb", "elderberry", "snapdragon", "larkspur", "chestnut", "mulberry", "Lavendel", "Zimtstern",
    "Schmetterling", "Buntspecht", "driftwood", "cobblestone", "lighthouse", "quicksilver", "kaleidoscope",
)  # fmt: skip


def plant(by: random.Random) -> str:
    """`marigold`"""
    return by.choice(PLANTS)


def two_plants(by: random.Random) -> str:
    """`marigold-foxglove`"""
    return by.choice("-_").join(by.sample(PLANTS, 2))


def phrase(by: random.Random) -> str:
    """`marigold and foxglove`"""
    return f"{by.choice(PLANTS)} and {by.choice(PLANTS)}"


def two_words(by: random.Random) -> str:
    """`correcthorse`"""
    return "".join(by.sample(WORDS, 2))


def word_number(by: random.Random) -> str:
    """`hunter27`"""
    return f"{by.choice(WORDS)}{by.randrange(20, 9999)}"


def word_inside(by: random.Random) -> str:
    """`hunter2x`"""
    return f"{by.choice(WORDS)}{by.randrange(2, 10)}{by.choice('kqvwxz')}"


def snake(by: random.Random) -> str:
    """`copper_maple_7`"""
    return "_".join([*by.sample(WORDS, 2), str(by.randrange(2, 99))])


def kebab(by: random.Random) -> str:
    """`copper-maple-walnut`"""
    return "-".join(by.sample(WORDS, 3))


def camel(by: random.Random) -> str:
    """`CopperMaple84`"""
    return "".join(each.title() for each in by.sample(WORDS, 2)) + str(by.randrange(10, 99))


def season(by: random.Random) -> str:
    """`Winter2031!`"""
    return f"{by.choice(WORDS).title()}{by.randrange(1950, 2060)}{by.choice('!?*')}"


def leet(by: random.Random) -> str:
    """`c0pp3r!m4ple`"""
    swap = str.maketrans("aeio", "4310")
    return f"{by.choice(WORDS).translate(swap)}{by.choice('!#*+')}{by.choice(WORDS)}"


def jwt(by: random.Random) -> str:
    claims = {"sub": "".join(by.choices(ALNUM, k=9)), "iat": by.randrange(10**9)}
    parts = [json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps(claims)]
    body = ".".join(base64.urlsafe_b64encode(each.encode()).decode().rstrip("=") for each in parts)
    return f"{body}.{of(WORD, 43)(by)}"


def key_body(by: random.Random) -> str:
    lines = ["".join(by.choices(BASE64, k=64)) for _ in range(9)]
    return "\n".join([*lines, "".join(by.choices(BASE64, k=30)) + "=="])


def key_block(name: str, between: str = "\n") -> Draw:
    def draw(by: random.Random) -> str:
        lines = [f"-----BEGIN {name}-----", *key_body(by).split("\n"), f"-----END {name}-----"]
        return between.join(lines)

    return draw


def login(by: random.Random) -> str:
    return base64.b64encode(f"ada:{of(ALNUM, 14)(by)}".encode()).decode()


# -- tokens of an issuer ---------------------------------------------------------------------------

Rows = tuple[tuple[str, Draw, str], ...]

ISSUED: Rows = (
    ("aws id", of(UPPER[:26] + "234567", 16, "AKIA"), "using key @@ of the deploy user"),
    ("aws temporary id", of(UPPER[:26] + "234567", 16, "ASIA"), "export AWS_ACCESS_KEY_ID=@@"),
    ("aws credentials file", of(BASE64, 40), "[default]\naws_access_key_id = @aws@\naws_secret_access_key = @@"),
    ("aws session token", of(BASE64, 300, "IQoJb3JpZ2luX2Vj"), "aws_session_token = @@"),
    ("aws session json", of(BASE64, 300, "FwoGZXIvYXdzE"), '{"Credentials": {"SessionToken": "@@"}}'),
    ("aws secret json", of(BASE64, 40), '{"AccessKey": {"SecretAccessKey": "@@", "Status": "Active"}}'),
    ("bedrock", of(BASE64, 128, "ABSK"), "AWS_BEARER_TOKEN_BEDROCK=@@"),
    ("bedrock in a sentence", of(BASE64, 128, "ABSK"), "the key @@ is for bedrock"),
    ("nvidia", of(WORD, 64, "nvapi-"), "nim login with @@"),
    ("cerebras", of(LOWER, 48, "csk-"), "client = Cerebras('@@')"),
    ("tavily", of(ALNUM, 32, "tvly-"), "TavilyClient('@@')"),
    ("tavily dev", of(ALNUM, 32, "tvly-dev-"), "search with @@"),
    ("netlify", of(ALNUM, 36, "nfp_"), "netlify deploy --auth @@"),
    ("brevo", joined(of(HEX, 64, "xkeysib-"), "-", of(ALNUM, 16)), "api-key: @@"),
    ("circleci personal", joined(of(ALNUM, 22, "CCIPAT_"), "_", of(HEX, 40)), "circleci setup --token @@"),
    ("circleci project", joined(of(ALNUM, 22, "CCIPRJ_"), "_", of(HEX, 40)), "curl -u @@: https://circleci.com/api"),
    ("sonar project", of(HEX, 40, "sqp_"), "sonar-scanner -Dsonar.login=@@"),
    ("sonar user", of(HEX, 40, "squ_"), "sonar.token=@@"),
    ("sonar global", of(HEX, 40, "sqa_"), "scanned with @@ yesterday"),
    ("sentry dsn", of(HEX, 32), "SENTRY_DSN=https://@@@o448822.ingest.sentry.io/5501234"),
    ("sentry dsn self hosted", of(HEX, 32), 'Sentry.init({ dsn: "https://@@@sentry.harbor.dev/42" })'),
    ("sentry dsn old", joined(of(HEX, 32)), "dsn = https://0f1e2d3c4b5a69788796a5b4c3d2e1f0:@@@sentry.io/1201"),
    ("sentry org", joined("sntrys_eyJpYXQiOjE2", of(ALNUM, 120), "_", of(BASE64, 43)), "sentry-cli --auth-token @@ info"),
    ("sentry user", of(HEX, 64, "sntryu_"), "auth.token=@@"),
    ("teams webhook", joined(uuid, "@", uuid, "/IncomingWebhook/", of(HEX, 32), "/", uuid), "https://harbor.webhook.office.com/webhookb2/@@"),
    ("teams webhook old", joined(uuid, "@", uuid, "/IncomingWebhook/", of(HEX, 32), "/", uuid), "https://outlook.office.com/webhook/@@"),
    ("power automate", of(WORD, 43), "https://prod-12.westeurope.logic.azure.com:443/workflows/8f0d/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers&sv=1.0&sig=@@"),
    ("slack bot", joined("xoxb-", of(string.digits, 12), "-", of(string.digits, 13), "-", of(ALNUM, 24)), "slack said @@ is revoked"),
    ("slack app", joined("xapp-1-A0", of(UPPER, 9), "-", of(string.digits, 13), "-", of(HEX, 64)), "socket mode @@"),
    ("slack config", joined("xoxe.xoxp-1-", of(ALNUM, 160)), "config token @@"),
    ("slack webhook", joined("T0", of(UPPER, 8), "/B0", of(UPPER, 8), "/", of(ALNUM, 24)), "curl https://hooks.slack.com/services/@@"),
    ("discord webhook", of(WORD, 68), "https://discord.com/api/webhooks/1043219876543210123/@@"),
    ("discord webhook canary", of(WORD, 68), "https://canary.discordapp.com/api/v10/webhooks/1043219876543210123/@@"),
    ("discord bot", lambda by: f"{base64.b64encode(str(by.randrange(10**17, 10**18)).encode()).decode().rstrip('=')}.{of(WORD, 6)(by)}.{of(WORD, 38)(by)}", "await bot.start('@@')"),
    ("telegram", joined(of(string.digits, 10), ":AA", of(WORD, 33)), "bot @@ answers"),
    ("github classic", of(ALNUM, 36, "ghp_"), "git remote set-url origin https://ada:@@@github.com/ada/harbor.git"),
    ("github oauth", of(ALNUM, 36, "gho_"), "oauth_token: @@"),
    ("github fine grained", joined("github_pat_", of(UPPER, 22), "_", of(ALNUM, 59)), "echo @@ | gh auth login --with-token"),
    ("github refresh", of(ALNUM, 76, "ghr_"), "refresh @@"),
    ("github server new form", of(ALNUM, 36, "ghs_"), "https://x-access-token:@@@github.com/ada/harbor"),
    ("gitlab personal", of(WORD, 20, "glpat-"), "curl --header 'PRIVATE-TOKEN: @@' https://gitlab.com"),
    ("gitlab runner", of(WORD, 20, "glrt-"), "gitlab-runner register --token @@"),
    ("gitlab deploy", of(WORD, 20, "gldt-"), "deployed with @@ today"),
    ("gitlab feed", of(WORD, 20, "glft-"), "https://gitlab.com/harbor.atom?feed_token=@@"),
    ("gitlab job", joined("glcbt-64_", of(WORD, 20)), "CI_JOB_TOKEN=@@"),
    ("gitlab trigger", of(HEX, 40, "glptt-"), "curl -F token=@@ -F ref=main https://gitlab.com"),
    ("gitlab agent", of(WORD, 50, "glagent-"), "config.token=@@"),
    ("gitlab incoming mail", of(LOWER, 25, "glimt-"), "mail to incoming+@@"),
    ("gitlab runner old", of(WORD, 20, "GR1348941"), "registration-token @@"),
    ("npm", of(ALNUM, 36, "npm_"), "npm publish as @@"),
    ("pypi", of(WORD, 160, "pypi-AgEIcHlwaS5vcmcC"), "uv publish --token @@"),
    ("testpypi", of(WORD, 160, "pypi-AgENdGVzdC5weXBpLm9yZw"), "password = @@"),
    ("docker hub", of(WORD, 27, "dckr_pat_"), "docker says @@ expired"),
    ("docker hub organisation", of(WORD, 32, "dckr_oat_"), "echo @@ | docker login --password-stdin"),
    ("hugging face", of(string.ascii_letters, 34, "hf_"), "login(token='@@')"),
    ("openai old", joined(of(ALNUM, 20, "sk-"), "T3BlbkFJ", of(ALNUM, 20)), "openai.api_key = '@@'"),
    ("openai project", joined("sk-proj-", of(WORD, 74), "T3BlbkFJ", of(WORD, 74)), "the key @@ was rotated"),
    ("openai service", joined("sk-svcacct-", of(WORD, 58), "T3BlbkFJ", of(WORD, 58)), "OPENAI=@@"),
    ("openai admin", joined("sk-admin-", of(WORD, 58), "T3BlbkFJ", of(WORD, 58)), "admin: @@"),
    ("anthropic", of(WORD, 93, "sk-ant-api03-", "AA"), "x-api-key: @@"),
    ("anthropic oauth", of(WORD, 93, "sk-ant-oat01-", "AA"), "CLAUDE_CODE_OAUTH_TOKEN=@@"),
    ("anthropic admin", of(WORD, 93, "sk-ant-admin01-", "AA"), "as admin @@"),
    ("groq", of(ALNUM, 52, "gsk_"), "groq @@"),
    ("perplexity", of(ALNUM, 48, "pplx-"), "perplexity @@"),
    ("replicate", of(ALNUM, 37, "r8_"), "replicate @@"),
    ("xai", of(ALNUM, 80, "xai-"), "grok @@"),
    ("deepseek", of(HEX, 32, "sk-"), "deepseek with @@"),
    ("mistral", of(ALNUM, 32), "MISTRAL_API_KEY=@@"),
    ("cohere", of(ALNUM, 40), "co = cohere.Client('@@')"),
    ("openrouter", of(HEX, 64, "sk-or-v1-"), "openrouter @@"),
    ("fireworks", of(ALNUM, 24, "fw_"), "fireworks @@"),
    ("voyage", of(WORD, 43, "pa-"), "VOYAGE_API_KEY=@@"),
    ("jina", of(WORD, 60, "jina_"), "embedding by @@"),
    ("exa", uuid, "EXA_API_KEY=@@"),
    ("firecrawl", of(HEX, 32, "fc-"), "FirecrawlApp(api_key='@@')"),
    ("eleven labs", of(HEX, 48, "sk_"), "xi-api-key: @@"),
    ("baseten", joined(of(ALNUM, 8), ".", of(ALNUM, 32)), "Authorization: Api-Key @@"),
    ("langsmith", joined("lsv2_pt_", of(HEX, 32), "_", of(HEX, 10)), "LANGSMITH=@@"),
    ("databricks", of(HEX, 32, "dapi"), "databricks @@"),
    ("databricks with number", of(HEX, 32, "dapi", "-2"), "databricks configure with @@ now"),
    ("linear", of(ALNUM, 40, "lin_api_"), "Authorization: @@"),
    ("linear oauth", of(HEX, 64, "lin_oauth_"), "linear @@"),
    ("notion new", of(ALNUM, 46, "ntn_"), "notion @@"),
    ("notion old", of(ALNUM, 43, "secret_"), "new Client({ auth: '@@' })"),
    ("figma", of(WORD, 40, "figd_"), "X-Figma-Token: @@"),
    ("shopify admin", of(HEX, 32, "shpat_"), "X-Shopify-Access-Token: @@"),
    ("shopify secret", of(HEX, 32, "shpss_"), "shop secret @@"),
    ("shopify custom", of(HEX, 32, "shpca_"), "shop @@"),
    ("square", of(WORD, 60, "EAAA"), "square @@"),
    ("square oauth", of(WORD, 43, "sq0csp-"), "square secret @@"),
    ("planetscale password", of(WORD, 43, "pscale_pw_"), "mysql -h aws.connect.psdb.cloud -u x7 -p@@"),
    ("planetscale token", of(WORD, 43, "pscale_tkn_"), "pscale --service-token @@"),
    ("doppler", of(ALNUM, 43, "dp.pt."), "doppler @@"),
    ("doppler service", joined("dp.st.prd.", of(ALNUM, 43)), "DOPPLER @@"),
    ("vault", of(WORD, 92, "hvs."), "vault login @@"),
    ("vault batch", of(WORD, 140, "hvb."), "batch @@"),
    ("vault old", of(ALNUM, 24, "s."), "X-Vault-Token: @@"),
    ("terraform cloud", joined(of(ALNUM, 14), ".atlasv1.", of(WORD, 67)), 'credentials "app.terraform.io" {\n  token = "@@"\n}'),
    ("grafana cloud", of(BASE64, 100, "glc_eyJ"), "grafana @@"),
    ("grafana account", joined("glsa_", of(ALNUM, 32), "_", of(HEX, 8)), "grafana @@"),
    ("new relic user", of(UPPER, 27, "NRAK-"), "newrelic @@"),
    ("new relic licence", of(HEX, 36, after="NRAL"), "license_key: @@"),
    ("new relic browser", of(HEX, 19, "NRJS-"), "licenseKey:'@@'"),
    ("new relic insights", of(WORD, 32, "NRII-"), "X-Insert-Key: @@"),
    ("datadog api", of(HEX, 32), "DD_API_KEY=@@"),
    ("datadog app", of(HEX, 40), "DD-APPLICATION-KEY: @@"),
    ("datadog new", of(ALNUM, 34, "ddapp_"), "dd @@"),
    ("dynatrace", joined("dt0c01.", of(UPPER, 24), ".", of(UPPER, 64)), "Authorization: Api-Token @@"),
    ("postman", joined("PMAK-", of(HEX, 24), "-", of(HEX, 34)), "newman --postman-api-key @@"),
    ("pulumi", of(HEX, 40, "pul-"), "pulumi @@"),
    ("fly", of(BASE64, 160, "fm2_"), 'FLY_API_TOKEN="FlyV1 @@"'),
    ("fly old", of(WORD, 43, "fo1_"), "fly auth @@"),
    ("supabase", of(HEX, 40, "sbp_"), "supabase login --token @@"),
    ("supabase secret", of(WORD, 31, "sb_secret_"), "supabase @@"),
    ("vercel", of(ALNUM, 24), "VERCEL_TOKEN=@@"),
    ("vercel blob", joined("vercel_blob_rw_", of(ALNUM, 16), "_", of(ALNUM, 30)), "blob @@"),
    ("render", of(ALNUM, 28, "rnd_"), "render @@"),
    ("digital ocean", of(HEX, 64, "dop_v1_"), "doctl @@"),
    ("digital ocean oauth", of(HEX, 64, "doo_v1_"), "doctl @@"),
    ("heroku new", joined("HRKU-AA", of(WORD, 58)), "heroku @@"),
    ("heroku old", uuid, "HEROKU_API_KEY=@@"),
    ("cloudflare", of(WORD, 40), "CLOUDFLARE_API_TOKEN=@@"),
    ("cloudflare global", of(HEX, 37), "X-Auth-Key: @@"),
    ("cloudflare origin", joined("v1.0-", of(HEX, 24), "-", of(HEX, 146)), "X-Auth-User-Service-Key: @@"),
    ("atlassian", of(BASE64.replace("+/", "_-"), 180, "ATATT3xFfGF0", "=4C1A2B3D"), "curl -u ada@harbor.dev:@@ https://harbor.atlassian.net"),
    ("bitbucket", of(ALNUM, 32, "ATBB"), "git clone https://ada:@@@bitbucket.org/ada/harbor"),
    ("airtable", joined("pat", of(ALNUM, 14), ".", of(HEX, 64)), "airtable @@"),
    ("airtable old", of(ALNUM, 14, "key"), "AIRTABLE_API_KEY=@@"),
    ("asana", joined("1/", of(string.digits, 16), ":", of(HEX, 32)), "ASANA_ACCESS_TOKEN=@@"),
    ("mapbox", joined("sk.eyJ1Ijoi", of(ALNUM, 60), ".", of(WORD, 22)), "mapbox @@"),
    ("algolia", of(HEX, 32), "X-Algolia-API-Key: @@"),
    ("okta", of(WORD, 40, "00"), "Authorization: SSWS @@"),
    ("auth0", of(WORD, 64), "AUTH0_CLIENT_SECRET='@@'"),
    ("artifactory", of(ALNUM, 69, "AKCp"), "X-JFrog-Art-Api: @@"),
    ("artifactory reference", of(ALNUM, 59, "cmVmdGtu"), "jf c add --access-token @@"),
    ("snyk", uuid, "SNYK_TOKEN=@@"),
    ("codecov", uuid, "bash <(curl -s https://codecov.io/bash) -t @@"),
    ("codecov variable", uuid, "CODECOV_TOKEN: @@"),
    ("coveralls", of(ALNUM, 33), "COVERALLS_REPO_TOKEN=@@"),
    ("stripe live", of(ALNUM, 99, "sk_live_51"), "stripe @@"),
    ("stripe restricted", of(ALNUM, 99, "rk_live_51"), "stripe @@"),
    ("stripe webhook", of(ALNUM, 32, "whsec_"), "endpoint secret @@"),
    ("twilio key", of(HEX, 32, "SK"), "twilio @@"),
    ("twilio token", of(HEX, 32), "TWILIO_AUTH_TOKEN=@@"),
    ("sendgrid", joined("SG.", of(WORD, 22), ".", of(WORD, 43)), "sendgrid @@"),
    ("mailgun", of(HEX, 32, "key-"), "curl -s --user 'api:@@' https://api.mailgun.net"),
    ("mailgun new", joined(of(HEX, 32), "-", of(HEX, 8), "-", of(HEX, 8)), "MAILGUN_API_KEY=@@"),
    ("mailchimp", of(HEX, 32, after="-us14"), "mailchimp @@"),
    ("postmark", uuid, "X-Postmark-Server-Token: @@"),
    ("resend", joined("re_", of(ALNUM, 8), "_", of(ALNUM, 24)), "new Resend('@@')"),
    ("clerk", of(ALNUM, 42, "sk_live_"), "CLERK @@"),
    ("google api", of(WORD, 35, "AIza"), "https://maps.googleapis.com/maps/api/js?key=@@"),
    ("google oauth secret", of(WORD, 28, "GOCSPX-"), '"client_secret":"@@"'),
    ("google access", of(WORD, 140, "ya29.a0"), "Authorization: Bearer @@"),
    ("google refresh", of(WORD, 90, "1//0"), "refresh_token=@@"),
    ("google service account", key_block("PRIVATE KEY", "\\n"), '{"type": "service_account", "project_id": "harbor", "private_key": "@@\\n", "client_email": "a@harbor.iam"}'),
    ("azure storage", of(BASE64, 86, after="=="), "DefaultEndpointsProtocol=https;AccountName=harbor;AccountKey=@@;EndpointSuffix=core.windows.net"),
    ("azure service bus", of(BASE64, 43, after="="), "Endpoint=sb://harbor.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@@"),
    ("azure sas", of(ALNUM, 42, after="%3D"), "https://harbor.blob.core.windows.net/c?sv=2022-11-02&ss=b&srt=co&sp=rl&se=2031-01-01&sig=@@"),
    ("azure client secret", joined(of(ALNUM, 3), "8Q~", of(WORD + "~.", 34)), "AZURE_CLIENT_SECRET=@@"),
    ("azure devops", of("abcdefghijklmnopqrstuvwxyz234567", 52), "AZURE_DEVOPS_EXT_PAT=@@"),
    ("azure functions", of(WORD, 54, after="=="), "https://harbor.azurewebsites.net/api/run?code=@@"),
    ("azure cognitive", of(HEX, 32), "Ocp-Apim-Subscription-Key: @@"),
    ("tailscale", joined("tskey-auth-k", of(ALNUM, 11), "CNTRL-", of(ALNUM, 32)), "tailscale up --authkey @@"),
    ("ngrok", joined("2", of(ALNUM, 26), "_", of(ALNUM, 21)), "ngrok config add-authtoken @@"),
    ("1password", joined("ops_eyJ", of(WORD, 300)), "OP_SERVICE_ACCOUNT_TOKEN=@@"),
    ("1password secret key", joined("A3-", of(UPPER, 6), "-", of(UPPER, 11), "-", of(UPPER, 5), "-", of(UPPER, 5), "-", of(UPPER, 5)), "op account add --secret-key @@"),
    ("age", of(UPPER, 58, "AGE-SECRET-KEY-1"), "# public key: age1x\n@@"),
    ("rubygems", of(HEX, 48, "rubygems_"), ":rubygems_api_key: @@"),
    ("crates.io", of(ALNUM, 32, "cio"), "cargo login @@"),
    ("nuget", of(LOWER, 43, "oy2"), "dotnet nuget push x.nupkg -k @@"),
    ("hcp secret", of(WORD, 64), "HCP_CLIENT_SECRET=@@"),
    ("contentful", of(WORD, 43, "CFPAT-"), "contentful login --management-token @@"),
    ("launchdarkly", joined("sdk-", uuid), "LDClient('@@')"),
    ("launchdarkly api", joined("api-", uuid), "LAUNCHDARKLY_ACCESS_TOKEN=@@"),
    ("segment", of(WORD, 43, "sgp_"), "segment @@"),
    ("dropbox", of(WORD, 130, "sl.B"), "dropbox @@"),
    ("facebook", of(ALNUM, 160, "EAAB"), "https://graph.facebook.com/me?access_token=@@"),
    ("paypal", of(WORD, 79, "E"), "PAYPAL_CLIENT_SECRET=@@"),
    ("braintree", joined("$production$", of(LOWER, 16), "$", of(HEX, 32)), "braintree access_token@@"),
    ("plaid", joined("access-production-", uuid), "plaid @@"),
    ("coinbase", of(ALNUM, 64), "COINBASE_API_SECRET=@@"),
    ("zapier hook", joined(of(string.digits, 8), "/", of(LOWER, 7)), "https://hooks.zapier.com/hooks/catch/@@/"),
    ("ifttt", of(WORD, 43), "https://maker.ifttt.com/trigger/door/with/key/@@"),
    ("google chat", joined("AIza", of(WORD, 35), "&token=", of(WORD, 43)), "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=@@"),
    ("pagerduty", of(WORD, 20), "PAGERDUTY_TOKEN=u+@@"),
    ("opsgenie", uuid, "Authorization: GenieKey @@"),
    ("honeycomb", of(ALNUM, 22), "x-honeycomb-team: @@"),
    ("rollbar", of(HEX, 32), "ROLLBAR_ACCESS_TOKEN=@@"),
    ("bugsnag", of(HEX, 32), "BUGSNAG_API_KEY: @@"),
    ("buildkite", of(HEX, 40, "bkua_"), "buildkite @@"),
    ("travis", of(WORD, 22), "travis login --github-token @@"),
    ("deno", of(ALNUM, 36, "ddp_"), "deployctl deploy --token=@@"),
    ("neon", of(LOWER, 64, "napi_"), "neonctl --api-key @@"),
    ("upstash", of(BASE64, 60, after="="), 'UPSTASH_REDIS_REST_TOKEN="@@"'),
    ("turso", jwt, "turso db tokens: @@"),
    ("pinecone", joined("pcsk_", of(ALNUM, 6), "_", of(ALNUM, 63)), "pinecone @@"),
    ("weights and biases", of(HEX, 40), "wandb login @@"),
    ("kaggle", of(HEX, 32), '{"username":"ada","key":"@@"}'),
    ("prefect", of(ALNUM, 36, "pnu_"), "prefect cloud login -k @@"),
    ("confluent", of(BASE64, 64), "sasl.password=@@"),
    ("aiven", of(BASE64, 372, "aivenv1"), "avn @@"),
    ("typeform", of(WORD, 59, "tfp_"), "typeform @@"),
    ("intercom", of(BASE64, 59, "dG9r", "="), "INTERCOM_ACCESS_TOKEN=@@"),
    ("hubspot", joined("pat-na1-", uuid), "hubspot @@"),
    ("salesforce", joined("00D", of(ALNUM, 12), "!AQ", of(ALNUM + "._", 90)), "sf org login access-token @@"),
    ("zendesk", of(ALNUM, 40), "curl -u ada@harbor.dev/token:@@ https://harbor.zendesk.com"),
    ("freshdesk", of(ALNUM, 20), "curl -u @@:X https://harbor.freshdesk.com"),
    ("monday", jwt, "monday @@"),
    ("clickup", joined("pk_", of(string.digits, 8), "_", of(UPPER, 32)), "clickup @@"),
    ("readme", of(LOWER, 70, "rdme_"), "rdme @@"),
    ("sourcegraph", joined("sgp_", of(HEX, 16), "_", of(HEX, 40)), "SRC_ACCESS_TOKEN=@@"),
    ("cursor", of(HEX, 64, "key_"), "CURSOR_API_KEY=@@"),
    ("posthog", of(ALNUM, 43, "phx_"), "posthog @@"),
    ("mongodb atlas", uuid, "MONGODB_ATLAS_PRIVATE_KEY=@@"),
    ("ghost", joined(of(HEX, 24), ":", of(HEX, 64)), "GHOST_ADMIN_API_KEY=@@"),
    ("lob", of(HEX, 35, "live_"), "lob @@"),
    ("adafruit", of(ALNUM, 28, "aio_"), "adafruit @@"),
    ("infracost", of(ALNUM, 32, "ico-"), "infracost @@"),
    ("scaleway", uuid, "SCW_SECRET_KEY=@@"),
    ("hetzner", of(ALNUM, 64), "HCLOUD_TOKEN=@@"),
    ("linode", of(HEX, 64), "LINODE_TOKEN=@@"),
    ("vultr", of(UPPER, 36), "VULTR_API_KEY=@@"),
    ("ovh", of(ALNUM, 32), "consumer_key=@@"),
    ("alibaba", of(ALNUM, 30), "aliyun_access_key_secret = @@"),
    ("alibaba id", of(ALNUM, 20, "LTAI"), "aliyun @@"),
    ("yandex", of(WORD, 38, "AQVN"), "yandex @@"),
    ("tencent", of(ALNUM, 32, "AKID"), "tencent @@"),
)  # fmt: skip

# -- places -----------------------------------------------------------------------------------------

STRONG = of(SIGNS, 14)
TOKEN = of(ALNUM, 32)

PLACED: Rows = (
    ("sh export", STRONG, "export DB_PASSWORD='@@'"),
    ("sh export double", STRONG, 'export DB_PASSWORD="@@"'),
    ("sh before a command", TOKEN, "API_TOKEN=@@ ./deploy.sh"),
    ("sh pgpassword", word_number, "PGPASSWORD=@@ psql -h db.local -U ada"),
    ("sh mysql_pwd", word_number, "MYSQL_PWD=@@ mysqldump harbor"),
    ("sh rediscli_auth", TOKEN, "REDISCLI_AUTH=@@ redis-cli ping"),
    ("sh read", STRONG, "echo '@@' | sudo -S apt update"),
    ("sh pass pipe", STRONG, "echo '@@' | docker login -u ada --password-stdin"),
    ("sh here string", STRONG, "sudo -S true <<< '@@'"),
    ("sh declare", TOKEN, "declare -x GH_TOKEN=\"@@\""),
    ("sh default", TOKEN, 'TOKEN="${TOKEN:-@@}"'),
    ("fish set", TOKEN, "set -x API_TOKEN @@"),
    ("fish set gx", TOKEN, "set -gx OPENAI_KEY '@@'"),
    ("csh setenv", TOKEN, "setenv SECRET_KEY @@"),
    ("cmd set", TOKEN, "set API_KEY=@@"),
    ("cmd set quoted", STRONG, 'set "DB_PASSWORD=@@"'),
    ("cmd setx", TOKEN, "setx API_TOKEN \"@@\" /M"),
    ("powershell env", TOKEN, '$env:API_TOKEN = "@@"'),
    ("powershell env single", word_number, "$env:DB_PASSWORD='@@'"),
    ("powershell env braces", TOKEN, "${env:API_TOKEN} = '@@'"),
    ("powershell secure string", STRONG, "ConvertTo-SecureString '@@' -AsPlainText -Force"),
    ("powershell secure string named", STRONG, 'ConvertTo-SecureString -String "@@" -AsPlainText -Force'),
    ("powershell dotnet", TOKEN, '[Environment]::SetEnvironmentVariable("API_TOKEN", "@@", "User")'),
    ("powershell variable", STRONG, '$password = "@@"'),
    ("powershell credential", STRONG, "New-Object PSCredential('ada', (ConvertTo-SecureString '@@' -AsPlainText))"),
    ("nushell", TOKEN, "$env.API_TOKEN = '@@'"),
    ("env pat", TOKEN, "GITHUB_PAT=@@"),
    ("env pat azure", of(LOWER, 52), "AZDO_PAT=@@"),
    ("env pass", STRONG, "SMTP_PASS=@@"),
    ("env pass word", word_number, "DB_PASS=@@"),
    ("env pw", STRONG, "ADMIN_PW=@@"),
    ("env auth", TOKEN, "REDIS_AUTH=@@"),
    ("env apikey", TOKEN, "STRIPEAPIKEY=@@"),
    ("env credentials", TOKEN, "REGISTRY_CREDENTIALS=@@"),
    ("env dsn", STRONG, "DATABASE_URL=postgresql+asyncpg://ada:@%@@db.local/harbor"),
    ("env key only", TOKEN, "ENCRYPTION_KEY=@@"),
    ("env django", of(ALNUM + "!@#$%^&*(-_=+)", 50), "SECRET_KEY='@@'"),
    ("env rails", of(HEX, 128), "SECRET_KEY_BASE=@@"),
    ("env rails master", of(HEX, 32), "RAILS_MASTER_KEY=@@"),
    ("env laravel", of(BASE64, 43, "base64:", "="), "APP_KEY=@@"),
    ("env salt", of(ALNUM, 32), "AUTH_SALT='@@'"),
    ("env hex token", of(HEX, 40), "SLACK_SIGNING_SECRET=@@"),
    ("env webhook secret", of(ALNUM, 20), "WEBHOOK_SECRET=@@"),
    ("env uuid token", uuid, "LOGGLY_TOKEN=@@"),
    ("env jwt secret words", kebab, "JWT_SECRET=@@"),
    ("yaml", STRONG, "database:\n  user: ada\n  password: '@@'"),
    ("yaml bare", TOKEN, "api_token: @@"),
    ("yaml list env", TOKEN, "env:\n  - name: API_TOKEN\n    value: @@"),
    ("yaml list env quoted", STRONG, "- name: DB_PASSWORD\n  value: \"@@\""),
    ("yaml folded", of(BASE64, 120), "api_secret: >-\n  @wrap@"),
    ("yaml literal", of(ALNUM, 40), "auth_token: |\n  @@"),
    ("yaml flow", STRONG, "{host: db, password: '@@', port: 5432}"),
    ("yaml anchor", STRONG, "password: &pw @@"),
    ("yaml tag", STRONG, "password: !!str @@"),
    ("yaml comment", STRONG, "# password: @@"),
    ("toml", STRONG, '[db]\npassword = "@@"'),
    ("toml dotted", TOKEN, 'auth.token = "@@"'),
    ("toml literal", TOKEN, "api-key = '@@'"),
    ("toml triple", TOKEN, 'secret = """@@"""'),
    ("toml inline", STRONG, 'db = { user = "ada", password = "@@" }'),
    ("ini", word_number, "[client]\nuser = ada\npassword = @@"),
    ("ini quoted", STRONG, '[client]\npassword="@@"'),
    ("ini colon", STRONG, "[db]\npassword: @@"),
    ("ini semicolon", STRONG, ";password=@@"),
    ("properties", word_number, "spring.datasource.password=@@"),
    ("properties spaced", STRONG, "spring.datasource.password = @@"),
    ("properties colon", TOKEN, "api.token: @@"),
    ("properties keystore", camel, "server.ssl.key-store-password=@@"),
    ("properties jdbc", STRONG, "jdbc.password=@@"),
    ("json", word_inside, '{"user": "ada", "password": "@@"}'),
    ("json camel", TOKEN, '{"accessToken":"@@","expiresIn":3600}'),
    ("json refresh", TOKEN, '{"refresh_token": "@@"}'),
    ("json id token", jwt, '{"id_token":"@@"}'),
    ("json pass", STRONG, '{"auth": {"user": "ada", "pass": "@json@"}}'),
    ("json nested", TOKEN, '{"mcpServers": {"x": {"env": {"X_API_KEY": "@@"}}}}'),
    ("json escaped", STRONG, '{"body": "{\\"password\\": \\"@json@\\"}"}'),
    ("json escaped twice", TOKEN, '"{\\\\\\"api_key\\\\\\": \\\\\\"@@\\\\\\"}"'),
    ("json single quotes", STRONG, "{'user': 'ada', 'passwd': '@@'}"),
    ("json array", STRONG, '{"args": ["--password", "@@"]}'),
    ("json array token", TOKEN, '["npx", "server", "--api-key", "@@"]'),
    ("json array equals", TOKEN, '["server", "--token=@@"]'),
    ("json multi line", TOKEN, '{\n  "token":\n    "@@"\n}'),
    ("xml", word_number, "<password>@@</password>"),
    ("xml attribute", STRONG, '<user name="ada" password="@@"/>'),
    ("xml cdata", STRONG, "<password><![CDATA[@@]]></password>"),
    ("xml namespace", STRONG, "<db:password>@@</db:password>"),
    ("xml app setting", TOKEN, '<add key="ApiKey" value="@@" />'),
    ("xml app setting password", STRONG, '<add key="SmtpPassword" value="@@"/>'),
    ("xml connection string", word_number, '<add name="Db" connectionString="Server=db;User Id=ada;Password=@@;" />'),
    ("xml maven", STRONG, "<server><id>x</id><username>ada</username><password>@@</password></server>"),
    ("xml plist", TOKEN, "<key>ApiToken</key>\n<string>@@</string>"),
    ("xml property", STRONG, '<property name="password" value="@@"/>'),
    ("xml property body", STRONG, '<property name="hibernate.connection.password">@@</property>'),
    ("xml nuget", STRONG, '<add key="ClearTextPassword" value="@@" />'),
    ("docker env", STRONG, "ENV DB_PASSWORD=@@"),
    ("docker env old", TOKEN, "ENV API_TOKEN @@"),
    ("docker arg", TOKEN, "ARG NPM_TOKEN=@@"),
    ("docker run", word_number, "docker run -e POSTGRES_PASSWORD=@@ -d postgres"),
    ("docker run env", STRONG, "docker run --env MYSQL_ROOT_PASSWORD='@@' mysql"),
    ("docker build arg", TOKEN, "docker build --build-arg GH_TOKEN=@@ ."),
    ("docker login", TOKEN, "docker login -u ada -p @@ registry.local"),
    ("docker login equals", STRONG, "docker login --username=ada --password='@@' registry.local"),
    ("docker login order", word_number, "docker login registry.local -p @@ -u ada"),
    ("podman login", TOKEN, "podman login -u ada -p @@ quay.io"),
    ("helm registry", TOKEN, "helm registry login ghcr.io -u ada -p @@"),
    ("az login", STRONG, "az login --service-principal -u app -p '@@' --tenant t"),
    ("az acr", TOKEN, "az acr login -n harbor -u ada -p @@"),
    ("compose list", STRONG, "environment:\n  - POSTGRES_PASSWORD=@@"),
    ("compose map", word_number, "environment:\n  POSTGRES_PASSWORD: @@\n  POSTGRES_USER: ada"),
    ("k8s secret", of(ALNUM, 20), "apiVersion: v1\nkind: Secret\ndata:\n  password: @64@"),
    ("k8s secret other name", STRONG, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  pg-main: @64@"),
    ("k8s string data", STRONG, "kind: Secret\nstringData:\n  admin: \"@@\""),
    ("k8s secret json", STRONG, '{"kind": "Secret", "apiVersion": "v1", "data": {"main": "@64@"}}'),
    ("k8s from literal", STRONG, "kubectl create secret generic db --from-literal=password='@@'"),
    ("k8s from literal other", STRONG, "kubectl create secret generic db --from-literal=main=@@"),
    ("k8s docker", TOKEN, "kubectl create secret docker-registry r --docker-password=@@"),
    ("kubeconfig token", TOKEN, "users:\n- name: ada\n  user:\n    token: @@"),
    ("kubeconfig key", key_block("RSA PRIVATE KEY"), "    client-key-data: @64@"),
    ("kubeconfig key json", key_block("EC PRIVATE KEY"), '"client-key-data": "@64@"'),
    ("terraform variable", STRONG, 'variable "db_password" {\n  default = "@@"\n}'),
    ("terraform tfvars", word_number, 'db_password = "@@"'),
    ("terraform resource", STRONG, 'master_password      = "@@"'),
    ("terraform var", STRONG, "terraform apply -var 'db_password=@@'"),
    ("terraform env", TOKEN, "export TF_VAR_api_token=@@"),
    ("terraform state", STRONG, '"attributes": {"password": "@json@", "username": "ada"}'),
    ("ansible", STRONG, "ansible_become_pass: @@"),
    ("ansible inventory", STRONG, "web1 ansible_user=ada ansible_ssh_pass=@@"),
    ("ansible extra", STRONG, "ansible-playbook -e 'vault_password=@@' site.yml"),
    ("header bearer", TOKEN, "Authorization: Bearer @@"),
    ("header bearer lower", TOKEN, "authorization: bearer @@"),
    ("header bearer hex", of(HEX, 32), "-H 'Authorization: Bearer @@'"),
    ("header bearer uuid", uuid, "Authorization: Bearer @@"),
    ("header basic", login, "Authorization: Basic @@"),
    ("header token", of(HEX, 40), "Authorization: Token @@"),
    ("header token equals", of(HEX, 40), 'Authorization: Token token="@@"'),
    ("header raw", TOKEN, "Authorization: @@"),
    ("header proxy", login, "Proxy-Authorization: Basic @@"),
    ("header digest", of(HEX, 32), 'Authorization: Digest username="ada", realm="x", nonce="y", response="@@"'),
    ("header aws", of(HEX, 64), "Authorization: AWS4-HMAC-SHA256 Credential=@aws@/20310101/x, SignedHeaders=host, Signature=@@"),
    ("header api key", of(HEX, 32), "x-api-key: @@"),
    ("header api key curl", TOKEN, 'curl -H "X-API-Key: @@" https://api.local'),
    ("header api key object", TOKEN, "headers: { 'X-Api-Key': '@@' }"),
    ("header auth token", TOKEN, "X-Auth-Token: @@"),
    ("header access token", TOKEN, "X-Access-Token: @@"),
    ("header private token", TOKEN, "Private-Token: @@"),
    ("header csrf", TOKEN, "X-CSRF-Token: @@"),
    ("header tuple", TOKEN, "('Authorization', 'Bearer @@')"),
    ("header apikey", TOKEN, "apikey: @@"),
    ("header subscription", of(HEX, 32), "'Ocp-Apim-Subscription-Key': '@@'"),
    ("header cookie", TOKEN, "Cookie: theme=dark; session=@@"),
    ("header set cookie", TOKEN, "Set-Cookie: PHPSESSID=@@; path=/"),
    ("header set cookie uuid", uuid, "set-cookie: JSESSIONID=@@; Secure"),
    ("header cookie connect", joined("s%3A", of(WORD, 32), ".", of(ALNUM, 43)), "Cookie: connect.sid=@@"),
    ("header cookie next", jwt, "cookie: __Secure-next-auth.session-token=@@"),
    ("curl cookie", TOKEN, "curl -b 'sessionid=@@' https://app.local"),
    ("curl cookie long", TOKEN, "curl --cookie 'auth=@@' https://app.local"),
    ("netscape cookies", TOKEN, "app.local\tFALSE\t/\tTRUE\t1999999999\tsessionid\t@@"),
    ("curl user", word_number, "curl -u ada:@@ https://api.local"),
    ("curl user quoted", STRONG, "curl -u 'ada:@@' https://api.local"),
    ("curl user long", two_words, "curl --user ada:@@ https://api.local"),
    ("curl proxy user", STRONG, "curl --proxy-user 'ada:@@' https://api.local"),
    ("curl proxy user short", STRONG, "curl -U 'ada:@@' -x proxy.local https://api.local"),
    ("curl oauth2", TOKEN, "curl --oauth2-bearer @@ https://api.local"),
    ("curl data", word_number, "curl -d 'username=ada&password=@@' https://app.local/login"),
    ("curl data json", word_number, "curl -d '{\"username\":\"ada\",\"password\":\"@@\"}' https://app.local/login"),
    ("curl form", STRONG, "curl -F 'password=@@' https://app.local/login"),
    ("curl pass", STRONG, "curl --cert c.pem --pass '@@' https://app.local"),
    ("curl key passphrase", STRONG, "curl --cert 'client.pem:@@' https://app.local"),
    ("wget", STRONG, "wget --user=ada --password='@@' https://files.local"),
    ("wget http", word_number, "wget --http-password=@@ https://files.local"),
    ("httpie", STRONG, "http -a 'ada:@@' https://api.local"),
    ("httpie bearer", TOKEN, "http -A bearer -a @@ https://api.local"),
    ("url https", word_number, "https://ada:@@@git.local/x.git"),
    ("url token only", TOKEN, "git clone https://@@@git.local/x.git"),
    ("url oauth2", TOKEN, "git clone https://oauth2:@@@gitlab.local/x.git"),
    ("url postgres", two_words, "postgres://ada:@@@db.local:5432/harbor"),
    ("url mongo srv", word_number, "mongodb+srv://ada:@@@cluster0.x7.mongodb.net/harbor"),
    ("url mongo several", STRONG, "mongodb://ada:@%@@a.local:27017,b.local:27017/harbor"),
    ("url redis", word_number, "redis://:@@@cache.local:6379/0"),
    ("url rediss", STRONG, "rediss://default:@%@@cache.local:6379"),
    ("url amqp", word_inside, "amqp://ada:@@@mq.local:5672/%2f"),
    ("url mysql", season, "mysql+pymysql://ada:@@@db.local/harbor"),
    ("url ftp", word_number, "ftp://ada:@@@files.local/x"),
    ("url sftp", STRONG, "sftp://ada:@%@@files.local/x"),
    ("url smtp", STRONG, "smtps://ada:@%@@mail.local:465"),
    ("url proxy", word_number, "HTTPS_PROXY=http://ada:@@@proxy.local:3128"),
    ("url ssh", word_number, "ssh://ada:@@@host.local:22"),
    ("url ldap", STRONG, "ldap://cn=ada:@%@@ldap.local"),
    ("url clickhouse", word_number, "clickhouse://ada:@@@ch.local:9000/x"),
    ("url cloudinary", of(WORD, 27), "CLOUDINARY_URL=cloudinary://123456789012345:@@@harbor"),
    ("url jdbc query", word_number, "jdbc:postgresql://db.local/harbor?user=ada&password=@@"),
    ("url jdbc semicolon", STRONG, "jdbc:sqlserver://db.local:1433;user=ada;password=@@;encrypt=true"),
    ("url jdbc oracle", word_number, "jdbc:oracle:thin:ada/@@@db.local:1521:orcl"),
    ("url encoded", word_number, "next=https%3A%2F%2Fada%3A@@%40git.local%2Fx"),
    ("query token", of(HEX, 32), "GET /stream?token=@@&x=1"),
    ("query access token", TOKEN, "https://api.local/me?access_token=@@"),
    ("query api key", of(HEX, 32), "https://api.local/v1?api_key=@@&units=m"),
    ("query apikey", of(HEX, 32), "https://api.local/v1?apikey=@@"),
    ("query appid", of(HEX, 32), "https://api.openweathermap.org/data/2.5/weather?q=x&appid=@@"),
    ("query key", of(WORD, 39), "https://api.local/v1?key=@@"),
    ("query code", of(WORD, 40), "http://localhost:8080/callback?code=@@&state=x"),
    ("query sig", of(ALNUM, 43, after="%3D"), "https://x.local/f?se=2031&sig=@@"),
    ("query amz", of(HEX, 64), "https://b.s3.amazonaws.com/k?X-Amz-Expires=300&X-Amz-Signature=@@"),
    ("query amz token", of(BASE64, 200), "https://b.s3.amazonaws.com/k?X-Amz-Security-Token=@%@&X-Amz-Date=x"),
    ("query signature", of(ALNUM, 40), "https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Expires=1&Signature=@@"),
    ("query goog", of(HEX, 256), "https://storage.googleapis.com/b/k?X-Goog-Signature=@@"),
    ("query password", word_number, "https://app.local/login?user=ada&password=@@"),
    ("query fragment", TOKEN, "http://localhost/cb#access_token=@@&token_type=bearer"),
    ("query reset", of(ALNUM, 40), "https://app.local/reset?reset_token=@@"),
    ("query client secret", TOKEN, "grant_type=client_credentials&client_id=x&client_secret=@@"),
    ("mysql short", word_number, "mysql -u root -p@@ harbor"),
    ("mysql short quoted", STRONG, "mysql -uroot -p'@@' harbor"),
    ("mysql long", two_words, "mysqldump --user=root --password=@@ harbor"),
    ("mysqladmin", word_number, "mysqladmin -u root password @@"),
    ("mariadb", STRONG, "mariadb -uada -p'@@'"),
    ("mongo", word_number, "mongosh --host db.local -u ada -p @@ --authenticationDatabase admin"),
    ("mongodump", STRONG, "mongodump --username ada --password '@@'"),
    ("redis cli", word_number, "redis-cli -h cache.local -a @@ ping"),
    ("redis pass", STRONG, "redis-cli --pass '@@' ping"),
    ("redis auth", word_number, "AUTH @@\n+OK"),
    ("redis conf", STRONG, "requirepass @@"),
    ("redis masterauth", STRONG, "masterauth @@"),
    ("sqlcmd", STRONG, "sqlcmd -S db.local -U sa -P '@@' -Q 'select 1'"),
    ("sqlplus", word_number, "sqlplus ada/@@@orcl"),
    ("psql dsn", word_number, 'psql "host=db.local user=ada password=@@ dbname=harbor"'),
    ("sql create user", STRONG, "CREATE USER ada WITH PASSWORD '@@';"),
    ("sql alter role", word_number, "ALTER ROLE ada WITH ENCRYPTED PASSWORD '@@';"),
    ("sql identified", STRONG, "CREATE USER 'ada'@'%' IDENTIFIED BY '@@';"),
    ("sql set password", word_number, "SET PASSWORD FOR 'ada'@'localhost' = '@@';"),
    ("sshpass", word_number, "sshpass -p @@ ssh ada@host.local"),
    ("sshpass quoted", STRONG, "sshpass -p '@@' scp x ada@host.local:"),
    ("plink", STRONG, "plink -ssh -pw '@@' ada@host.local"),
    ("openssl pass", STRONG, "openssl rsa -in k.pem -passin pass:@@ -out o.pem"),
    ("openssl enc", word_number, "openssl enc -aes-256-cbc -k @@ -in f"),
    ("keytool", camel, "keytool -list -keystore k.jks -storepass @@"),
    ("keytool keypass", STRONG, "keytool -genkey -keypass '@@' -alias x"),
    ("zip", word_number, "zip -P @@ out.zip f"),
    ("7z", word_number, "7z x a.7z -p@@"),
    ("unzip", STRONG, "unzip -P '@@' out.zip"),
    ("gpg passphrase", STRONG, "gpg --batch --passphrase '@@' -d f.gpg"),
    ("ldapsearch", STRONG, "ldapsearch -x -D cn=admin -w '@@' -b dc=x"),
    ("smbclient", word_number, "smbclient //nas/share -U ada%@@"),
    ("mount cifs", word_number, "mount -t cifs -o username=ada,password=@@ //nas/x /mnt"),
    ("net use", STRONG, "net use Z: \\\\nas\\x /user:ada @@"),
    ("net user", STRONG, "net user ada @@ /add"),
    ("chpasswd", STRONG, "echo 'ada:@@' | chpasswd"),
    ("htpasswd command", word_number, "htpasswd -b .htpasswd ada @@"),
    ("htpasswd file", joined("$apr1$", of(ALNUM, 8), "$", of(ALNUM, 22)), "ada:@@"),
    ("htpasswd bcrypt", joined("$2y$05$", of(ALNUM, 53)), "ada:@@"),
    ("shadow", joined("$6$", of(ALNUM, 12), "$", of(ALNUM, 86)), "ada:@@:19000:0:99999:7:::"),
    ("nmcli wifi", word_number, "nmcli dev wifi connect Home password @@"),
    ("wpa supplicant", STRONG, 'network={\n  ssid="Home"\n  psk="@@"\n}'),
    ("vncpasswd", word_number, "x11vnc -passwd @@ -display :0"),
    ("git credential store", TOKEN, "protocol=https\nhost=git.local\nusername=ada\npassword=@@"),
    ("git credentials file", TOKEN, "https://ada:@@@git.local"),
    ("git extraheader", login, 'git -c http.extraheader="AUTHORIZATION: basic @@" fetch'),
    ("git config token", TOKEN, "git config --global github.token @@"),
    ("npmrc", TOKEN, "//registry.local/:_authToken=@@"),
    ("npmrc uuid", uuid, "//registry.local/:_authToken=@@"),
    ("npmrc auth", login, "//registry.local/:_auth=@@"),
    ("npmrc password", of(ALNUM, 14), "//registry.local/:_password=@64@"),
    ("npm config set", TOKEN, "npm config set //registry.local/:_authToken @@"),
    ("npm config set equals", TOKEN, "npm config set '//registry.local/:_authToken=@@'"),
    ("yarnrc", TOKEN, 'npmAuthToken: "@@"'),
    ("pypirc", STRONG, "[pypi]\nusername = ada\npassword = @@"),
    ("pip index", word_number, "pip install --index-url https://ada:@@@pypi.local/simple x"),
    ("poetry", TOKEN, "poetry config pypi-token.local @@"),
    ("poetry basic", STRONG, "poetry config http-basic.local ada '@@'"),
    ("twine", STRONG, "twine upload -u ada -p '@@' dist/*"),
    ("bundler", TOKEN, "bundle config gems.local ada:@@"),
    ("cargo credentials", TOKEN, '[registry]\ntoken = "@@"'),
    ("composer", TOKEN, '{"github-oauth": {"github.com": "@@"}}'),
    ("composer basic", STRONG, '{"http-basic": {"repo.local": {"username": "ada", "password": "@json@"}}}'),
    ("gradle", STRONG, "signing.password=@@"),
    ("gradle maven", TOKEN, "mavenPassword=@@"),
    ("nuget source", STRONG, "dotnet nuget add source https://x -u ada -p '@@'"),
    ("docker config", login, '{"auths": {"https://index.docker.io/v1/": {"auth": "@@"}}}'),
    ("netrc one line", word_number, "machine git.local login ada password @@"),
    ("netrc lines", TOKEN, "machine git.local\n  login ada\n  password @@"),
    ("netrc default", STRONG, "default login ada password @@"),
    ("pgpass", word_number, "db.local:5432:harbor:ada:@@"),
    ("pgpass star", STRONG, "*:*:*:ada:@@"),
    ("my.cnf", word_inside, "[client]\nuser=root\npassword=@@"),
    ("s3cfg", of(BASE64, 40), "access_key = @aws@\nsecret_key = @@"),
    ("boto", of(BASE64, 40), "boto3.client('s3', aws_access_key_id='x', aws_secret_access_key='@@')"),
    ("rclone", of(WORD, 32), "[remote]\ntype = sftp\npass = @@"),
    ("ado.net", word_number, "Server=db.local;Database=harbor;User Id=ada;Password=@@;"),
    ("ado.net pwd", two_words, "Server=db.local;Uid=ada;Pwd=@@;"),
    ("ado.net json", STRONG, '"ConnectionStrings": {"Default": "Host=db;Username=ada;Password=@json@"}'),
    ("odbc", word_inside, "DRIVER={ODBC Driver 18};SERVER=db;UID=ada;PWD=@@"),
    ("cosmos", of(BASE64, 86, after="=="), "AccountEndpoint=https://x.documents.azure.com:443/;AccountKey=@@;"),
    ("iot hub", of(BASE64, 43, after="="), "HostName=x.azure-devices.net;DeviceId=d;SharedAccessKey=@@"),
    ("app insights", uuid, "InstrumentationKey=@@;IngestionEndpoint=https://x"),
    ("redis azure", of(BASE64, 43, after="="), "x.redis.cache.windows.net:6380,password=@@,ssl=True"),
    ("kafka jaas", word_number, "PlainLoginModule required username=\"ada\" password=\"@@\";"),
    ("pem", key_block("RSA PRIVATE KEY"), "@@"),
    ("pem pkcs8", key_block("PRIVATE KEY"), "key:\n@@\nend"),
    ("pem encrypted", key_block("ENCRYPTED PRIVATE KEY"), "@@"),
    ("pem openssh", key_block("OPENSSH PRIVATE KEY"), "$ cat ~/.ssh/id_ed25519\n@@"),
    ("pem pgp", key_block("PGP PRIVATE KEY BLOCK"), "@@"),
    ("pem no head", key_body, "$ tail -11 key.pem\n@@\n-----END RSA PRIVATE KEY-----"),
    ("pem no head openssh", key_body, "@@\n-----END OPENSSH PRIVATE KEY-----\n$"),
    ("pem no head indented", key_body, "  tls.key: |\n@@\n    -----END PRIVATE KEY-----"),
    ("pem no foot", key_body, "-----BEGIN EC PRIVATE KEY-----\n@@"),
    ("pem escapes", key_block("PRIVATE KEY", "\\n"), 'PRIVATE_KEY="@@"'),
    ("pem escapes twice", key_block("PRIVATE KEY", "\\\\n"), '{\\"key\\": \\"@@\\"}'),
    ("pem one line", key_block("RSA PRIVATE KEY", " "), "KEY='@@'"),
    ("pem joined", key_block("RSA PRIVATE KEY", ""), "KEY='@@'"),
    ("pem base64", key_block("PRIVATE KEY"), "TLS_KEY_B64=@64@"),
    ("pem yaml", key_block("PRIVATE KEY", "\n    "), "tls:\n  key: |\n    @@"),
    ("pem diff", key_block("PRIVATE KEY", "\n+"), "+@@"),
    ("putty", key_body, "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 10\n@@"),
    ("wireguard", of(BASE64, 43, after="="), "[Interface]\nPrivateKey = @@\nAddress = 10.0.0.2/32"),
    ("wireguard psk", of(BASE64, 43, after="="), "PresharedKey = @@"),
    ("openvpn static", of(HEX, 256), "-----BEGIN OpenVPN Static key V1-----\n@wrap@\n-----END OpenVPN Static key V1-----"),
    ("ssh2 public head", key_body, "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n@@\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"),
    ("jwk", of(WORD, 43), '{"kty": "EC", "crv": "P-256", "x": "a", "y": "b", "d": "@@"}'),
    ("ethereum key", of(HEX, 64, "0x"), "PRIVATE_KEY=@@"),
    ("mnemonic", lambda by: " ".join(by.choices(WORDS, k=12)), 'MNEMONIC="@@"'),
    ("wrapped token", of(ALNUM, 90), "export API_TOKEN=\\\n@@"),
    ("wrapped quoted", of(WORD, 120), 'api_secret = "@wrap@"'),
    ("wrapped base64 json", of(BASE64, 200), '"client_secret": "@wrap@"'),
    ("wrapped backslash", of(ALNUM, 40), "curl https://api.local \\\n  -H 'Authorization: Bearer @@'"),
    ("python call", STRONG, "connect(host='db', user='ada', password='@@')"),
    ("python environ", TOKEN, "os.environ['API_TOKEN'] = '@@'"),
    ("python getenv default", TOKEN, "os.getenv('API_TOKEN', '@@')"),
    ("python environ get", TOKEN, "os.environ.get(\"SECRET_KEY\", \"@@\")"),
    ("python setdefault", TOKEN, "os.environ.setdefault('SECRET_KEY', '@@')"),
    ("python monkeypatch", TOKEN, "monkeypatch.setenv('API_TOKEN', '@@')"),
    ("python tuple auth", STRONG, "requests.get(url, auth=('ada', '@@'))"),
    ("python basic auth", STRONG, "HTTPBasicAuth('ada', '@@')"),
    ("python bytes", STRONG, "password = b'@@'"),
    ("python f string", TOKEN, "headers = {'Authorization': f'Bearer @@'}"),
    ("python joined", of(ALNUM, 76), "api_key = (\n    '@wrap@'\n)"),
    ("js env or", TOKEN, "const token = process.env.TOKEN || '@@';"),
    ("js env nullish", TOKEN, 'apiKey: process.env.API_KEY ?? "@@",'),
    ("js const", TOKEN, "const API_KEY = `@@`;"),
    ("js object", word_number, "{ user: 'ada', password: '@@' }"),
    ("js basic", STRONG, "Buffer.from('ada:@@').toString('base64')"),
    ("js local storage", TOKEN, "localStorage.setItem('authToken', '@@')"),
    ("go", STRONG, 'Password: "@@",'),
    ("go short", TOKEN, 'apiKey := "@@"'),
    ("java", STRONG, 'private static final String PASSWORD = "@@";'),
    ("java getconnection", STRONG, 'DriverManager.getConnection(url, "ada", "@@")'),
    ("java setter", STRONG, 'config.setPassword("@@");'),
    ("csharp", STRONG, 'new NetworkCredential("ada", "@@")'),
    ("ruby hash", STRONG, ":password => '@@'"),
    ("ruby symbol", TOKEN, "api_key: '@@'"),
    ("php define", STRONG, "define('DB_PASSWORD', '@@');"),
    ("php array", STRONG, "'password' => '@@',"),
    ("php env default", STRONG, "env('DB_PASSWORD', '@@')"),
    ("rust", TOKEN, 'let token: &str = "@@";'),
    ("c define", STRONG, '#define WIFI_PASSWORD "@@"'),
    ("arduino", STRONG, 'const char* password = "@@";'),
    ("swift", TOKEN, 'let apiKey: String = "@@"'),
    ("kotlin", TOKEN, 'val token = "@@"'),
    ("perl", STRONG, "my $password = '@@';"),
    ("lua", STRONG, 'local password = "@@"'),
    ("clojure", STRONG, '{:user "ada" :password "@@"}'),
    ("elixir", STRONG, 'password: "@@",'),
    ("elixir secret key base", of(BASE64, 64), 'secret_key_base: "@@"'),
    ("markdown table", STRONG, "| user | password |\n|---|---|\n| ada | @@ |"),
    ("markdown bold", STRONG, "**Password:** `@@`"),
    ("markdown list", STRONG, "- Password: @@"),
    ("sentence", STRONG, "the password is @@"),
    ("sentence quoted", word_number, 'log in with password "@@"'),
    ("sentence ask", TOKEN, "here is my api key: @@"),
    ("sentence token", TOKEN, "use this token: @@"),
    ("sentence pw", STRONG, "pw: @@"),
    ("sentence slash", STRONG, "login/password: ada / @@"),
    ("prompt", STRONG, "Enter password: @@"),
    ("log line", word_number, "DEBUG login attempt user=ada password=@@ ip=10.0.0.1"),
    ("log json", TOKEN, 'level=debug msg="auth" token="@@"'),
    ("log colon", TOKEN, "[debug] Generated token: @@"),
    ("log repr", STRONG, "Settings(host='db', password='@@')"),
    ("log go struct", word_number, "{Host:db User:ada Password:@@}"),
    ("log php", STRONG, "[password] => @@"),
    ("log arrow", TOKEN, "access_token -> @@"),
    ("set output", TOKEN, "echo \"::set-output name=token::@@\""),
    ("github env", TOKEN, 'echo "API_TOKEN=@@" >> $GITHUB_ENV'),
    ("gh secret", STRONG, "gh secret set DB_PASSWORD --body '@@'"),
    ("gh secret short", TOKEN, "gh secret set API_TOKEN -b @@"),
    ("vercel env", TOKEN, "echo @@ | vercel env add API_TOKEN production"),
    ("heroku config", TOKEN, "heroku config:set API_TOKEN=@@"),
    ("fly secrets", STRONG, "fly secrets set DB_PASSWORD=@@"),
    ("vault kv", STRONG, "vault kv put secret/db password=@@"),
    ("aws ssm", STRONG, "aws ssm put-parameter --name /db/password --type SecureString --value '@@'"),
    ("aws secretsmanager", STRONG, "aws secretsmanager create-secret --name db --secret-string '@@'"),
    ("aws configure set", of(BASE64, 40), "aws configure set aws_secret_access_key @@"),
    ("wrangler", TOKEN, "echo '@@' | wrangler secret put API_TOKEN"),
    ("security keychain", STRONG, "security add-generic-password -a ada -s x -w '@@'"),
    ("secret tool", STRONG, "echo -n '@@' | secret-tool store --label x user ada"),
    ("cli option password", word_number, "tool --password @@ run"),
    ("cli option equals", two_words, "tool --password=@@ run"),
    ("cli option token", of(HEX, 32), "tool --auth-token=@@ run"),
    ("cli option secret", TOKEN, "tool --client-secret @@ run"),
    ("cli option key", TOKEN, "tool --api-key @@ run"),
    ("cli option single dash", TOKEN, "tool -token @@ run"),
    ("cli option slash", STRONG, "tool.exe /password:@@ /run"),
    ("cli option camel", TOKEN, "tool --apiKey @@"),
    ("mcp add", TOKEN, "claude mcp add x -e X_API_KEY=@@ -- npx x"),
    ("mcp header", TOKEN, 'claude mcp add --transport http x https://x --header "Authorization: Bearer @@"'),
    ("codex toml env", TOKEN, '[mcp_servers.x.env]\nX_API_KEY = "@@"'),
    ("codex toml headers", TOKEN, 'http_headers = { Authorization = "Bearer @@" }'),
    ("codex toml inline", TOKEN, 'env = { "X_TOKEN" = "@@" }'),
)  # fmt: skip

# -- written after the rules were, and only for scoring them ------------------------------------------

LATER: Rows = (
    ("later: azure openai", of(HEX, 32), 'AZURE_OPENAI_API_KEY="@@"'),
    ("later: deepl", joined(uuid, ":fx"), "auth_key=@@&text=hello"),
    ("later: pushover", of(LOWER, 30), "PUSHOVER_API_TOKEN=@@"),
    ("later: mailjet", of(HEX, 32), "MJ_APIKEY_PRIVATE=@@"),
    ("later: twitch", of(LOWER, 30), "TWITCH_CLIENT_SECRET: @@"),
    ("later: spotify", of(HEX, 32), "spotify.client-secret=@@"),
    ("later: jenkins", of(HEX, 32, "11"), "curl -X POST http://ada:@@@ci.local/job/x/build"),
    ("later: gitea", of(HEX, 40), "curl -H 'Authorization: token @@' https://git.local/api/v1/user"),
    ("later: home assistant", jwt, "HASS_TOKEN=@@"),
    ("later: openweather yaml", of(HEX, 32), "openweathermap:\n  api_key: @@"),
    ("later: gitlab ci variable", of(WORD, 20, "glpat-"), "variables:\n  DEPLOY: '@@'"),
    ("later: nvidia short", of(WORD, 30, "nvapi-"), "NGC: @@"),
    ("later: circle short", of(ALNUM, 30, "CCIPAT_"), "token @@ in the log"),
    ("later: brevo smtp", joined("xsmtpsib-", of(HEX, 64), "-", of(ALNUM, 16)), "smtp password @@"),
    ("later: sonar alnum", of(LOWER, 40, "sqp_"), "-Dsonar.token=@@"),
    ("later: github in go get", of(ALNUM, 36, "ghp_"), 'git config url."https://@@:x-oauth-basic@github.com/".insteadOf https://github.com/'),
    ("later: docker compose secret", two_words, "      MYSQL_ROOT_PASSWORD: @@"),
    ("later: helm set", word_number, "helm install x ./chart --set db.password=@@"),
    ("later: helm set string", STRONG, "helm upgrade x . --set-string 'auth.rootPassword=@@'"),
    ("later: java system property", camel, "java -Djavax.net.ssl.trustStorePassword=@@ -jar x.jar"),
    ("later: maven option", word_number, "mvn deploy -Drepo.password=@@"),
    ("later: gradle option", TOKEN, "./gradlew publish -PossrhPassword=@@"),
    ("later: spring yaml", word_inside, "spring:\n  datasource:\n    username: sa\n    password: @@"),
    ("later: django databases", STRONG, "'USER': 'ada', 'PASSWORD': '@@', 'HOST': 'db'"),
    ("later: rails database.yml", word_number, "production:\n  adapter: mysql2\n  username: ada\n  password: @@"),
    ("later: laravel env", kebab, "DB_USERNAME=ada\nDB_PASSWORD=@@\nDB_HOST=db"),
    ("later: wordpress", STRONG, "define( 'DB_PASSWORD', '@@' );"),
    ("later: wordpress salt", of(ALNUM + "!#%^*+~", 64), "define('AUTH_KEY', '@@');"),
    ("later: appsettings", STRONG, '"Jwt": { "Key": "x", "Secret": "@json@" }'),
    ("later: web.config machine key", of(UPPER[26:] + "ABCDEF", 64), '<machineKey validationKey="@@" validation="SHA1" />'),
    ("later: odbc json", word_number, '"dsn": "Driver={MySQL};Server=db;Uid=ada;Pwd=@@;"'),
    ("later: sqlalchemy create", word_number, "create_engine('postgresql://ada:@@@db/harbor')"),
    ("later: psycopg call", word_number, 'psycopg.connect("dbname=harbor user=ada password=@@")'),
    ("later: mysql connector", word_inside, "mysql.connector.connect(user='ada', password='@@', host='db')"),
    ("later: pymongo", STRONG, "MongoClient('db.local', username='ada', password='@@')"),
    ("later: paramiko", word_number, "client.connect('host.local', username='ada', password='@@')"),
    ("later: smtplib", STRONG, "server.login('ada@harbor.dev', '@@')"),
    ("later: requests header", TOKEN, "requests.get(url, headers={'X-Auth-Token': '@@'})"),
    ("later: fetch header", TOKEN, "fetch(url, { headers: { Authorization: `Bearer @@` } })"),
    ("later: axios", STRONG, "axios.get(url, { auth: { username: 'ada', password: '@@' } })"),
    ("later: wget header", TOKEN, "wget --header='Authorization: Bearer @@' https://x"),
    ("later: curl data urlencode", word_number, "curl --data-urlencode 'password=@@' https://x"),
    ("later: curl json flag", TOKEN, "curl --json '{\"api_key\": \"@@\"}' https://x"),
    ("later: grpcurl", TOKEN, "grpcurl -H 'authorization: Bearer @@' x:443 list"),
    ("later: wscat", TOKEN, "wscat -c 'wss://x/socket?token=@@'"),
    ("later: websocket query", jwt, "wss://x/socket?access_token=@@&v=2"),
    ("later: oauth callback", of(WORD, 43), "GET /oauth/callback?code=@@&scope=read HTTP/1.1"),
    ("later: magic link", of(HEX, 40), "https://app.local/login?magic_token=@@"),
    ("later: nginx basic", login, 'proxy_set_header Authorization "Basic @@";'),
    ("later: haproxy", STRONG, "user ada insecure-password @@"),
    ("later: traefik htpasswd", joined("$2y$10$", of(ALNUM, 53)), 'basicAuth.users: "ada:@@"'),
    ("later: prometheus", STRONG, "basic_auth:\n  username: ada\n  password: @@"),
    ("later: alertmanager", of(ALNUM, 24), "slack_api_url: https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/@@"),
    ("later: grafana ini", word_number, "[security]\nadmin_user = admin\nadmin_password = @@"),
    ("later: redis conf quoted", STRONG, 'requirepass "@@"'),
    ("later: redis acl", word_number, "user ada on >@@ ~* +@all"),
    ("later: rabbitmqctl", word_number, "rabbitmqctl add_user ada @@"),
    ("later: mongo create user", word_number, 'db.createUser({user: "ada", pwd: "@@", roles: []})'),
    ("later: psql password", word_number, "\\\\password ada\nALTER USER ada PASSWORD '@@';"),
    ("later: mysql grant", season, "GRANT ALL ON *.* TO 'ada'@'%' IDENTIFIED BY '@@';"),
    ("later: sql server login", STRONG, "CREATE LOGIN ada WITH PASSWORD = '@@';"),
    ("later: oracle identified", word_number, 'CREATE USER ada IDENTIFIED BY "@@";'),
    ("later: snowflake", STRONG, "snowflake.connector.connect(user='ada', password='@@', account='x')"),
    ("later: ansible vars", season, "mysql_root_password: '@@'"),
    ("later: packer", STRONG, '"ssh_password": "@json@"'),
    ("later: vagrant", STRONG, "config.ssh.password = '@@'"),
    ("later: terraform provider", of(BASE64, 40), 'provider "aws" {\n  access_key = "@aws@"\n  secret_key = "@@"\n}'),
    ("later: pulumi config", TOKEN, "pulumi config set --secret apiToken @@"),
    ("later: cdk context", TOKEN, "cdk deploy -c githubToken=@@"),
    ("later: sam parameter", word_number, "sam deploy --parameter-overrides DbPassword=@@ Stage=prod"),
    ("later: cloudformation", STRONG, "MasterUserPassword: @@"),
    ("later: aws rds", word_number, "aws rds create-db-instance --master-username ada --master-user-password @@"),
    ("later: gcloud sql", word_number, "gcloud sql users set-password ada --instance=x --password=@@"),
    ("later: az sql", STRONG, "az sql server create -u ada --admin-password '@@'"),
    ("later: kubectl set env", TOKEN, "kubectl set env deploy/x API_TOKEN=@@"),
    ("later: kubectl token", jwt, "kubectl --token=@@ get pods"),
    ("later: kubectl credentials", TOKEN, "kubectl config set-credentials ada --token=@@"),
    ("later: systemd", STRONG, 'Environment="DB_PASSWORD=@@"'),
    ("later: crontab", TOKEN, "0 * * * * API_TOKEN=@@ /usr/bin/job"),
    ("later: supervisor", word_number, 'environment=DB_USER="ada",DB_PASSWORD="@@"'),
    ("later: procfile", TOKEN, "web: SECRET_KEY=@@ gunicorn app"),
    ("later: github workflow", TOKEN, "        env:\n          NPM_TOKEN: @@"),
    ("later: travis", TOKEN, "env:\n  global:\n    - API_KEY=@@"),
    ("later: bitbucket pipe", TOKEN, "variables:\n  AWS_SECRET_ACCESS_KEY: '@@'"),
    ("later: cypress env", word_number, "cypress run --env password=@@,user=ada"),
    ("later: playwright fill", STRONG, "await page.fill('#password', '@@')"),
    ("later: selenium", STRONG, 'driver.find_element(By.ID, "password").send_keys("@@")'),
    ("later: html input", word_number, '<input type="password" name="pw" value="@@">'),
    ("later: csv", STRONG, "username,password\nada,@@"),
    ("later: bullet login", word_number, "* user: ada\n* password: @@"),
    ("later: chat", word_number, "my password is @@ please do not share it"),
    ("later: chat token", TOKEN, "Here's the token: `@@`"),
    ("later: chat login", STRONG, "you can log in as ada with password @@"),
    ("later: error message", word_number, "Access denied for user 'ada' using password '@@'"),
    ("later: repr dataclass", word_number, "Config(user='ada', password='@@', port=5)"),
    ("later: go struct quoted", STRONG, 'Config{User:"ada", Password:"@@"}'),
    ("later: java tostring", word_number, "User{name=ada, password=@@, age=3}"),
    ("later: ruby inspect", STRONG, '#<User name: "ada", password: "@@">'),
    ("later: php var dump", STRONG, '["password"]=>\n  string(14) "@@"'),
    ("later: python pprint", STRONG, "{'db': {'password': '@@'}}"),
    ("later: bash trace", TOKEN, "+ API_TOKEN=@@"),
    ("later: bash trace export", TOKEN, "++ export GH_TOKEN=@@"),
    ("later: printenv", TOKEN, "HOME=/root\nSTRIPE_SECRET=@@\nPATH=/bin"),
    ("later: env json", TOKEN, '"Env": ["PATH=/bin", "API_TOKEN=@@"]'),
    ("later: docker inspect", word_number, '"Env": [\n  "POSTGRES_PASSWORD=@@",\n  "PGDATA=/var"\n]'),
    ("later: escaped newline", TOKEN, 'KEY=1\\nAPI_TOKEN=@@\\nNEXT=2'),
    ("later: unicode escape", word_number, "password\\u003d@@\\u0026user"),
    ("later: url encoded body", word_number, "username%3Dada%26password%3D@@%26x"),
    ("later: openssh pasted", lambda by: "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAA" + key_body(by), "@@"),
    ("later: pkcs8 body", lambda by: "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + key_body(by), 'private_key="@@"'),
    ("later: pem numbered", key_block("RSA PRIVATE KEY", "\n    12\t"), "    11\t@@"),
    ("later: pem blockquote", key_block("OPENSSH PRIVATE KEY", "\n> "), "> @@"),
    ("later: pem in string list", key_block("PRIVATE KEY", '",\n  "'), '[\n  "@@"\n]'),
    ("later: gpg export", key_block("PGP PRIVATE KEY BLOCK"), "$ gpg --export-secret-keys -a\n@@"),
    ("later: jwt wrapped", jwt, "Authorization: Bearer @wrap@"),
    ("later: token wrapped", of(WORD, 93, "sk-ant-api03-", "AA"), "ANTHROPIC: @wrap@"),
    ("later: pypi wrapped", of(WORD, 160, "pypi-AgEIcHlwaS5vcmcC"), "password = @wrap@"),
    ("later: hash line", TOKEN, "#API_TOKEN=@@"),
    ("later: windows registry", STRONG, '"Password"="@@"'),
    ("later: powershell hashtable", STRONG, "@{ User = 'ada'; Password = '@@' }"),
    ("later: powershell param", STRONG, "Connect-X -UserName ada -Password '@@'"),
    ("later: powershell splat env", TOKEN, '$Env:NPM_TOKEN="@@"; npm publish'),
    ("later: cmd set p", TOKEN, "SET AWS_SECRET_ACCESS_KEY=@@"),
    ("later: fish universal", TOKEN, "set -Ux GITHUB_TOKEN @@"),
    ("later: direnv", TOKEN, "export CLOUDFLARE_API_TOKEN=@@ # prod"),
    ("later: xonsh", TOKEN, "$API_TOKEN = '@@'"),
    ("later: elixir env", of(BASE64, 64), 'System.put_env("SECRET_KEY_BASE", "@@")'),
    ("later: rust env", TOKEN, 'std::env::set_var("API_TOKEN", "@@");'),
    ("later: node env", TOKEN, "process.env.API_TOKEN = '@@'"),
    ("later: go env", TOKEN, 'os.Setenv("API_TOKEN", "@@")'),
    ("later: dart define", TOKEN, "flutter run --dart-define=API_KEY=@@"),
    ("later: android gradle", TOKEN, 'buildConfigField "String", "API_KEY", "\\"@@\\""'),
    ("later: xcconfig", TOKEN, "API_KEY = @@"),
    ("later: plist password", STRONG, "<key>password</key><string>@@</string>"),
    ("later: strings.xml", TOKEN, '<string name="api_key">@@</string>'),
    ("later: unity", TOKEN, "apiKey: @@"),
)  # fmt: skip

# -- passwords that look like words, where configuration gives them -----------------------------------

_SHAPES: dict[str, Draw] = {
    "two words": two_words,
    "word number": word_number,
    "word inside": word_inside,
    "snake": snake,
    "kebab": kebab,
    "camel": camel,
    "season": season,
    "leet": leet,
}
_GIVEN = {
    "equals": "password=@@",
    "equals spaced": "password = @@",
    "env": "DB_PASSWORD=@@",
    "env export": "export ADMIN_PASSWORD=@@",
    "option": "app --password=@@ start",
    "property": "app.mail.password=@@",
    "yaml": "mail:\n  username: ada\n  password: @@\n  port: 25",
    "query": "username=ada&password=@@&remember=1",
    "json": '{"username": "ada", "password": "@@"}',
    "connection": "Server=db.local;User Id=ada;Password=@@;",
    "log": "2031-01-05 10:00:01 INFO auth user=ada password=@@",
}
WORDED: Rows = tuple(
    (f"{shape}, {place}", draw, text) for shape, draw in _SHAPES.items() for place, text in _GIVEN.items()
)

# -- by an author who did not know the rules; the rules were changed after these ------------------------

BLIND: Rows = (
    ("blind: toml pass", plant, '[smtp]\nhost = "mail.local"\nuser = "noreply"\npass = "@@"'),
    ("blind: xml attribute", plant, '<dataSource url="jdbc:mysql://db/wiki" user="wiki" password="@@"/>'),
    ("blind: xml property", plant, '<property name="hibernate.connection.password">@@</property>'),
    ("blind: build step", two_plants, "Step 4/9 : ENV ADMIN_PASSWORD=@@\n ---> Running in 7a1fd0c2b9e3"),
    ("blind: env two words", plant, "ENV REDIS_PASS @@\nEXPOSE 8080"),
    ("blind: netrc", plant, "machine git.local login robot password @@"),
    ("blind: netrc lines", plant, "machine git.local\nlogin deploy\npassword @@\nmachine other.local"),
    ("blind: identified by", two_plants, "mysql> CREATE USER 'etl'@'%' IDENTIFIED BY '@@';\nQuery OK"),
    ("blind: identified bare", plant, "SQL> ALTER USER scott IDENTIFIED BY @@;\nUser altered."),
    ("blind: alter role", plant, "psql -c \"ALTER ROLE reporting WITH LOGIN PASSWORD '@@'\""),
    ("blind: create login", plant, "CREATE LOGIN reporting WITH PASSWORD = N'@@', CHECK_POLICY = OFF;"),
    ("blind: set password", plant, "SET PASSWORD FOR 'app'@'localhost' = PASSWORD('@@');"),
    ("blind: insert into", plant, "INSERT INTO users (name, password) VALUES ('ada', '@@');"),
    ("blind: subscript", phrase, 'DATABASES["default"]["PASSWORD"] = "@@"'),
    ("blind: session secret", phrase, "export const config = { jwtSecret: '@@', port: 8080 };"),
    ("blind: java literal", plant, 'private static final String DB_PASS = "@@";'),
    ("blind: keyword", plant, 'conn = psycopg2.connect(host="db", user="app", password="@@")'),
    ("blind: auth tuple", plant, 'r = requests.get("https://ci.local/api", auth=("admin", "@@"))'),
    ("blind: basic auth call", plant, 'req.SetBasicAuth("prometheus", "@@")'),
    ("blind: setter", plant, 'ds.setPassword("@@");'),
    ("blind: credential", plant, 'Credentials = new NetworkCredential("noreply", "@@")'),
    ("blind: credentials", two_plants, "credentials=PlainCredentials('worker', '@@')"),
    ("blind: array", plant, "'password' => '@@',\n'charset' => 'utf8mb4',"),
    ("blind: fallback", two_plants, 'const secret = process.env.JWT_SECRET || "@@";'),
    ("blind: define", plant, "define( 'DB_PASSWORD', '@@' );"),
    ("blind: environment variable", plant, "[Environment]::SetEnvironmentVariable('DEPLOY_PASSWORD','@@','User')"),
    ("blind: prompt", plant, "Username: root\nPassword: @@\nLast login: Tue Mar 11"),
    ("blind: prompt sudo", plant, "[sudo] password for ada: @@\nSorry, try again."),
    ("blind: prompt aws", of(BASE64, 40), "AWS Access Key ID [None]: @aws@\nAWS Secret Access Key [None]: @@"),
    ("blind: prose", two_plants, "For staging the admin password is @@, but please don't commit it."),
    ("blind: prose quoted", plant, 'I could not log in until I used the password "@@" from the wiki.'),
    ("blind: prose german", joined(plant, "-12"), "Das Passwort für den Testserver lautet @@, bitte nicht weitergeben."),
    ("blind: expect", plant, 'expect "Password:" { send "@@\\r" }'),
    ("blind: wifi", two_plants, 'nmcli dev wifi connect Guest password "@@"'),
    ("blind: seed phrase", lambda by: " ".join(by.choices(WORDS, k=12)), "Seed phrase (write it down): @@"),
    ("blind: passphrase", phrase, 'BORG_PASSPHRASE="@@" borg create ::{now} /srv'),
    ("blind: env phrase", phrase, 'SMTP_PASSWORD="@@"\nSMTP_PORT=587'),
    ("blind: command prefix", plant, "MYSQL_PWD=@@ mysql -u app -e 'show processlist'"),
    ("blind: helm set", plant, "helm upgrade --install pg x/postgresql --set auth.postgresPassword=@@"),
    ("blind: terraform var", plant, "terraform apply -var 'db_password=@@' -auto-approve"),
    ("blind: header", two_plants, "curl -H 'X-Gitlab-Token: @@' https://x"),
    ("blind: net use", word_number, "net use Z: \\\\\\\\filer\\\\share /user:ACME\\\\build @@"),
    ("blind: pgpass", plant, 'echo "localhost:5432:*:postgres:@@" > ~/.pgpass'),
    ("blind: printed", of(ALNUM, 16), "$ kubectl get secret x -o jsonpath=\"{.data.password}\" | base64 -d\n@@"),
    ("blind: yaml flow", two_plants, "db: {host: db1, user: svc, password: @@, port: 5432}"),
    ("blind: dotted key", plant, "registry.acme.password = '@@'"),
    ("blind: colon ini", plant, "[ldap]\nbind_dn: cn=svc,dc=acme\nbind_pw: @@"),
    ("blind: bind credentials", plant, '  "ldap": {\n    "bindCredentials": "@@",\n    "url": "ldaps://dc1"\n  }'),
    ("blind: k8s env", plant, "        - name: ADMIN_PASSWORD\n          value: @@\n        - name: LOG_LEVEL"),
    ("blind: ecs env", phrase, '{"name": "SESSION_SECRET", "value": "@@"}'),
    ("blind: diff yaml", plant, "   user: app\n-  password: @@\n+  password: new_harbor\n   host: db"),
    ("blind: diff ini", plant, " [database]\n-pass = @@\n+pass = other_word\n port = 3306"),
    ("blind: grep", plant, "deploy/values.yaml:17:  adminPassword: @@\ndeploy/values.yaml:18:  replicas: 2"),
    ("blind: grep literal", plant, 'src/settings.py:88:EMAIL_HOST_PASSWORD = "@@"'),
    ("blind: log braces", plant, "2025-06-01T07:00:00Z INFO config: {db_user=app, db_password=@@, pool=10}"),
    ("blind: log pairs", plant, "Mar 11 10:02:01 web1 app[811]: connecting with user=app password=@@ host=db"),
    ("blind: markdown table", plant, "| env | user | password |\n|---|---|---|\n| stg | root | @@ |"),
    ("blind: markdown list", plant, "- **Host**: db1\n- **User**: root\n- **Password**: @@"),
    ("blind: csv", plant, "user,password,role\nalice,@@,admin\nbob,other,dev"),
    ("blind: psql table", plant, " user | password \n------+----------\n ada  | @@\n(1 row)"),
    ("blind: html comment", plant, "<!-- login: demo / pw: @@ -->"),
    ("blind: tee", plant, 'echo "db_pass: @@" | tee -a group_vars/all.yml'),
    ("blind: printf pipe", two_plants, "printf '%s' '@@' | gh secret set DB_PASSWORD --body -"),
    ("blind: here string", plant, "cryptsetup open /dev/sdb1 data --key-file=- <<< '@@'"),
    ("blind: words of a command", plant, "args=['mysql', '-u', 'root', '-p@@', '-e', 'show tables']"),
    ("blind: quoted option", phrase, "+ mysql -uroot '-p@@' -e 'select 1'"),
    ("blind: pairs in a list", plant, '["vault", "login", "-method=userpass", "username=ada", "password=@@"]'),
    ("blind: json lines", plant, '{"stdout":"HOST=db\\nDB_PASS=@@\\nPORT=5432\\n","exit_code":0}'),
    ("blind: json slashes", plant, '{"dsn":"mysql:\\/\\/root:@@@db\\/app"}'),
    ("blind: json letters", plant, '{"user":"svc","passw\\u006frd":"@@"}'),
    ("blind: colours", of(ALNUM, 36), "Using token \x1b[1m\x1b[33mghp_\x1b[0m\x1b[33m@@\x1b[0m from keyring"),
    ("blind: box", of(WORD, 38, "sk-ant-api03-"), "│ ANTHROPIC_API_KEY=@@ │\n│ aB3dE5fG7hJ9kL1mN3pQ5rS7 │"),
    ("blind: strings side by side", of(ALNUM, 24), 'API_TOKEN = (\n    "@@"\n    "LAxdyaJZgwnSnG11owA6XPgs"\n)'),
    ("blind: shell quotes", two_plants, "DB_PASSWORD='it'\"'\"'s-@@' ./run.sh"),
    ("blind: toml lines", plant, 'password = """\nsweet\\\n  @@"""'),
    ("blind: mandrill", of(WORD, 22, "md-"), "m = mandrill.Mandrill('@@')"),
    ("blind: mailgun", joined(of(HEX, 32), "-", of(HEX, 8), "-", of(HEX, 8)), "mg = Mailgun::Client.new '@@'"),
)  # fmt: skip
