"""``rag calibrate``: measure the constants of an embedding model that scores are calibrated with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rag_platform.cli.options import Embedding, EnvFile, Output, Verbose, open_settings
from rag_platform.cli.render import Format, emit, say

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
    from rag_platform.embedding.catalogue import resolve
    from rag_platform.embedding.encoders import load_encoder

    settings = open_settings(env_file, verbose, EMBEDDING_MODEL=embedding)
    encoder = load_encoder(resolve(settings.embedding_model).name, device=settings.device)
    home = settings.home.expanduser().absolute()
    known = calibration.find_calibration(encoder.name, home)
    if share is None:
        share = calibration.load_calibration(known, encoder.dim).share if known else 0.0
    asked = calibration.own_questions()
    if questions is not None:
        asked |= calibration.enough_of(questions.read_text(encoding="utf-8-sig").splitlines())
    made = calibration.measure(encoder, asked, calibration.own_passages(), share=share)
    target = (folder or home / "calibrations") / calibration.file_name(encoder.name)
    calibration.save_calibration(made, target)
    counts = {f"questions_{style}": len(texts) for style, texts in asked.items()}
    row = {"model": encoder.name, "share": made.share, "match": made.match, **counts, "file": str(target)}
    emit(output, row, [row])
    say("search uses it from now on; stored vectors follow with the next `rag ingest`")
