"""The lint rules for the chapters' sources, which the tests in `tests/book` enforce.

`source` splits a chapter into prose and cells. `skeleton` and `cells` check sections, figures, exercises,
and code; `claims` checks the assertions, `terms` the terms that a later chapter introduces, and
`numbers` the numbers typed into the prose. `absolutes` only lists sentences with words such as "every"
and "never". `python builder/lint_prose.py` prints what needs a reader's judgment.
"""
