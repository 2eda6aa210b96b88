"""Make the table that ships: distil all-MiniLM-L6-v2, train the table on pairs, average, quantise.

    python training/train.py distil  MODEL_FOLDER WORK          # 1 minute of two cores
    python training/train.py arrays  WORK                       # pairs.jsonl as rows of the table
    python training/train.py teach   MODEL_FOLDER WORK          # the model's vectors of all texts; GPU
    python training/train.py train   WORK --seed N --out A.npz  # seconds on a GPU, an hour on two cores
    python training/train.py average WORK A.npz B.npz ... --out FILE.npz

WORK holds `pairs.jsonl` from collect.py and receives everything else. `train` needs torch and numpy
alone, so that it runs on a machine with nothing else; the others need what requirements.txt names.

Surprising: words are cut by the encoder that ships, not by the model's tokenizer. What training sees
of a text is exactly what searching will see of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
Part = tuple[np.ndarray, np.ndarray]  # a phrase for each text, and whether it is there
ROWS_MAX = 160  # distinct rows of a document that training looks at
TALK = Path(__file__).with_name("talk.txt")
TALK_MAX = {"q": 2, "d": 4}  # phrases of talk that a text may get; each comes with a chance of a half
TIMED = 0.3  # share of pairs whose question asks for a time and whose document names one


def distil(model: Path, work: Path) -> None:
    """The model's own vocabulary through the model, PCA to 256 dimensions, Zipf weights."""
    from model2vec.distill import distill

    digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    if digest != MODEL_SHA256:
        raise SystemExit(f"{model}: not the weights this table is made from ({digest})")
    static = distill(str(model), pca_dims=256)
    static.save_pretrained(str(work / "untrained"))
    pieces = json.loads((work / "untrained/tokenizer.json").read_text())["model"]["vocab"]
    vocabulary = "\n".join(sorted(pieces, key=pieces.__getitem__)).encode()
    write(work / "untrained.npz", vocabulary, static.embedding.astype(np.float32))


def arrays(work: Path) -> None:
    """Pairs as rows of the table: flat arrays, which travel well and need no tokenizer to train on."""
    pairs = kept(work)
    kind_of = [pair[0].split("/")[-1] for pair in pairs]
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(kind_of))}
    talk = [line.rstrip("\n").split("\t") for line in TALK.open() if not line.startswith("#")]
    texts = [text for pair in pairs for text in pair[1:]] + [phrase for _, phrase in talk]
    with multiprocessing.Pool(initializer=start_rows, initargs=(work,)) as pool:
        found = pool.map(rows_of, texts, chunksize=4096)
    np.savez_compressed(
        work / "pairs.npz",
        rows=np.concatenate([rows for rows, _ in found]),
        counts=np.concatenate([counts for _, counts in found]),
        lengths=np.array([len(rows) for rows, _ in found], dtype=np.uint16),
        kinds=np.array([kinds[kind] for kind in kind_of], dtype=np.uint8),
        names=np.array(list(kinds)),
        talk=np.array([side for side, _ in talk]),
    )
    print(len(pairs), "pairs", kinds)


def start_rows(work: Path) -> None:
    global encoder
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
    from recollect.search.embed.static import StaticEmbedder

    encoder = StaticEmbedder.load(work / "untrained.npz")


def rows_of(text: str) -> tuple[np.ndarray, np.ndarray]:
    rows, counts = np.unique(np.array(encoder.rows(text), dtype=np.int64), return_counts=True)
    return rows[:ROWS_MAX].astype(np.uint16), np.minimum(counts[:ROWS_MAX], 255).astype(np.uint8)


def kept(work: Path) -> list[list[str]]:
    """The pairs with something to learn from on either side."""
    pairs = [json.loads(line) for line in (work / "pairs.jsonl").open()]
    return [pair for pair in pairs if all(re.search(r"[A-Za-z]{2}", text) for text in pair[1:])]


