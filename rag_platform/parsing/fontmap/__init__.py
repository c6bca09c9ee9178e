"""PDF pages whose text layer lies, read through their own fonts: glyph by glyph, mostly without OCR."""
