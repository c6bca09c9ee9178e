"""The page that people search with: its words, templates, styles and scripts, and how they are put together.

No build step: what stands in ``static`` is what browsers get. What is asked of the service stands in
``routes.page``.
"""
