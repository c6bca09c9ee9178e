"""What a generation knows of its words: in how many chunks each term stands, and its words by phonetic key.

Two Arrow files beside the points, part of every published generation, memory-mapped by readers:

    terms.arrow     index (the term's sparse dimension), chunks; ascending
    words.arrow     key (digest of a phonetic key), word, chunks; ascending; one row a key of the word

The next generation's are the last one's with the counts of removed and added chunks. How a text becomes terms
and words, and a word keys, is decided in ``text``.
"""

from __future__ import annotations

import bisect
import hashlib
import logging
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_platform.errors import DamagedFile
from rag_platform.index.files import sync_folder, sync_tree
from rag_platform.index.lexical import TermWeights, document_weights, term_index
from rag_platform.storage import storage_errors
from rag_platform.text import romanize
from rag_platform.text.analyze import ALL
from rag_platform.types import AnalyzerOptions, Chunk

__all__ = ["RECIPE", "StoredLexicon", "Tally", "following"]

logger = logging.getLogger(__name__)

RECIPE = f"lexicon-2 {romanize.RECIPE}"
"""Version of the files, and of how words are found and filed."""

_REMEDY = "publish again (rag ingest --force PATH builds the collection anew)"
_TERMS = pa.schema([("index", pa.uint32()), ("chunks", pa.int64())])
_WORDS = pa.schema([("key", pa.uint64()), ("word", pa.large_string()), ("chunks", pa.int64())])
_N_CHUNKS = b"n_chunks"


class Tally:
    """Counts of some chunks: how many hold each term of an analyzer, and each word."""

    def __init__(self, chunks: Iterable[Chunk] = (), analyzer: AnalyzerOptions = ALL) -> None:
        self.n_chunks, self.analyzer = 0, analyzer
        self.terms: Counter[int] = Counter()
        self.words: Counter[str] = Counter()
        for chunk in chunks:
            self.add(chunk)

    def add(self, chunk: Chunk, weights: TermWeights | None = None) -> None:
        """Count a chunk; its weights where they are at hand save finding its terms again."""
        self.n_chunks += 1
        self.terms.update((weights or document_weights(chunk.indexed_text, self.analyzer)).indices)
        forms = romanize.vocabulary_forms(chunk.indexed_text)
        self.words.update(form for form in forms if romanize.word_keys(form))  # ॐ sounds like nothing typed


def following(
    before: StoredLexicon, *, added: Tally, removed: Tally, chunks: Callable[[], Iterable[Chunk]]
) -> StoredLexicon:
    """Return the lexicon of the next generation; where the last one's is wrong, of all its ``chunks``."""
    try:
        return before.changed(added=added, removed=removed)
    except DamagedFile as error:
        logger.warning("all chunks are read to count their words: %s", error)
        return StoredLexicon.of(Tally(chunks(), before.analyzer))


class StoredLexicon:
    """Terms and words of one generation; immutable and safe to share between threads."""

    def __init__(
        self, n_chunks: int, terms: pa.Table, words: pa.Table, analyzer: AnalyzerOptions = ALL
    ) -> None:
        self.n_chunks, self._terms, self._words, self.analyzer = n_chunks, terms, words, analyzer
        self._indices, self._frequencies = _column(terms, "index"), _column(terms, "chunks")
        self._keys = _column(words, "key")

    @classmethod
    def of(cls, tally: Tally) -> Self:
        """Return the lexicon of exactly these chunks."""
        empty = cls(0, _TERMS.empty_table(), _WORDS.empty_table(), tally.analyzer)
        return empty.changed(added=tally, removed=Tally())

    @classmethod
    def open(cls, folder: Path, n_chunks: int, analyzer: AnalyzerOptions = ALL) -> Self:
        """Map the files of a generation; they stay readable when the folder is removed.

        Args:
            folder: Of the files.
            n_chunks: Of the generation.
            analyzer: That its terms are of.

        Raises:
            DamagedFile: They are missing, damaged, or those of another number of chunks.
            StorageError: They cannot be read.
        """
        terms, words = (_read(folder / name, schema) for name, schema in _files())
        for name, table in (("terms.arrow", terms), ("words.arrow", words)):
            if (counted := int(table.schema.metadata[_N_CHUNKS])) != n_chunks:
                raise DamagedFile(f"{folder / name} counts {counted} chunks instead of {n_chunks}; {_REMEDY}")
        return cls(n_chunks, terms, words, analyzer)

    def save(self, folder: Path) -> None:
        """Write the files into a folder that nobody reads yet; the caller makes them durable."""
        folder.mkdir(parents=True)
        metadata = {_N_CHUNKS: str(self.n_chunks).encode()}
        for (name, schema), table in zip(_files(), (self._terms, self._words), strict=True):
            labelled = schema.with_metadata(metadata)
            with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_file(file, labelled) as writer:
                writer.write_table(table.combine_chunks())

    def replace(self, folder: Path) -> None:
        """Write the files durably into a folder that appears whole, in place of what was there.

        Raises:
            OSError: They cannot be written.
        """
        building = folder.with_name(f"{uuid.uuid4().hex}.building{folder.suffix}")
        try:
            self.save(building)
            sync_tree(building)
            shutil.rmtree(folder, ignore_errors=True)
            building.rename(folder)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        sync_folder(folder.parent)

    def frequency(self, term: str) -> int:
        """Return the number of chunks with an analyzed term; terms that share a dimension count together."""
        index = np.uint32(term_index(term))  # a plain int would have the whole column converted
        row = int(np.searchsorted(self._indices, index))
        return int(self._frequencies[row]) if row < len(self._indices) and self._indices[row] == index else 0

    def candidates(self, key: str) -> Sequence[tuple[str, int]]:
        """Return the words filed under a phonetic key, each with the number of chunks that hold it."""
        digest = np.uint64(_digest(key))
        first = int(np.searchsorted(self._keys, digest, "left"))
        rows = self._words.slice(first, int(np.searchsorted(self._keys, digest, "right")) - first)
        return list(zip(rows["word"].to_pylist(), rows["chunks"].to_pylist(), strict=True))

    def changed(self, *, added: Tally, removed: Tally) -> Self:
        """Return the lexicon after some chunks went and others came.

        Raises:
            DamagedFile: A count would be negative, so the files do not belong to the points.
        """
        n_chunks = self.n_chunks + added.n_chunks - removed.n_chunks
        terms = _merged(self._terms, "index", _difference(added.terms, removed.terms), _term_rows)
        words = _merged(self._words, "word", _difference(added.words, removed.words), _word_rows)
        return type(self)(n_chunks, terms, words, self.analyzer)


