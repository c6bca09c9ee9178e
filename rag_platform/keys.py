"""API keys: who may call a service, for what, and until when; kept hashed in ``keys.json`` below the home.

Which request needs a key, and how it is sent, is the service's business.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import regex
from filelock import FileLock

from rag_platform.errors import CallerError, DamagedFile, Forbidden, UnknownName
from rag_platform.storage import storage_errors, write_json

__all__ = ["EVERYBODY", "PREFIX", "SCOPES", "Key", "Keys", "Principal", "Scope"]

Scope = Literal["read", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Search, ask and list; hand over and delete documents; everything, what watches the service included."""

PREFIX = "rag_"
"""So that a key is recognised where it does not belong: in a log, in a commit."""
_BYTES = 32
"""Of chance in a key. No password can be so hard to guess, so one round of SHA-256 hides it well enough."""
_NAME = regex.compile(r"[\p{L}\p{M}\p{N}._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, and what it may do.

    Attributes:
        collections: The only ones that it may use; None: all.
    """

    name: str
    scopes: frozenset[Scope]
    collections: frozenset[str] | None = None

    def may(self, scope: Scope) -> bool:
        """Say whether it may do this; who may administrate may do everything."""
        return scope in self.scopes or "admin" in self.scopes

    def check(self, scope: Scope) -> None:
        """Refuse what it may not do.

        Raises:
            Forbidden: Its key is for something else.
        """
        if not self.may(scope):
            theirs = ", ".join(sorted(self.scopes))
            raise Forbidden(f"this takes a key with the scope {scope!r}; the key {self.name!r} has {theirs}")

    def may_use(self, collection: str) -> bool:
        """Say whether it may use a collection."""
        return self.collections is None or collection in self.collections

    def check_collections(self, names: Iterable[str]) -> None:
        """Refuse collections that it may not use, whether they exist or not.

        Raises:
            Forbidden: One of them is not its own.
        """
        for name in names:
            if not self.may_use(name):
                theirs = ", ".join(sorted(self.collections or ()))
                raise Forbidden(f"the key {self.name!r} is for {theirs}, not for the collection {name!r}")

    def default(self, collection: str) -> str:
        """Return the collection that is meant where none is named: the service's, or the key's only one."""
        only = self.collections or frozenset()
        return next(iter(only)) if len(only) == 1 else collection


EVERYBODY = Principal("", frozenset(SCOPES))
"""Who calls a service that asks for no keys."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key; the key itself is not.

    Attributes:
        digest: SHA-256 of the key, in hex.
        collections: The only ones that it may use; empty: all.
        expires_at: Seconds since 1970; None: it does not end.
    """

    name: str
    digest: str
    scopes: tuple[Scope, ...]
    collections: tuple[str, ...]
    created_at: float
    expires_at: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and time.time() >= self.expires_at

    @property
    def principal(self) -> Principal:
        """Who calls with it."""
        return Principal(self.name, frozenset(self.scopes), frozenset(self.collections) or None)

    def value(self) -> dict[str, object]:
        """Return it as JSON keeps it."""
        return {field: getattr(self, field) for field in self.__slots__}


class Keys:
    """The keys of a home; read anew when their file has changed. Safe to share between threads."""

    def __init__(self, home: Path) -> None:
        self.path = home / "keys.json"
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    def all(self) -> tuple[Key, ...]:
        """Return the keys by name, those whose time is over included.

        Raises:
            DamagedFile: Their file holds something else; nobody is let in then.
        """
        with self._lock, storage_errors("read", self.path):
            try:
                found = self.path.stat()
            except FileNotFoundError:
                self._seen, self._keys = None, ()
                return ()
            now = (found.st_ino, found.st_mtime_ns, found.st_size)
            if now != self._seen:
                self._keys = _read(self.path)
                self._seen = now
            return self._keys

    def usable(self) -> bool:
        """Say whether there is a key with which anybody could call."""
        return any(not key.has_ended for key in self.all())

    def whose(self, given: str) -> Principal | None:
        """Return who calls with a key; None where it is none, or its time is over.

        All digests are compared, each in constant time, so that how long it takes tells nothing.
        """
        digest = _digest(given)
        found: Key | None = None
        for key in self.all():
            if hmac.compare_digest(key.digest, digest):
                found = key
        return None if found is None or found.has_ended else found.principal

    def add(
        self,
        name: str,
        scopes: Iterable[Scope],
        *,
        collections: Iterable[str] = (),
        expires_at: float | None = None,
    ) -> str:
        """Make a key and return it: it is kept nowhere, so it can be shown this once only.

        Raises:
            CallerError: The name is taken or none, no scope is given, or its time would be over already.
        """
        wanted = tuple(scope for scope in SCOPES if scope in set(scopes))
        if not _NAME.fullmatch(name):
            raise CallerError(f"{name!r} is no name of a key; use up to 64 letters, digits, '.', '_' and '-'")
        if not wanted:
            raise CallerError(f"a key needs a scope; choose of {', '.join(SCOPES)}")
        if expires_at is not None and expires_at <= time.time():
            raise CallerError("the key would have ended before it begins; let it expire later")
        secret = PREFIX + secrets.token_urlsafe(_BYTES)
        made = Key(name, _digest(secret), wanted, tuple(sorted(set(collections))), time.time(), expires_at)
        with self._changing() as keys:
            if name in keys:
                raise CallerError(f"there is a key {name!r} already; revoke it first, or name this one else")
            keys[name] = made
        return secret

    def revoke(self, name: str) -> None:
        """Remove a key; services that run refuse it from their next request on.

        Raises:
            UnknownName: There is none of that name.
        """
        with self._changing() as keys:
            if name not in keys:
                raise UnknownName("key", name, keys)
            del keys[name]

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Key]]:
        """Give the keys by name to be changed, and write them; one process at a time."""
        with storage_errors("write", self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path.with_suffix(".lock"), timeout=60, mode=0o600):
            keys = {key.name: key for key in self.all()}
            yield keys
            # A temporary file is its owner's alone, and takes this one's place with that mode.
            write_json(self.path, {"keys": [keys[name].value() for name in sorted(keys)]})


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> tuple[Key, ...]:
    written = path.read_bytes()
    try:
        found = [
            Key(**{**one, "scopes": tuple(one["scopes"]), "collections": tuple(one["collections"])})
            for one in json.loads(written)["keys"]
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedFile(
            f"{path} holds no keys ({error}); remove it and make them anew: rag keys add"
        ) from error
    return tuple(found)
