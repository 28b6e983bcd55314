"""The dialects of model endpoints: requests, answers, usage, faults."""
