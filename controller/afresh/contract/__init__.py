"""The interface between the operator and the pod: the Order, the Report, and the pod's layout.

Standard library only: the runner imports this package before its first useful step.
"""
