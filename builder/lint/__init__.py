"""The lint rules for the chapters' sources, which the tests in `tests/builder` enforce.

`source` splits a chapter into prose and cells. `skeleton` and `cells` check sections, figures, exercises,
and code; `claims` checks the assertions, `early_terms` the terms that a later chapter introduces,
and `numbers` the numbers typed into the prose. `absolutes` only lists sentences with words such as "every"
and "never". `python -m builder.lint_prose` prints what needs a reader's judgment.
"""
