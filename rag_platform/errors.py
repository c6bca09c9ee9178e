"""Every error of the library, and nothing else.

    RagError
    ├── CallerError            the call was wrong
    │   ├── UnknownName            a model, chunker, collection ... of that name does not exist
    │   ├── InvalidSetting         a setting's name or value is wrong
    │   ├── InvalidDataset         a labelled set is not what its layout says; names file and line
    │   ├── Unauthenticated        a service asks for a key, and none that it knows was sent
    │   ├── Forbidden              the key is known, and is not for this
    │   ├── DimensionMismatch      vectors of another size than the collection's
    │   └── SchemaMismatch         a table has other columns than its contract
    ├── DocumentError          one document cannot be used; the others go on
    │   ├── UnsupportedFormat      no reader for this kind of file
    │   ├── EmptyFile              nothing in it
    │   ├── EncryptedFile          a password is needed
    │   ├── ParseError             damaged, truncated or undecodable
    │   ├── InvalidMetadata        what is written beside it about it means nothing
    │   └── ChunkTooLong           a chunk overflows a model's token limit
    └── EnvironmentProblem     the machine or a service, not the input
        ├── MissingDependency      a program, package, language or model is not installed
        ├── NotPublished           nothing to search yet
        ├── StorageError           disk full, no permission
        │   └── DamagedFile            a file of ours holds something else than what was written
        ├── Busy                   another process holds the writer lock
        ├── RateLimited            too many requests in a minute
        ├── Overloaded             a service has as many requests under way as it takes
        ├── DeadlineExceeded       a request took longer than a service allows
        ├── UpstreamError          a remote service failed
        │   ├── EmptyAnswer            a language model said nothing
        │   ├── FilteredAnswer         a provider's filter held the answer back
        │   ├── PromptTooLong          more was asked than a model can read at once
        │   └── Unreachable            nothing came back: no connection, or a broken one
        └── GateFailed             a model ranks plain Nepali pairs wrongly: wrong prompt, pooling or head

Each message holds the offending value and the remedy. ``code`` is stable and goes to APIs, tables and
logs; ``retryable`` says whether the same call may succeed later without a change of its input.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable
from typing import ClassVar, Self

__all__ = [
    "Busy",
    "CallerError",
    "ChunkTooLong",
    "DamagedFile",
    "DeadlineExceeded",
    "DimensionMismatch",
    "DocumentError",
    "EmptyAnswer",
    "EmptyFile",
    "EncryptedFile",
    "EnvironmentProblem",
    "FilteredAnswer",
    "Forbidden",
    "GateFailed",
    "InvalidDataset",
    "InvalidMetadata",
    "InvalidSetting",
    "MissingDependency",
    "NotPublished",
    "Overloaded",
    "ParseError",
    "PromptTooLong",
    "RagError",
    "RateLimited",
    "SchemaMismatch",
    "StorageError",
    "Unauthenticated",
    "UnknownName",
    "Unreachable",
    "UnsupportedFormat",
    "UpstreamError",
]


_SHOWN = 50
"""Known names in a message; a collection may have thousands of documents."""


_TOLD = re.compile(
    r"unknown (?P<kind>.+) (?P<name>'[^']*'|\"[^\"]*\")\.(?: Did you mean .+\?)? Known: (?P<known>.*)\.", re.S
)
"""How ``UnknownName`` is told."""


class RagError(Exception):
    """Root of everything this library raises on purpose.

    ``request_id`` is that of a service's answer, as its log has it; empty for what happened in this process.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False
    request_id: str = ""


class CallerError(RagError):
    """The call itself was wrong; repeating it cannot help."""

    code = "bad_request"


class UnknownName(CallerError):
    """A name that no table of the platform holds; says which one is nearest."""

    code = "unknown_name"

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        spellings = {k.rpartition("/")[2].lower(): k for k in self.known} | {k.lower(): k for k in self.known}
        near = difflib.get_close_matches(name.lower(), spellings, n=1, cutoff=0.5)
        hint = f" Did you mean {spellings[near[0]]!r}?" if near else ""
        more = len(self.known) - _SHOWN
        shown = f"{', '.join(self.known[:_SHOWN])} and {more} more" if more > 0 else ", ".join(self.known)
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {shown or 'none'}.")

    @classmethod
    def told(cls, message: str) -> Self:
        """Return the error of which another process told this; of many names it knows those in the message.

        >>> error = UnknownName.told(str(UnknownName("fruit", "आप", ["स्याउ", "आँप"])))
        >>> error.kind, error.name, error.known
        ('fruit', 'आप', ['आँप', 'स्याउ'])
        """
        error, found = cls.__new__(cls, message), _TOLD.fullmatch(message)
        error.kind, error.name, error.known = "name", "", []
        if found is not None:
            error.kind, error.name = found["kind"], ast.literal_eval(found["name"])
            error.known = [] if found["known"] == "none" else found["known"].split(", ")
        return error


