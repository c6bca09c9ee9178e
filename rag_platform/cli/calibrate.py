"""``rag calibrate``: measure the constants of an embedding model that scores are calibrated with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import Embedding, EnvFile, Output, Verbose, open_settings, open_system
from rag_platform.cli.render import Format, emit, say
from rag_platform.errors import DamagedFile

if TYPE_CHECKING:
    from rag_platform.protocols import Encoder

__all__ = ["calibrate"]


def calibrate(
    embedding: Embedding = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", exists=True, dir_okay=False, help="Your users' questions, one a line."),
    ] = None,
    share: Annotated[
        float | None, typer.Option("--share", min=0, max=1, help="Of the means that is taken away; 0: none.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--output", file_okay=False, help="Folder; RAG_HOME/calibrations unless given."),
    ] = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Measure a model's mean vectors, so that its scores lose their bias and can be fused.

    Own questions replace the shipped ones of each language of which there are at least 150. When the model
    had no calibration, or --share changes, its collections are made anew with the next ingest, without
    encoding anything again.
    """
    from rag_platform.embedding import calibration
    from rag_platform.evaluation.records import read_text

    settings = open_settings(env_file, verbose, EMBEDDING_MODEL=embedding)
    system = open_system(settings)
    encoder = system.bare_encoder(settings.embedding_model)
    if share is None:
        share = _known_share(encoder, system.home)
    asked = calibration.own_questions()
    if questions is not None:
        asked |= calibration.enough_of(read_text(questions).splitlines())
    made = calibration.measure(encoder, asked, calibration.own_passages(), share=share)
    target = (folder or system.home / "calibrations") / calibration.file_name(encoder.name)
    calibration.save_calibration(made, target)
    counts = {f"questions_{style}": len(texts) for style, texts in asked.items()}
    row = {"model": encoder.name, "share": made.share, "match": made.match, **counts, "file": str(target)}
    emit(output, row, [row])
    say("search uses it from now on; stored vectors follow with the next `rag ingest`")


def _known_share(encoder: Encoder, home: Path) -> float:
    """Return the share of the means that is taken away now; of a file that is damaged, none."""
    from rag_platform.embedding.calibration import find_calibration, load_calibration

    path = find_calibration(encoder.name, home)
    try:
        return load_calibration(path, encoder.dim).share if path else 0.0
    except DamagedFile as error:
        say(f"made anew, without centring unless --share says so: {error}")
        return 0.0
