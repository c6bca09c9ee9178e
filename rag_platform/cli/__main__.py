"""``python -m rag_platform.cli``."""

from rag_platform.cli.app import main

main()