class InvalidSetting(CallerError):
    """A setting has a wrong name or value."""

    code = "invalid_setting"


class InvalidDataset(CallerError):
    """A labelled set is not what its layout says; the message names the file and, where it can, the line."""

    code = "invalid_dataset"


class Unauthenticated(CallerError):
    """A service asks for a key, and what was sent is none that it knows, or one that has ended."""

    code = "unauthenticated"


class Forbidden(CallerError):
    """The key is known, and is not for this: another scope, another collection."""

    code = "forbidden"


class DimensionMismatch(CallerError):
    """Vectors of another size than the collection was built with."""

    code = "dimension_mismatch"


class SchemaMismatch(CallerError):
    """A table's columns differ from its contract in ``tables``."""

    code = "schema_mismatch"


class DocumentError(RagError):
    """One document cannot be used; in a batch it becomes a ``Failure`` and the rest goes on."""

    code = "document_error"


class UnsupportedFormat(DocumentError):
    """No reader handles this kind of file."""

    code = "unsupported_format"


class EmptyFile(DocumentError):
    """The file has no bytes."""

    code = "empty_file"


class EncryptedFile(DocumentError):
    """The file opens only with a password."""

    code = "password_required"


class ParseError(DocumentError):
    """The file is damaged, truncated, or in an encoding that cannot be told."""

    code = "parse_error"


class InvalidMetadata(DocumentError):
    """A sidecar or folder default is broken; what was made of the document stays until it is mended."""

    code = "invalid_metadata"
    retryable = True  # a slip in one folder's defaults must not throw away the OCR of all below it


class ChunkTooLong(DocumentError):
    """A chunk with prefix and special tokens overflows the model's limit."""

    code = "chunk_too_long"


class EnvironmentProblem(RagError):
    """The machine or a service is at fault, not the input."""

    code = "environment"
    retryable = True


class MissingDependency(EnvironmentProblem):
    """A program, package, language or model is not installed; the message names what to install."""

    code = "missing_dependency"


class NotPublished(EnvironmentProblem):
    """The collection has no published generation yet."""

    code = "not_published"


class StorageError(EnvironmentProblem):
    """The disk is full, a path may not be read or written, or a file of ours is damaged."""

    code = "storage_error"


class DamagedFile(StorageError):
    """A file of ours is not what was written: cut off, overwritten, a bad disk."""

    code = "damaged_file"


class Busy(EnvironmentProblem):
    """Another process holds the writer lock."""

    code = "busy"


class _Later(EnvironmentProblem):
    """A service does this later; ``retry_after_s`` says when it is worth asking again."""

    def __init__(self, message: str, *, retry_after_s: float = 1.0) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class RateLimited(_Later):
    """More requests came in a minute than one key may send."""

    code = "rate_limited"


class Overloaded(_Later):
    """A service has as many requests under way as it takes, or is about to stop."""

    code = "overloaded"


class DeadlineExceeded(_Later):
    """A request took longer than a service allows."""

    code = "deadline_exceeded"


class UpstreamError(EnvironmentProblem):
    """A remote service failed or answered nonsense; ``status`` is its HTTP status, where there was one."""

    code = "upstream_error"

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


class EmptyAnswer(UpstreamError):
    """A language model answered, but said nothing."""

    code = "empty_answer"


class FilteredAnswer(UpstreamError):
    """A provider's filter held back what its model said; the same question would be filtered again."""

    code = "filtered_answer"
    retryable = False


class PromptTooLong(UpstreamError):
    """What a language model was to read does not fit into its context; a shorter prompt may."""

    code = "prompt_too_long"
    retryable = False


class Unreachable(UpstreamError):
    """A service gave no answer: there is no connection, or it broke; the message names the address.

    ``sent`` says whether it may have heard the request, and so may have done what was asked.
    """

    code = "unreachable"

    def __init__(self, message: str, *, sent: bool = False) -> None:
        self.sent = sent
        super().__init__(message)


class GateFailed(EnvironmentProblem):
    """A model ranks the five fixed Nepali questions wrongly; the message holds what was seen."""

    code = "gate_failed"
    retryable = False
