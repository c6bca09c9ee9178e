"""``rag ask``: one question, answered from the documents, with its sources."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rag_platform.cli import asking
from rag_platform.cli.asking import Wanted, cited_lines, open_asking, read_history, reply_value, spoken
from rag_platform.cli.options import Embedding, EnvFile, Output, QdrantKey, QdrantUrl, Verbose
from rag_platform.cli.render import Format, emit, say

__all__ = ["ask"]


def ask(
    question: Annotated[str, typer.Argument(help="In Nepali, English or romanized Nepali.")],
    history: asking.History = None,
    strict: asking.Strict = False,
    tools: asking.Tools = None,
    prompt: Annotated[
        bool, typer.Option("--prompt", "--test", help="Show what a model would be told; ask nobody.")
    ] = False,
    provider: asking.Provider = None,
    model: asking.Model = None,
    api_key: asking.ApiKey = None,
    llm_base_url: asking.BaseUrl = None,
    temperature: asking.Temperature = None,
    top_r: asking.Results = None,
    top_k: asking.Candidates = None,
    where: asking.Where = None,
    collection: asking.Collections = None,
    output: Output = Format.table,
    embedding: Embedding = None,
    reranker: asking.RerankerName = None,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Answer a question from the documents, with sources that are checked, or say that they do not answer.

    Exit code 0 for both; 1 when the service of a model failed.
    """
    turns = read_history(history)
    wanted = Wanted(
        provider="prompt" if prompt else provider,
        model=model,
        api_key=api_key,
        base_url=llm_base_url,
        temperature=temperature,
        top_r=top_r,
        top_k=top_k,
        where=where or (),
        collections=collection or (),
        embedding=embedding,
        reranker=reranker,
        qdrant_url=qdrant_url,
        qdrant_api_key=qdrant_api_key,
        env_file=env_file,
        verbose=verbose,
    )
    opened = open_asking(wanted, tools=tools, strict=strict)
    reply = spoken(opened.stream(question, turns), aloud=output is Format.table)
    for line in reply.notes:
        say(line)
    if output is Format.json:
        emit(output, reply_value(reply), [])
    elif lines := cited_lines(reply):
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
