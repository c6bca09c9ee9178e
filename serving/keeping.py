"""What was asked is kept for sets of questions, where that is wanted; the same for every way of asking."""

from __future__ import annotations

from rag_platform.answering.reply import Reply
from rag_platform.question_log import QuestionLog
from rag_platform.retrieval.result import SearchResult

__all__ = ["keep_reply", "keep_search"]


def keep_search(log: QuestionLog | None, result: SearchResult) -> None:
    """Keep a question by which passages were searched."""
    if log is not None:
        log.keep(result.query, result.hits, result.generations)


def keep_reply(log: QuestionLog | None, reply: Reply) -> None:
    """Keep a question that was answered, or refused."""
    if log is not None:
        found = (reply.question, reply.hits, reply.generations)
        log.keep(*found, standalone=reply.standalone, refused=reply.refused)
