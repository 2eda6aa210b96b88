"""The words, paths and commands by which `patterns.py` tells what an exchange was."""

from __future__ import annotations

import re


def _any(*alternatives: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), flags)


# -- paths ---------------------------------------------------------------------------------------

PROSE = _any(  # what is read by people, made by programs, or has no kind: no code
    r"\.(?:md|mdx|txt|rst|adoc|org|csv|tsv|log|png|jpe?g|gif|svg|pdf|lock)$",
    r"(?:^|/)(?:\.gitignore|LICENSE|CHANGELOG|[\w-]+-lock\.\w+|go\.sum)$",
    r"^[^./]+$",
)
MANIFEST = _any(r"(?:cargo|pyproject)\.toml$", r"(?:package|plugin|manifest)\.json$", r"version(?:\.\w+)?$")
TEST_FILE = _any(
    r"(?:^|/)(?:tests?|__tests__|spec|e2e)/",
    r"[._-](?:test|spec)s?\.\w+$",
    r"(?:^|/)test_[^/]+$",
    r"_test\.\w+$",
)
DELIVERY_FILE = _any(
    r"\.github/workflows/[^/]*(?:release|deploy|publish|build|store|cd)\w*\.ya?ml$",
    r"(?:^|/)(?:fly|wrangler|netlify|vercel)\.(?:toml|jsonc?)$",
    r"(?:^|/)(?:deploy|release|publish)[\w-]*\.(?:sh|py|ts|js|ya?ml|ps1)$",
    r"goreleaser\.ya?ml$",
)
PLAN_FILE = _any(
    r"(?:^|/)[\w.-]*(?:plan|todo|roadmap|spec|tasks?|backlog|proposal|rfc)[\w.-]*\.md$",
    r"(?:^|/)(?:specs?|plans?)/",
)

# -- tools and commands --------------------------------------------------------------------------

WEB_TOOL = _any(r"web_?(?:search|fetch)", "deepwiki", "context7", r"fetch_(?:url|page)")
BROWSER_TOOL = _any("browser", "playwright", "puppeteer", "chrome", "devtools", "preview", "screenshot")
TRIES = _any(
    r"curl\b",
    r"(?:cargo|go|deno|bun|dotnet) run\b",
    r"(?:npm|pnpm|yarn|bun) (?:run )?(?:start|dev|preview)\b",
    r"(?:\./)?target/",
    r"(?:python3?|node|ruby|bash|sh|\./)\S* ?\S+\.(?:py|js|mjs|ts|rb|sh)\b",
)
DEPLOYS = _any(
    r"^(?:wrangler|vercel|netlify|firebase|flyctl?|serverless|cap|kamal|eas)\b.{0,80}"
    r"\b(?:deploy|publish|--prod|release|submit)",
    r"^(?:npm|pnpm|yarn|bun|cargo|poetry|uv|vsce|gem|twine|dotnet nuget)\b.{0,40}\b(?:publish|upload"
    r"|deploy)\b",
    r"^(?:kubectl (?:apply|rollout)|helm (?:install|upgrade)|terraform apply|docker push|ansible-playbook)\b",
    r"^(?:pulumi up|cdk deploy)\b",
    r"^gh release (?:create|upload|edit)|^gh workflow run\b.{0,200}(?:deploy|release|publish)",
    r"^git tag (?:-[^ld]\S* )*\S{0,40}\d+\.\d",
    r"^git push\b.{0,60}(?:--tags|\bv\d+\.\d|release/)|^git (?:checkout -b|switch -c) release/",
    r"^(?:bash |sh |\./)?\S*deploy\S*\.(?:sh|py|js|ts|ps1)|^(?:make|just|task) \S*(?:deploy|release|publish)",
    r"^(?:scp|rsync)\b.{0,200}@\S+:|^(?:sudo )?systemctl (?:restart|reload|start) ",
)
PUSHES = _any(r"git (?:-\S+ )*push\b", r"gh (?:workflow|pr merge)")
MOVES = _any(r"git mv\b", r"mv \S")
REVIEWS = _any(
    r"gh pr (?:diff|view|review|checks)",
    r"gh api \S*(?:comments|reviews)",
    r"git diff (?:main|origin|master)",
)

# -- what a person asks --------------------------------------------------------------------------

