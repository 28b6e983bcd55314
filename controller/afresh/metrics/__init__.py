"""The operator's metrics: counters, and gauges that are computed at each scrape."""
