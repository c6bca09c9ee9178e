"""Write the HTTP service's OpenAPI document, ``docs/openapi.json``: ``python scripts/openapi.py``."""

from __future__ import annotations

import json
from pathlib import Path

from rag_platform.settings import Settings
from serving.app import create_app

PATH = Path(__file__).parent.parent / "docs" / "openapi.json"


def document() -> str:
    """Return the document as it is committed."""
    described = create_app(Settings.load(None)).openapi()
    return json.dumps(described, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(document(), encoding="utf-8")
