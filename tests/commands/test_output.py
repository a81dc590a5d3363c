"""What writing to the standard streams promises: each line is out, and a reader may leave."""

import pytest

from annotated_transformer.commands import output
from annotated_transformer.commands.output import ReaderGone, print_line


@pytest.mark.message
def test_message_a_reader_who_left(monkeypatch: pytest.MonkeyPatch):
    def broken(*values: object, **options: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(output, "print", broken, raising=False)
    with pytest.raises(ReaderGone, match="nobody reads the standard output any more"):
        print_line("a line")
