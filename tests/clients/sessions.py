"""Conversations that the real clients had with the stand-in, for others to carry on.

Each of them says in `told` what a reader must find of it, in order, whichever agent reads it: what was
asked, called, given back and answered. One thought of `rich` has no words, only a signature; most real
thoughts are like that.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from tests.clients.clients import Machine
from tests.clients.standin import Block, StandIn, call, message, text, use

TOOLS = ("--allowedTools", "Bash,Read,Agent")
FREE = "--dangerously-bypass-approvals-and-sandbox"


@dataclass(frozen=True)
class Source:
    """A conversation that was had. `thoughts` are the signatures, or encrypted contents, that it holds."""

    agent: str
    session: str
    told: tuple[str, ...]
    thoughts: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()  # what is no part of it any more, or never was


def rich(machine: Machine, standin: StandIn) -> Source:
    """Two prompts to Claude Code, with thoughts, calls, a failure and odd characters."""
    play = standin.script(
        "rich",
        [signed("Look first.", "cmljaDA="), text("I look."), bash("echo lantern")],
        [signed("It fails.", "cmljaDE="), bash("echo bad >&2; exit 3")],
        [signed("", "cmljaDI="), text("Done: é 中文 \u2028 and a nul \u0000.")],
    )
    session = machine.claude(f"{play} Look around in the harbor.", *TOOLS).session
    play = standin.script("richer", [signed("Sum up.", "cmljaDM="), text("The lantern is lit.")])
    machine.claude(f"{play} And the lantern?", "--resume", session)
    told = (
        "Look around in the harbor.",
        "I look.",
        "echo lantern",
        "lantern",
        "exit 3",
        "bad",
        "Done: é 中文 \u2028 and a nul \u0000.",
        "And the lantern?",
        "The lantern is lit.",
    )
    return Source("claude", session, told, ("cmljaDA=", "cmljaDE=", "cmljaDI=", "cmljaDM="))


def parallel(machine: Machine, standin: StandIn) -> Source:
    """Calls at the same time: their records fork, a walk along parents would lose results."""
    play = standin.script(
        "side",
        [signed("All at once.", "c2lkZTA="), text("Three at once."), *(bash(f"echo {n}") for n in _THREE)],
        [bash("sleep 0.2; echo slow"), bash("echo fast")],
        [text("All came back.")],
    )
    session = machine.claude(f"{play} Count.", *TOOLS).session
    told = (
        "Count.",
        "Three at once.",
        "echo one",
        "echo two",
        "echo three",
        "one",
        "two",
        "three",
        "echo slow",
        "echo fast",
        "slow",
        "fast",
        "All came back.",
    )
    return Source("claude", session, told, ("c2lkZTA=",))


def compacted(machine: Machine, standin: StandIn) -> Source:
    """Claude Code's own `/compact`: what was said before is a summary now, but for the last answer."""
    play = standin.script("old", [signed("Old.", "b2xk"), bash("echo forgotten")], [text("An old answer.")])
    session = machine.claude(f"{play} An old question.", *TOOLS).session
    machine.claude("/compact", "--resume", session)
    play = standin.script("new", [signed("New.", "bmV3"), bash("echo fresh")], [text("A new answer.")])
    machine.claude(f"{play} A new question.", "--resume", session, *TOOLS)
    told = (
        "What was said, in the stand-in's words.",
        "An old answer.",
        "A new question.",
        "echo fresh",
        "fresh",
        "A new answer.",
    )
    return Source("claude", session, told, ("bmV3",), lost=("An old question.", "echo forgotten", "b2xk"))


def pictured(machine: Machine, standin: StandIn) -> Source:
    """One picture named in the prompt, another one read by a tool."""
    for name, pixels in (("red.png", _RED), ("green.png", _GREEN)):
        (machine.work / name).write_bytes(png(pixels))
    play = standin.script(
        "look",
        [use("Read", file_path=str(machine.work / "green.png")), bash("echo beside")],
        [text("Two dots.")],
    )
    session = machine.claude(f"{play} What is in @red.png?", *TOOLS).session
    told = (
        "What is in @red.png?",
        encoded(png(_RED)),
        "green.png",
        "echo beside",
        encoded(png(_GREEN)),
        "Two dots.",
    )
    return Source("claude", session, told)


def delegated(machine: Machine, standin: StandIn) -> Source:
    """Two subagents: what they answer is part of the conversation, what they did is not.

    The newest client tells their answers as they come, so the second one takes its time.
    """
    common = {"description": "count", "subagent_type": "general-purpose"}
    near, far = (use("Agent", **common, prompt=f"play:{name}") for name in ("near", "far"))
    play = standin.script("lead", [signed("Let others.", "bGVhZA=="), near, far], [text("Both are back.")])
    standin.script("near", [bash("echo inside near")], [text("Near has one.")])
    standin.script("far", [bash("sleep 3; echo inside far")], [text("Far has two.")])
    session = machine.claude(f"{play} Let them count.", *TOOLS).session
    told = ("Let them count.", "play:near", "play:far", "Near has one.", "Far has two.", "Both are back.")
    return Source("claude", session, told, ("bGVhZA==",), lost=("inside near", "inside far"))


