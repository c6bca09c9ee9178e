"""Fixtures of the page's tests."""

from browser import browser
from page_service import service

__all__ = ["browser", "service"]
