"""A pytest plugin of somebody else: it has an option, prints a line in the summary, and sets the exit status to 1."""


def pytest_addoption(parser):
    """Add the option of the plugin."""
    parser.addoption("--meddle", help="a line to print in the summary")


def pytest_sessionfinish(session):
    """Set the exit status of pytest to 1, as a plugin may do for a reason of its own."""
    session.exitstatus = 1


def pytest_terminal_summary(terminalreporter, config):
    """Print the line that the option gives."""
    if config.getoption("--meddle"):
        terminalreporter.write_line(config.getoption("--meddle"))