def codex_rich(machine: Machine, standin: StandIn) -> Source:
    """Two prompts to Codex: encrypted thoughts, calls at the same time, pictures, a call in free text."""
    for name, pixels in (("red.png", _RED), ("green.png", _GREEN)):
        (machine.work / name).write_bytes(png(pixels))
    patch = {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n*** End Patch\n"}
    play = standin.script(
        "coxswain",
        [
            encrypted("Both at once.", "Y294MA=="),
            message("I look."),
            shell("echo rudder"),
            call("view_image", path=str(machine.work / "green.png")),
        ],
        [encrypted("", "Y294MQ=="), patch],
        [message("Steered: é 中文.")],
    )
    session = machine.codex(FREE, "-i", str(machine.work / "red.png"), "--", f"{play} Steer.").session
    play = standin.script("again", [encrypted("Once more.", "Y294Mg=="), message("Steady.")])
    machine.codex(FREE, "resume", session, f"{play} And now?")
    told = (
        encoded(png(_RED)),
        "Steer.",
        "I look.",
        "echo rudder",
        "green.png",
        "rudder",
        encoded(png(_GREEN)),
        "*** Begin Patch",
        "apply_patch",
        "Steered: é 中文.",
        "And now?",
        "Steady.",
    )
    return Source("codex", session, told, ("Y294MA==", "Y294MQ==", "Y294Mg=="))


def codex_compacted(machine: Machine, standin: StandIn) -> Source:
    """Codex compacts by itself, in the middle of a conversation."""
    first = [encrypted("Old.", "b2xk"), shell("echo forgotten")]
    play = standin.script("old", first, [message("An old answer.")])
    session = machine.codex(FREE, f"{play} An old question.").session
    limit = ("-c", "model_auto_compact_token_limit=500")
    play = standin.script("between", [message("Between.")])
    machine.codex(FREE, *limit, "resume", session, f"{play} Half way.")
    play = standin.script("new", [encrypted("New.", "bmV3"), shell("echo fresh")], [message("A new answer.")])
    machine.codex(FREE, "resume", session, f"{play} A new question.")
    told = (
        "An old question.",
        "What was said, in the stand-in's words.",
        "A new question.",
        "echo fresh",
        "fresh",
        "A new answer.",
    )
    return Source("codex", session, told, ("bmV3",), lost=("An old answer.", "echo forgotten", "b2xk"))


def lighthouses(machine: Machine, standin: StandIn) -> list[Source]:
    """Three conversations about one thing, the second one with Codex, and a fourth about another."""
    first = standin.script(
        "lens",
        [signed("A lighthouse lens is glass.", "bGVucw=="), bash("echo lighthouse lens polished")],
        [text("The lighthouse lens is polished with chalk.")],
    )
    second = standin.script(
        "oil",
        [encrypted("Lighthouse oil is scarce.", "b2ls"), shell("echo lighthouse oil refilled")],
        [message("The lighthouse oil lasts nine nights.")],
    )
    third = standin.script("horn", [text("The lighthouse horn sounds in fog, twice a minute.")])
    fourth = standin.script("soup", [text("Leeks first, then potatoes.")])
    lens = machine.claude(f"{first} Polish the lighthouse lens.", *TOOLS).session
    oil = machine.codex(FREE, f"{second} Refill the lighthouse oil.").session
    horn = machine.claude(f"{third} When does the lighthouse horn sound?").session
    soup = machine.claude(f"{fourth} How is soup made?").session
    return [
        Source("claude", lens, ("Polish the", "lens polished", "polished with chalk"), ("bGVucw==",)),
        Source("codex", oil, ("Refill the", "oil refilled", "lasts nine nights"), ("b2ls",)),
        Source("claude", horn, ("When does the", "twice a minute")),
        Source("claude", soup, ("How is soup", "Leeks first")),
    ]


def signed(words: str, signature: str) -> Block:
    return {"type": "thinking", "thinking": words, "signature": signature}


def encrypted(words: str, content: str) -> Block:
    summary = [{"type": "summary_text", "text": words}] if words else []
    return {"type": "reasoning", "summary": summary, "encrypted_content": content}


def bash(command: str) -> Block:
    return use("Bash", command=command, description="a step")


def shell(command: str) -> Block:
    return call("exec_command", cmd=command, yield_time_ms=20_000)


def png(pixel: Sequence[int], side: int = 1) -> bytes:
    """A picture of one colour."""
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes([0, *(list(pixel) * side)]) * side)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


_THREE = ("one", "two", "three")
_RED, _GREEN = (255, 0, 0), (0, 255, 0)