def _files() -> tuple[tuple[str, pa.Schema], ...]:
    return (("terms.arrow", _TERMS), ("words.arrow", _WORDS))


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    with storage_errors("read", path):
        try:
            # Mapped: it costs nothing until used, processes share it, and it outlives its folder.
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            table.validate()
        except FileNotFoundError:
            raise DamagedFile(f"{path} is missing; {_REMEDY}") from None
        except pa.ArrowInvalid as error:
            raise DamagedFile(f"{path} is damaged ({str(error).splitlines()[0]}); {_REMEDY}") from error
    if not table.schema.equals(schema) or _N_CHUNKS not in (table.schema.metadata or {}):
        raise DamagedFile(f"{path} has other columns than {schema.names}; {_REMEDY}")
    return table


def _column(table: pa.Table, name: str) -> Any:  # noqa: ANN401
    """Return a column as an array without copying it."""
    chunks = table[name].chunks
    return chunks[0].to_numpy() if chunks else np.array([], table.schema.field(name).type.to_pandas_dtype())


def _difference(added: Counter[Any], removed: Counter[Any]) -> dict[Any, int]:
    changes = dict(added)
    for key, n in removed.items():
        changes[key] = changes.get(key, 0) - n
    return {key: n for key, n in changes.items() if n}


def _term_rows(changes: dict[int, int]) -> pa.Table:
    return pa.table([list(changes), list(changes.values())], schema=_TERMS)


def _word_rows(changes: dict[str, int]) -> pa.Table:
    rows = [(_digest(key), word, n) for word, n in changes.items() for key in set(romanize.word_keys(word))]
    return pa.table([list(column) for column in zip(*rows, strict=True)] or [[], [], []], schema=_WORDS)


def _digest(key: str) -> int:
    """Return 64 bits of a key: with a million of them, two share one once in 30 million vocabularies."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")


def _merged(
    rows: pa.Table, name: str, changes: dict[Any, int], rows_of: Callable[[dict[Any, int]], pa.Table]
) -> pa.Table:
    """Return rows with changed counts, in order; those of nothing are left out.

    Args:
        rows: A table of ours.
        name: The column that the changes are of.
        changes: Differences of counts, none 0.
        rows_of: Returns the rows of what is new; only of that, as phonetic keys take their time.
    """
    known = pa.array(list(changes), type=rows.schema.field(name).type)
    change = pc.index_in(rows[name], value_set=known).to_numpy(zero_copy_only=False)
    hit = ~np.isnan(change) if change.dtype.kind == "f" else np.ones(len(change), dtype=bool)
    which = change[hit].astype(np.int64)
    counts = _column(rows, "chunks").copy()
    counts[hit] += np.fromiter(changes.values(), np.int64, len(changes))[which]
    seen = np.zeros(len(changes), dtype=bool)
    seen[which] = True
    new = {key: n for (key, n), old in zip(changes.items(), seen.tolist(), strict=True) if not old}
    if np.any(counts < 0) or min(new.values(), default=0) < 0:
        raise DamagedFile(f"the counts by {name} do not belong to the points; {_REMEDY}")
    counted = pa.table([*rows.columns[:-1], pa.array(counts)], schema=rows.schema.remove_metadata())
    return _inserted(counted, rows_of(new)).filter(pc.field("chunks") > 0).combine_chunks()


def _inserted(rows: pa.Table, new: pa.Table) -> pa.Table:
    """Return both in order: of the first column, and of words with one key."""
    new = new.sort_by([(key, "ascending") for key in rows.schema.names[:-1]]).combine_chunks()
    keys, wanted = (_column(table, table.schema.names[0]) for table in (rows, new))
    places = np.searchsorted(keys, wanted, "left")
    if "word" in rows.schema.names:
        ends = np.searchsorted(keys, wanted, "right").tolist()
        bounds = zip(new["word"].to_pylist(), places.tolist(), ends, strict=True)
        # The order of Arrow is that of bytes.
        encoded = partial(_encoded, rows["word"])
        places = np.array(
            [bisect.bisect_left(range(rows.num_rows), w.encode(), a, b, key=encoded) for w, a, b in bounds],
            dtype=np.int64,
        )
    order = np.insert(np.arange(rows.num_rows), places, rows.num_rows + np.arange(new.num_rows))
    return pa.concat_tables([rows, new]).take(order)


def _encoded(words: pa.ChunkedArray, row: int) -> bytes:
    return str(words[row].as_py()).encode()
