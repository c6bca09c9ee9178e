"""PDF pages whose text layer lies, read through their own fonts: glyph by glyph, mostly without OCR.

``reader`` is the way in. Nothing here runs OCR or decides which text of a page is best; nothing above it
needs to know how a font is built.
"""
