"""The APIs of model providers: their requests, answers, usage and faults."""
