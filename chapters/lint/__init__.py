"""The lints of the chapters' sources: what the tests in `tests/book` demand of every chapter.

`source` splits a chapter into prose and cells. `skeleton` and `cells` check sections, figures, exercises
and code; `claims` checks what is asserted, `terms` the words that a later chapter introduces, and
`numbers` the numbers typed into the prose. `absolutes` only lists sentences with words such as "every"
and "never". `python chapters/lint_prose.py` prints what needs a reader's judgment.
"""
