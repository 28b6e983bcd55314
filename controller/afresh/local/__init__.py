"""Afresh without a cluster: packages of one clone, run on this machine.

The same decisions and the same episodes as in a cluster. This room owns what takes the cluster's
place: a folder of objects in place of the API server, processes in place of Jobs.
"""
