"""Texts to vectors: the catalogue of models, the encoders that run them, the cache in front of them.

Nothing about documents' origin, indexes or search. No import here pulls in torch.
"""
