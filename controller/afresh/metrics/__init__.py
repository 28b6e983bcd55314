"""The operator's metrics: what is counted, and what is looked up at each scrape."""