def teach(model: Path, work: Path) -> None:
    """The model's own vectors of every query and document, so that training can copy what it finds alike."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(model))
    network = AutoModel.from_pretrained(str(model)).half().cuda().eval()
    texts = [text for pair in kept(work) for text in pair[1:]]
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = torch.empty((len(texts), 384), dtype=torch.float16)
    began = time.time()
    for at in range(0, len(order), 1024):
        part = order[at : at + 1024]
        words = tokenizer(
            [texts[i] for i in part], padding=True, truncation=True, max_length=128, return_tensors="pt"
        ).to("cuda")
        with torch.inference_mode():
            states = network(**words).last_hidden_state
            mask = words["attention_mask"][:, :, None]
            mean = (states * mask).sum(1) / mask.sum(1)
            vectors[part] = torch.nn.functional.normalize(mean.float()).half().cpu()
    np.save(work / "teacher.npy", vectors.numpy())
    print(len(texts), f"texts {time.time() - began:.0f} s", flush=True)


def train(work: Path, out: Path, options: argparse.Namespace) -> None:
    """Queries and documents of a batch must find each other: InfoNCE both ways over the table."""
    import torch
    import torch.nn.functional as nn

    torch.manual_seed(options.seed)
    torch.use_deterministic_algorithms(False)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    vocabulary, floats = read(work / "untrained.npz")
    start = torch.tensor(floats, device=device)
    start /= start.norm(dim=1).mean()
    pairs = Pairs(work / "pairs.npz", device, options)
    bag = torch.nn.EmbeddingBag.from_pretrained(start.clone(), freeze=False, mode="sum")
    optimizer = torch.optim.Adam(bag.parameters(), lr=options.lr)
    batches = pairs.batches(pairs.rng)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.lr, total_steps=len(batches), pct_start=0.1
    )
    began = time.time()
    losses: list[float] = []

    def embed(*text: Any) -> torch.Tensor:
        rows, offsets, weights = pairs.bags(*text)
        return nn.normalize(bag(rows, offsets, per_sample_weights=weights))

    for step, (batch, keep) in enumerate(batches):
        asked, told = pairs.phrases(len(batch)) if pairs.rng.random() < options.talk else ([], [])
        document = embed(2 * batch + 1, told)
        query = embed(2 * batch + 1 if keep else 2 * batch, asked, keep)
        scores = query @ document.T / options.temperature
        target = torch.arange(len(batch), device=device)
        loss = (nn.cross_entropy(scores, target) + nn.cross_entropy(scores.T, target)) / 2
        if options.teach and not keep:
            alike = pairs.teacher[2 * batch] @ pairs.teacher[2 * batch + 1].T / options.temperature
            loss = (1 - options.teach) * loss + options.teach * (
                nn.cross_entropy(scores, alike.float().softmax(1))
                + nn.cross_entropy(scores.T, alike.T.float().softmax(1))
            ) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if step % 200 == 199:
            print(
                f"{step + 1}/{len(batches)} {np.mean(losses[-200:]):.4f} {time.time() - began:.0f} s",
                flush=True,
            )
    write(out, vocabulary, bag.weight.detach().cpu().numpy())


def average(work: Path, runs: list[Path], out: Path, mix: float) -> None:
    """The mean of runs that differ in their seed, and a share of the untrained table.

    Rows move on the scale of the untrained table, so the mean needs no rescaling.
    """
    vocabulary, floats = read(work / "untrained.npz")
    start = floats / np.linalg.norm(floats, axis=1).mean()
    trained = sum(read(run)[1] for run in runs) / len(runs)
    write(out, vocabulary, (mix * trained + (1 - mix) * start).astype(np.float32))


class Pairs:
    """The flat arrays on the device; text 2i is pair i's query and 2i + 1 its document."""

    def __init__(self, path: Path, device: str, options: argparse.Namespace) -> None:
        import torch

        data = np.load(path)
        self.lengths = data["lengths"].astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        phrases = len(self.lengths) - len(data["talk"]) + np.arange(len(data["talk"]))
        self.talk = {side: phrases[data["talk"] == side] for side in np.unique(data["talk"])}
        self.rng = np.random.default_rng(options.seed)
        self.rows = torch.tensor(data["rows"].astype(np.int32), device=device)
        # The encoder weighs a word by the root of its count.
        self.weights = torch.tensor(np.sqrt(data["counts"].astype(np.float32)), device=device)
        self.kinds, self.names = data["kinds"], list(data["names"])
        self.device, self.options = device, options
        if options.teach:
            self.teacher = torch.tensor(np.load(path.with_name("teacher.npy")), device=device)

    def batches(self, rng: np.random.Generator) -> list[tuple[np.ndarray, int]]:
        """Epochs of shuffled batches; each holds one kind of pair, so that no kind is told by its looks.

        The number beside a batch: 0 for the pairs as they are; else the query is about that many words
        of the document itself, which teaches the rows how much each word tells.
        """
        size, found = self.options.batch, []
        shares = json.loads(self.options.shares)
        for _ in range(self.options.epochs):
            epoch: list[tuple[np.ndarray, int]] = []
            for kind, name in enumerate(self.names):
                members = np.flatnonzero(self.kinds == kind)
                for share, keep in (
                    (shares.get(str(name), 1.0), 0),
                    (self.options.cloze, self.options.cloze_words),
                ):
                    if keep and self.lengths[2 * members + 1].mean() < 3 * keep:
                        continue
                    chosen = rng.permutation(members)[: int(len(members) * share)]
                    parts = [chosen[at : at + size] for at in range(0, len(chosen) - size // 2, size)]
                    epoch += [(part, keep) for part in parts]
            found += [epoch[i] for i in rng.permutation(len(epoch))]
        return found

    def phrases(self, count: int) -> tuple[list[Part], list[Part]]:
        """Talk around the questions and around the documents of a batch: each phrase is there by chance."""

        def some(side: str, there: np.ndarray) -> Part:
            return self.rng.choice(self.talk[side], count), there

        asked, told = (
            [some(side, self.rng.random(count) < 0.5) for _ in range(TALK_MAX[side])] for side in ("q", "d")
        )
        timed = self.rng.random(count) < TIMED
        return [*asked, some("qt", timed)], [*told, some("dt", timed)]

    def bags(self, texts: np.ndarray, around: list[Part], keep: int = 0) -> tuple[Any, Any, Any]:
        """Rows, offsets and weights of some texts, as EmbeddingBag wants them; about `keep` words of each."""
        import torch

        which = np.stack([texts, *(part for part, _ in around)], axis=1)
        lengths = self.lengths[which]
        lengths[:, 1:] *= np.stack([there for _, there in around], axis=1) if around else 1
        each, whole = lengths.ravel(), lengths.sum(axis=1)
        at = np.repeat(self.starts[which].ravel() - np.cumsum(each) + each, each) + np.arange(each.sum())
        index = torch.tensor(at, device=self.device)
        weights = self.weights[index]
        if keep:
            chance = torch.tensor(np.repeat(keep / whole, whole), device=self.device, dtype=torch.float32)
            weights = weights * (torch.rand(len(at), device=self.device) < chance)
        offsets = torch.tensor(np.cumsum(whole) - whole, device=self.device, dtype=torch.int32)
        return self.rows[index], offsets, weights


def write(path: Path, vocabulary: bytes, floats: np.ndarray) -> None:
    """The file that ships: int8 a row with its scale, the vocabulary, a revision.

    The revision is a hash of what was written, so equal tables have equal names.
    """
    scales = np.maximum(np.abs(floats).max(axis=1), 1e-12).astype(np.float32) / np.float32(127)
    rows = np.clip(np.rint(floats / scales[:, None]), -127, 127).astype(np.int8)
    words = np.frombuffer(vocabulary, dtype=np.uint8)
    revision = hashlib.sha256(b"".join(part.tobytes() for part in (words, rows, scales))).hexdigest()[:12]
    np.savez(path, vocabulary=words, table=rows, scales=scales, revision=np.array(revision))
    print(path, revision)


def read(path: Path) -> tuple[bytes, np.ndarray]:
    with np.load(path) as data:
        return data["vocabulary"].tobytes(), data["table"] * data["scales"][:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["distil", "arrays", "teach", "train", "average"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=20261115)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--temperature", type=float, default=0.03)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--mix", type=float, default=0.9)
    parser.add_argument("--shares", default="{}", help="share of a kind of pair that an epoch takes, as JSON")
    parser.add_argument(
        "--cloze", type=float, default=0.3, help="share of documents asked for by their own words"
    )
    parser.add_argument("--teach", type=float, default=0.5, help="share of the loss that copies the model")
    parser.add_argument("--talk", type=float, default=0.6, help="share of batches with talk around the texts")
    parser.add_argument("--cloze-words", type=int, default=6)
    options = parser.parse_args()
    work = options.paths[0] if options.step == "average" else options.paths[-1]
    if options.step == "distil":
        distil(options.paths[0], work)
    elif options.step == "arrays":
        arrays(work)
    elif options.step == "teach":
        teach(options.paths[0], work)
    elif options.step == "average":
        average(work, options.paths[1:], options.out, options.mix)
    else:
        train(work, options.out or work / "trained.npz", options)


if __name__ == "__main__":
    main()
