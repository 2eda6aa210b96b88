"""How a session ended: from its last request on which work was done, and what its end shows.

The last thing that happened decides first: an interrupt, a prompt without an answer, an error of the agent
itself, a call that nothing came of. Where the agent closed with an answer, the person's last words, the
checks that were run last and what the agent says of them decide; a word alone never does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.agents.registry import all_tools
from recollect.insight.digest.changes import is_change
from recollect.insight.digest.checks import FAILED as RED
from recollect.insight.digest.checks import PASSED as GREEN
from recollect.insight.digest.checks import result_of, test_parts
from recollect.insight.digest.steps import Exchange, Step
from recollect.search.sentences import is_narration
from recollect.values.digests import Ending, Outcome

CLOSING_CHARS = 6_000  # of an answer, from either end
_ASKED_CHARS = 400
_SHORT_CHARS = 160  # of a prompt that says nothing but that it is over
_TAIL_STEPS = 3


def ending(made: Sequence[Exchange]) -> Ending:
    """How these exchanges, all of a session, ended."""
    asked = [each for each in made if _is_request(each)]
    if not asked:
        return Ending(Outcome.UNKNOWN, "nothing was asked")
    last = asked[-1]
    if not last.has_work:
        return _unworked(asked)
    if last.stops and last.last is not None and last.last.row <= last.stops[-1].row:
        return _stopped(last)
    if last.errors and last.errors[-1].row > max(last.worked, last.said[-1].row if last.said else -1):
        return Ending(Outcome.FAILED, "an error of the agent ended it", last.errors[-1].id)
    if last.closing is None and last.steps:
        return _cut(last)
    return _closed(last)


def _is_request(exchange: Exchange) -> bool:
    """Whether something was wanted: a command of the client is none where the agent did nothing about it."""
    return exchange.prompt is not None and (exchange.has_work or not exchange.is_command)


# -- ends that no answer closes ------------------------------------------------------------------


def _unworked(asked: Sequence[Exchange]) -> Ending:
    last = asked[-1]
    assert last.prompt is not None
    if last.errors:
        return Ending(Outcome.FAILED, "an error of the agent answered it", last.errors[-1].id)
    if any(step.is_refused for step in last.steps):
        return Ending(Outcome.ABANDONED, "the first step was refused", last.prompt.id)
    if last.stops or _NOT_MEANT.fullmatch(last.asked.strip()):
        # A request that was taken back at once says nothing of the work before it.
        before = [each for each in asked[:-1] if each.has_work]
        return ending(before) if before else Ending(Outcome.ABANDONED, "interrupted", last.prompt.id)
    if last.is_over:
        return Ending(Outcome.FAILED, "the agent came back without an answer", last.prompt.id)
    return Ending(Outcome.ABANDONED, "the last prompt was not answered", last.prompt.id)


def _stopped(last: Exchange) -> Ending:
    """Ended by an interrupt or a refusal; one behind the closing answer stopped nothing any more."""
    closing = last.closing
    if closing is not None and not _only_announces(closing.entry.text):
        return _closed(last)
    step = last.steps[-1] if last.steps else None
    why = "interrupted"
    if step is not None and step.is_refused:
        why = "the plan was refused" if step.tool in all_tools().propose else "the last step was refused"
    return Ending(Outcome.ABANDONED, why, last.stops[-1].id)


def _cut(last: Exchange) -> Ending:
    """The log ends amid the work: nothing tells how it went on, except at the commit that was asked for."""
    step = last.steps[-1]
    if step.is_refused:
        return Ending(Outcome.ABANDONED, "the last step was refused", step.call.id)
    if step.tool in all_tools().ask or step.tool in all_tools().propose:
        return Ending(Outcome.ABANDONED, "a question was not answered", step.call.id)
    if not step.has_failed and any(_DELIVERS.match(" ".join(part.words)) for part in step.parts):
        return Ending(Outcome.SUCCESS, "ends at the commit", step.call.id)
    return Ending(Outcome.UNKNOWN, "ends amid the work", step.call.id)


# -- ends that an answer closes ------------------------------------------------------------------


def _closed(last: Exchange) -> Ending:
    closing = last.closing or last.said[-1]
    text = _plain(closing.entry.text)
    request = last.asked[:_ASKED_CHARS].strip()
    if _PLEASED.match(request) and len(request) < _SHORT_CHARS:
        return Ending(Outcome.SUCCESS, "the person was content", last.prompt.id if last.prompt else "")
    if _TAKEN_BACK.search(request) and len(request) < _SHORT_CHARS:
        return Ending(Outcome.FAILED, "the work was taken back", last.prompt.id if last.prompt else "")
    if _only_announces(text) and last.steps and not _has_changed(last):
        return Ending(Outcome.UNKNOWN, "ends amid the work", closing.id)
    red = _red_check(last)
    if _admits(last, text, red):
        return Ending(Outcome.FAILED, "the closing answer says so", closing.id)
    if red is not None and _has_changed(last) and not _EXCUSED.search(text) and not _DONE.search(text):
        return Ending(Outcome.FAILED, "the last check failed", red.call.id)
    if _needs_answer(last, text):
        return Ending(Outcome.ABANDONED, "a question was not answered", closing.id)
    return Ending(Outcome.SUCCESS, "closed with an answer", closing.id)


def _admits(last: Exchange, text: str, red: Step | None) -> bool:
    """Whether a closing answer tells of a failure, and something else bears it out."""
    if not _FAILURE.search(text):
        return False
    if red is not None:
        return True
    if _has_changed(last):
        return False
    return bool(_REPORTS.search(last.asked[:_ASKED_CHARS])) or (
        _ends_in_error(last) and not _DONE.search(text)
    )


def _ends_in_error(last: Exchange) -> bool:
    """Whether the last steps of an exchange all failed of themselves."""
    tail = last.steps[-_TAIL_STEPS:]
    return len(tail) > 1 and all(step.has_failed and not step.is_trifle for step in tail)


def _red_check(last: Exchange) -> Step | None:
    """The last test run of an exchange, if it failed."""
    for step in reversed(last.steps):
        if test_parts(step):
            result = result_of(step)
            if result in (RED, GREEN):
                return step if result == RED else None
    return None


def _has_changed(last: Exchange) -> bool:
    return any(is_change(step) for step in last.steps)


def _needs_answer(last: Exchange, text: str) -> bool:
    """Whether nothing was done, and the agent cannot go on without being told something.

    An offer ("shall I also ...?") is none, unless it stands there because something was in the way.
    """
    if _has_changed(last) or last.asked.rstrip().endswith(("?", "？")):
        return False
    tail = text.rstrip()[-_ASKED_CHARS:]
    if not tail.rstrip("* _`)\n").endswith(("?", "？")):
        return False
    is_hindered = any(step.has_failed or step.is_refused for step in last.steps[-_TAIL_STEPS:])
    return bool(_NEEDS.search(tail) or (is_hindered and _OFFERS.search(tail)))


def _plain(text: str) -> str:
    if len(text) > 2 * CLOSING_CHARS:
        text = f"{text[:CLOSING_CHARS]}\n{text[-CLOSING_CHARS:]}"
    return _CODE.sub("\n", text)


def _only_announces(text: str) -> bool:
    """Whether an answer only says what comes next."""
    last = _SENTENCE.split(text.strip())[-1]
    return len(text) < 300 and is_narration(last)


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_NOT_MEANT = _words(r":\w{1,3}!?", r"[/!]?\w{0,2}", "exit|quit|clear")
_DELIVERS = _words(r"(?:git|jj) (?:-\S+ )*(?:commit|push)\b", "gh pr (?:create|merge)")
_PLEASED = _words(
    r"(?:great|perfect|awesome|excellent|nice|cool|thank(?:s| you)|thx|ty|lgtm|looks? good"
    r"|works?(?: now| great)?)\b"
    r"(?!.{0,80}\b(?:but|now|next|can you|please|however)\b)",
    "ありがとう|完璧|감사",
)
_TAKEN_BACK = _words(
    r"^\W{0,3}(?:no,? |ok,? |please )*(?:revert|undo|roll ?back|discard|throw away|scrap)\b.{0,40}"
    r"\b(?:all|everything|it|this|that|changes?|work)\b",
    r"\b(?:never ?mind|forget (?:it|about it)|i give up|giving up)\b",
)
_REPORTS = _words(
    r"^(?:nope\b|no,? (?!need|problem)|still\b)",
    r"\bstill (?:not|no|fail\w*|broken|get(?:ting)?|see(?:ing)?|the same|doesn['’]?t|isn['’]?t)\b",
    r"\b(?:does|did|is|are)(?:n['’]?t| not) (?:work|show|appear|help|load|start|there)\w*|\bnot working\b",
    r"\bno effect\b|\bsame (?:error|problem|issue)\b|\bi (?:don['’]?t|can['’]?t|cannot) see\b",
    "動かない|動きません|まだ|ダメ|だめ|直って(?:い)?ない|안 ?돼|안 ?되",
)
_FAILURE = _words(
    r"\bstill (?:fail(?:s|ing)?|broken|does(?:n['’]t| not) work)\b|\b(?:does|did)(?:n['’]t| not) work\b",
    r"\b(?:could|was|were)(?:n['’]t| not) (?:able to )?(?:complete|finish|fix|solve|install|get|reach"
    r"|connect)",
    r"\bunable to (?:complete|finish|install|build|run|fix|connect|access|reach)|\bi(?:['’]m"
    r"| am) (?:stuck|blocked)\b",
    r"\bcannot (?:be )?(?:complet|finish|install|proceed|continue|access)|\bcan['’]t (?:proceed"
    r"|continue|access)",
    r"\bremains? (?:broken|unfixed|unresolved)\b|\bnot (?:yet )?(?:working|resolved|fixed)\b",
    r"(?:test|build|install)\w*[^\n]{0,40}(?:失敗|実行不可)",
    "未完了|実行できません|解決していません|できませんでした",
)
_DONE = _words(
    r"\b(?:done|fixed|committed|pushed|implemented|complet(?:e|ed)|merged|deployed|passes|added|updated)\b",
    r"\ball (?:\w+ )?tests pass|\b(?:removed|created)\b|完了|しました|済み|했습니다|완료|已完成",
)
_EXCUSED = _words(
    r"pre-?existing|unrelated|flak(?:y|e)|not (?:caused|related)|timed? ?out|sandbox|network|既存|無関係"
)
_NEEDS = _words(
    r"\bwhich (?:one|of|option|approach|way|do you|would you)\b|\bdo you prefer\b|\bwould you prefer\b",
    r"\b(?:can|could) you (?:provide|share|paste|confirm|tell|clarify|give|run|check|describe|point)\b",
    r"\bwhat would you like\b|\bhow (?:would|do|should) (?:you|we|i)\b|\bwhat (?:should|do) (?:i|you)\b",
    "どちら|どれ|どうしますか",
)
_OFFERS = _words(
    r"\b(?:should i|shall i|want me to|would you like|do you want|may i|is it ok)\b|よろしいですか|ますか"
)
