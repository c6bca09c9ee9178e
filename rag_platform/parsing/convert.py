"""Old Office formats (.doc, .ppt, .xls and kin) through an installed LibreOffice, then read as new ones.

LibreOffice runs without a window, in a profile of its own that no other instance shares, with macros and
external links switched off, under a time limit. It is optional: without it these files are refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from rag_platform.errors import MissingDependency, ParseError
from rag_platform.parsing.reading import ParsedFile, ParseOptions, Reader

__all__ = ["TIMEOUT_S", "converted", "soffice"]

TIMEOUT_S = 180.0
"""A long report takes seconds; the first start on a cold machine is the slowest."""

_PACKAGES = {
    "docx": ("a Word file of the old format (.doc)", "libreoffice-writer-nogui"),
    "pptx": ("a presentation of an old format (.ppt) or OpenDocument", "libreoffice-impress-nogui"),
    "xlsx": ("a workbook of an old format (.xls, .xlsb) or OpenDocument", "libreoffice-calc-nogui"),
}
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel"
 oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution"
 oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="BlockUntrustedRefererLinks"
 oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update"><prop oor:name="Link"
 oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Content/Update"><prop oor:name="Link"
 oor:op="fuse"><value>1</value></prop></item>
</oor:items>
"""
"""Macros never run, nothing is fetched: pictures and data that a file links to stay where they are."""


def converted(target: str, read: Reader) -> Reader:
    """Return a reader that converts a file to ``target`` (``docx``) and has ``read`` read that."""

    def reader(path: Path, options: ParseOptions) -> ParsedFile:
        with tempfile.TemporaryDirectory(prefix="rag-convert-") as folder:
            return read(_convert(path, target, Path(folder)), options)

    return reader


def soffice() -> str | None:
    """Return the LibreOffice program, None where none is installed."""
    return shutil.which("soffice") or shutil.which("libreoffice")


def _convert(path: Path, target: str, folder: Path) -> Path:
    kind, package = _PACKAGES[target]
    program = soffice()
    if program is None:
        raise MissingDependency(
            f"this is {kind}, which LibreOffice converts; install it (on Debian: apt install {package}) "
            f"or save the file as .{target}"
        )
    profile = folder / "profile" / "user"
    profile.mkdir(parents=True)
    (profile / "registrymodifications.xcu").write_text(_PROFILE, encoding="utf-8")
    source = folder / "document"  # its content tells LibreOffice the format, as it told us
    shutil.copyfile(path, source)
    command = [
        program, "--headless", "--norestore", "--nolockcheck", "--nologo", "--nodefault",
        f"-env:UserInstallation={profile.parent.as_uri()}",
        "--convert-to", target, "--outdir", str(folder / "out"), str(source),
    ]  # fmt: skip
    said = _run(command, folder)
    made = folder / "out" / f"document.{target}"
    if not made.exists():
        raise ParseError(
            f"LibreOffice cannot read this {kind.removeprefix('a ')}: damaged, under a password, or "
            f"{package} is not installed ({said or 'it says nothing'})"
        )
    return made


def _run(command: list[str], folder: Path) -> str:
    """Run LibreOffice; return the last line it says. Its helpers die with it when time is up."""
    environment = {**os.environ, "HOME": str(folder), "SAL_USE_VCLPLUGIN": "svp", "TMPDIR": str(folder)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            said, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise ParseError(
                f"LibreOffice did not convert the file in {TIMEOUT_S:g} s; save it in the new format by hand"
            ) from error
        finally:
            _end(process)
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill LibreOffice with all that it started; its launcher dies alone otherwise."""
    import psutil

    if process.poll() is not None:
        return
    try:
        started = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return
    process.kill()
    for one in started:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue  # ended meanwhile
