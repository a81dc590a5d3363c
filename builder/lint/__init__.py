"""The lint rules for the chapters' sources, which the tests in `tests/builder` enforce.

`skeleton` and `cells` check sections, figures, exercises, and code; `claims` checks the assertions, and
`numbers` the numbers typed into the prose, whose paragraphs and sentences `prose` finds.
"""
