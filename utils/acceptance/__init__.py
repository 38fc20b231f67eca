"""All of the library that is no ReFrame class: parsers, references, results, verdicts.

Nothing in here imports ReFrame or `checks`; everything is typed and can be used alone.
"""
