"""What is known of a document beside its text: typed fields, said by its owner, its file, its name, its text.

``schema`` names the fields and their types, ``sidecars`` reads what people write beside their files,
``described`` finds the fields of documents and passages. Filters are parsed in ``retrieval.filters``.
"""
