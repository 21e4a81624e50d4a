"""A pytest plugin as others write them: it has an option, prints a summary of its own, and changes the exit status."""


def pytest_addoption(parser):
    parser.addoption("--meddle", help="print a line in the end")


def pytest_sessionfinish(session):
    session.exitstatus = 1


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--meddle"):
        terminalreporter.write_line(config.getoption("--meddle"))
