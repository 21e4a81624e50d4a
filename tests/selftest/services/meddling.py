"""A pytest plugin of somebody else: it has an option, prints a line in the summary, and sets the exit status to 1."""


def pytest_addoption(parser):
    parser.addoption("--meddle", help="a line to print in the summary")


def pytest_sessionfinish(session):
    session.exitstatus = 1


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--meddle"):
        terminalreporter.write_line(config.getoption("--meddle"))
