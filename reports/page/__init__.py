"""The parts of report.html: each module gives the templates what one part of the page shows."""
