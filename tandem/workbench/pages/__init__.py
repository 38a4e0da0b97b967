"""HTML pages with charts that work offline: what the reports of commands share."""
