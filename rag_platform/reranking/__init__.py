"""A question and passages to scores: the catalogue of rerankers and what runs them.

Nothing about documents, indexes or fusion. No import here pulls in torch or LiteLLM.
"""