DEPLOY_ASKED = _any(r"\b(?:deploy|releas|publish|ship it|go live)\w*", "デプロイ", "リリース", "公開", "배포")
REPORTED = _any(
    r"\b(?:error|exception|traceback|bug|crash\w*|fail(?:s|ed|ing|ure)?|broken|wrong|incorrect\w*|weird)\b",
    r"\b(?:strange|unexpected\w*|stuck|hang(?:s|ing)?|freez\w*|problem)\b|\bissue with\b",
    r"\b(?:does|do|did|is|are|was|can|could|wo|would)(?:n['’]?t| not) "
    r"(?:work|show|appear|load|start|see|update|find|connect|happen|render|seem|get)\w*",
    r"\bwhy (?:do|does|did|is|are|was|were|can|am|i|it|this|the)\b",
    r"\b(?:isn['’]?t|is not|aren['’]?t|are not) (?:part|there|applied|included|visible|shown)\b",
    r"\bnot (?:working|showing|found|correct|right)\b|\bget .{0,80} to work\b",
    "エラー|失敗|動かない|動作しない|バグ|不具合|表示されない|できない|おかしい|에러|오류|안 ?돼|报错|错误",
)
WHY = _any(r"\b(?:why|investigate|debug|diagnos\w*|root cause)\b", "なぜ|原因|왜|为什么")
REFACTORS = _any(
    r"\b(?:refactor\w*|renam\w+|extract\w*|simplif\w+|de-?dup\w*|clean ?up|dead code|split|get rid of)\b",
    r"\b(?:consolidat\w*|restructur\w*)\b|\bmove\b.{1,60}\b(?:to|into)\b",
    "リファクタ|整理|리팩|重构",
)
PLAN_GIVEN = _any("implement the (?:following|attached) plan", "# Plan")
PLAN_ASKED = _any(
    r"\b(?:plan|steps|roadmap|todo|propos\w+|prioriti\w+)\b|\bhow (?:should|would|do) (?:we|you)\b",
    r"\bwhat(?:['’]s| is) next\b|計画|プラン|方針|계획|计划",
)
CHOICE_ASKED = _any(
    r"\bshould (?:we|i|it|this|that)\b|\bor (?:should|would|will|do|is)\b|\bwhat (?:do you think|about"
    r"|if|would)\b",
    r"\bhow (?:should|would|do) (?:we|you)\b|\bneed to (?:allow|support)\b",
    r"\b(?:better|prefer|instead|rather|rename|call it|architecture|design|approach|structure)\b",
    "どう(?:する|思う)|べき|方針|設計",
)
REVIEW_ASKED = _any(
    r"\b(?:review\w*|audit\w*|feedback|double-?check|can we merge|code ?rabbit)\b",
    r"\b(?:pr|pull request) comments?\b|\bcomments? (?:from|by)\b",
    r"\bis (?:everything|this|it|that) (?:ok|okay|correct|right|accurate|good)\b",
    "レビュー|確認して|正確[?？]|리뷰|检查",
)
EXPLORES = _any("explor|investigat|research|find|search|analy[sz]e|understand|look")

# -- what an agent answers or writes -------------------------------------------------------------

CAUSE = _any(
    r"root cause|\bcaus(?:e|ed|ing)\b|because\b|\bdue to\b|turn(?:s|ed) out|\breproduced\b",
    r"the (?:\w+ ){0,2}(?:issue|problem|bug|culprit|reason|error) (?:is|was)\b",
    "原因|なので|ため|원인|때문|问题在于",
)
REFACTORED = _any(r"\b(?:refactored|renamed|extracted|consolidated|de-?duplicated)\b")
ITEM = re.compile(r'"(?:subject|content|step|description|title)"\s*:\s*"')
MAKES_LIST = re.compile(r'"(?:subject|todos|plan|tasks|items)"')
PLAN_TITLE = _any(r"# [^\\\n]{0,80}\b(?:plan|proposal|roadmap|spec)\b")
PLAN_HEADING = _any(
    r"^#{1,4} .{0,60}\b(?:plan|design|steps|phases?|proposal|roadmap|approach|implementation)\b",
    r"^\*\*(?:plan|next steps|phase)|計画|プラン",
    flags=re.IGNORECASE | re.MULTILINE,
)
LIST_LINE = re.compile(r"^\s{0,6}(?:\d{1,2}[.)]|[-*]|#{2,4}) \S", re.MULTILINE)
DECISION = _any(
    r"\b(?:decisions?|rationale):|alternatives considered|### (?:decision|resolution|rationale)",
    r"\*\*(?:decision|rationale)",
)
WEIGHS = _any(
    r"\b(?:trade-?offs?|recommend\w*|alternativ\w+|option [a-d1-4]|pros|cons|rather than|instead of)\b",
    r"\b(?:downside|ambiguous|simpler|cleaner|versus|implications?|over-?engineer\w*)\b|\bvs\.?(?=\s)",
    r"\bi(?:['’]d| would) (?:keep|use|go|call|make|put|split)\b|メリット|デメリット|推奨",
)
STRUCTURE = _any(
    r"\b(?:architecture|interface|protocol|schema|data model|contract|module|crate|package|layer|naming)\b",
    r"\b(?:workflow|api|ownership|descriptor|queue|pool|format|boundary|abstraction|convention|layout)\b",
    r"\b(?:directory|structure|design|semantics|flag|field|namespace|manifest|config\w*)\b|設計|構成|スキーマ",
)
FINDINGS = _any(
    r"\b(?:findings?|lgtm|verdict|not yet)\b|\b(?:critical|major|minor|nit)s?\b.{0,20}:|指摘|問題"
)
