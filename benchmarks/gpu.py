"""What a GPU gives a whole search, and bulk embedding: `python -m benchmarks.gpu --corpus DIR`.

On a machine with one. The same questions go to one open memory, by turns with each strategy, and a
search is everything a caller of `Memory.search` gets; beside it stands what the first search with the GPU
costs. `embed`: a transformer of MiniLM's size (weights at random: the time is the same) as
sentence-transformers runs it, on the processor and on the device.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import product
from benchmarks.measure import percentile
from benchmarks.search_lab import Effort, SearchLab, Stocked

EMBEDDED = 4_000


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=arguments.keep) as scratch:
        effort = Effort(sizes=tuple(arguments.sizes), rounds=arguments.rounds)
        lab = SearchLab(arguments.corpus.resolve(), arguments.keep.resolve(), Path(scratch), effort)
        for stocked in lab.sizes():
            for line in searched(stocked, arguments.rounds):
                print(line, flush=True)
        if arguments.sizes:
            for line in embedded(lab.largest, Path(scratch)):
                print(line, flush=True)
    return 0


def searched(stocked: Stocked, rounds: int) -> list[str]:
    """A line for each strategy: first search, p50 and p95 of a whole one, and how many hits it shares."""
    asked = stocked.questions()
    os.environ.update(product.environment(stocked.home))
    with product.memory(stocked.store) as memory:
        taken: dict[str, list[list[float]]] = {}
        hits: dict[str, list[list[str]]] = {}
        firsts: dict[str, float] = {}
        for name in ("auto", "gpu"):
            start = time.perf_counter()
            memory.search(asked[0], strategy=name)
            firsts[name] = time.perf_counter() - start
            hits[name] = [[hit.id for hit in memory.search(each, strategy=name).hits] for each in asked[:100]]
        for turn in range(rounds):
            for name in ("auto", "gpu") if turn % 2 else ("gpu", "auto"):
                memory.search(asked[0], strategy=name)  # loads it again where another was loaded
                seconds = []
                for each in asked[200:]:
                    start = time.perf_counter()
                    memory.search(each, strategy=name)
                    seconds.append(time.perf_counter() - start)
                taken.setdefault(name, []).append(seconds)
        chosen = memory.search(asked[0]).explain or {}
    same = statistics.fmean(
        len({*ours} & {*theirs}) / max(len(ours), 1) for ours, theirs in zip(*hits.values(), strict=True)
    )
    lines = [f"{stocked.facts['entries']:,} entries, {stocked.facts['vectors']:,} vectors of the subject"]
    for name, turns in taken.items():
        took = [statistics.median(values) * 1e3 for values in zip(*turns, strict=True)]
        lines.append(
            f"  {name:5} first {firsts[name] * 1e3:8.0f} ms   p50 {percentile(took, 0.5):6.2f} ms"
            f"   p95 {percentile(took, 0.95):6.2f} ms"
        )
    return [*lines, f"  same hits: {same:.3f}   auto is: {json.dumps(chosen, default=str)[:300]}"]


def embedded(stocked: Stocked, scratch: Path) -> list[str]:
    """Texts a second of `folder:` with a model that sentence-transformers reads, by device."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    from benchmarks.search_subject import Subject
    from recollect.search.embed.folder import SentenceEmbedder
    from recollect.search.embed.transformer import Reading

    model = _model(scratch / "model")
    texts = [text[:1500] for _, text in zip(range(EMBEDDED), Subject(stocked.subject).texts(), strict=False)]
    lines, rows = [], {}
    for device in ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):
        made = SentenceEmbedder(model, Reading(), device=device)
        made.encode(texts[:64])
        some = texts if device == "cuda" else texts[:500]
        start = time.perf_counter()
        rows[device] = made.encode(some)
        lines.append(f"embed {device}: {len(some) / (time.perf_counter() - start):,.0f} texts a second")
    if len(rows) == 2:
        alike = (rows["cpu"] * rows["cuda"][: len(rows["cpu"])]).sum(axis=1)
        lines.append(f"embed: cosine of both, the least of {len(alike)}: {alike.min():.7f}")
    return lines


def _model(folder: Path) -> Path:
    """A BERT of six layers and 384 numbers with a tokenizer of letters and pairs of them."""
    import itertools
    import string

    from sentence_transformers import SentenceTransformer, models  # type: ignore[import-not-found, unused-ignore]
    from transformers import BertConfig, BertModel, BertTokenizerFast  # type: ignore[import-not-found, unused-ignore]

    folder.mkdir(parents=True)
    letters = string.ascii_lowercase + string.digits + string.punctuation
    pairs = ["".join(each) for each in itertools.product(string.ascii_lowercase, repeat=2)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *pairs]
    words += [f"##{each}" for each in (*letters, *pairs)]
    (folder / "vocab.txt").write_text("\n".join(words))
    bert = folder / "bert"
    config = BertConfig(
        vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    BertModel(config).save_pretrained(bert)
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(bert)
    whole = SentenceTransformer(
        modules=[models.Transformer(str(bert), max_seq_length=256), models.Pooling(384)], device="cpu"
    )
    whole.save(str(folder / "whole"))
    return folder / "whole"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    corpus = os.environ.get("RECOLLECT_CORPUS")
    parser.add_argument("--corpus", type=Path, default=corpus and Path(corpus), required=corpus is None)
    parser.add_argument("--sizes", nargs="+", type=int, default=[300_000], metavar="N")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "recollect-bench-gpu")
    return parser


if __name__ == "__main__":
    sys.exit(main())
