"""How a training run is asked to stop, so that nothing of it is lost: the chapter on training."""


class TrainingStopped(Exception):
    """A training run stopped between two updates because it was asked to; its state is saved.

    The next run on the same folder ends with the weights of an uninterrupted one. The exception
    is raised in every process of the run.
    """

    def __init__(self, step: int) -> None:
        """Name the last update that was done."""
        super().__init__(f"the training run was asked to stop, and did after step {step}")
        self.step = step
