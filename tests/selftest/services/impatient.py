"""A plugin of pytest: the line of progress is there often, also in a log."""

from tests.harness import controller

controller.EVERY_S = 0.05
