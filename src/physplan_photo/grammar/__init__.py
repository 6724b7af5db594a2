"""A small grammar of verbs: a sentence about a photograph becomes events, without any model."""
