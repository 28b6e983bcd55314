"""What crosses the pod's boundary: the Order, the Report, and where things lie in the pod.

Standard library only: the runner imports this package before its first useful step.
"""
