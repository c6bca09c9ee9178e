"""``rag keys``: who may call a service that others reach: keys made, listed and revoked."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import EnvFile, Output, Verbose, open_settings
from rag_platform.cli.render import Format, Row, emit, say
from rag_platform.errors import CallerError
from rag_platform.moments import utc

if TYPE_CHECKING:
    from rag_platform.keys import Key, Keys, Scope

__all__ = ["add", "ends", "keys", "list_keys", "revoke"]

keys = typer.Typer(name="keys", help="Keys of the services.", no_args_is_help=True)
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Whose it is, as `library` or `office.app`.")]


@keys.command()
def add(
    name: KeyName,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="What it is for: read, ingest, admin; repeatable.", show_default="read"),
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option("-c", "--collection", help="For this one alone; repeatable.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", help="Last day, as 2027-04-13, or days, as 90d.")
    ] = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Make a key and show it, this once: it is stored hashed."""
    end = None if expires is None else ends(expires, datetime.now(UTC))
    made = _keys(env_file, verbose).add(
        name, [_scope(one) for one in scope or ["read"]], collections=collection or (), expires_at=end
    )
    if output is Format.table:  # the key alone, for scripts
        typer.echo(made)
    else:
        emit(output, {"name": name, "key": made}, [])
    say(f"the key {name!r} is shown this once; send it as 'Authorization: Bearer KEY'")


@keys.command("list")
def list_keys(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """List the keys: names, scopes, collections, ends; never the keys themselves."""
    found = _keys(env_file, verbose).all()
    emit(output, {"keys": [_value(key) for key in found]}, [_row(key) for key in found])
    if not found:
        say("there are no keys yet; make one with: rag keys add NAME --scope read")


@keys.command()
def revoke(
    name: KeyName, output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False
) -> None:
    """Take a key back; services that run refuse it at once."""
    _keys(env_file, verbose).revoke(name)
    if output is not Format.table:
        emit(output, {"revoked": name}, [])
    say(f"the key {name!r} is no longer known")


def ends(written: str, now: datetime) -> float:
    """Return when a key ends, in seconds since 1970: after that day in UTC, or after so many days.

    Raises:
        CallerError: It is neither.

    >>> ends("90d", datetime(2026, 1, 1, tzinfo=UTC)) == datetime(2026, 4, 1, tzinfo=UTC).timestamp()
    True
    >>> ends("2027-04-13", datetime(2026, 1, 1, tzinfo=UTC)) == datetime(2027, 4, 14, tzinfo=UTC).timestamp()
    True
    """
    if days := re.fullmatch(r"(\d{1,5})d", written):
        return (now + timedelta(days=int(days[1]))).timestamp()
    try:
        after = date.fromisoformat(written) + timedelta(days=1)
    except (ValueError, OverflowError):
        raise CallerError(f"{written!r} is no day and no number of days; write 2027-04-13 or 90d") from None
    return datetime(after.year, after.month, after.day, tzinfo=UTC).timestamp()


def _scope(name: str) -> Scope:
    from rag_platform.keys import SCOPES

    for scope in SCOPES:
        if scope == name:
            return scope
    raise typer.BadParameter(f"{name!r} is no scope; choose of {', '.join(SCOPES)}", param_hint="--scope")


def _keys(env_file: EnvFile, verbose: bool) -> Keys:
    from rag_platform.keys import Keys

    return Keys(open_settings(env_file, verbose).root)


def _row(key: Key) -> Row:
    return {
        "name": key.name,
        "scopes": ", ".join(key.scopes),
        "collections": ", ".join(key.collections) or "all",
        "created": _at(key.created_at),
        "expires": "ended" if key.has_ended else _at(key.expires_at) or "never",
    }


def _value(key: Key) -> dict[str, object]:
    return {
        "name": key.name,
        "scopes": list(key.scopes),
        "collections": list(key.collections) or None,
        "created_at": _at(key.created_at),
        "expires_at": _at(key.expires_at),
        "ended": key.has_ended,
    }


def _at(moment: float | None) -> str | None:
    return None if moment is None else utc(moment, "minutes")
