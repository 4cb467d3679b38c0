"""The start of Spark's Python workers: forked from a process that has imported what they need.

``start`` runs in the driver, ``fork_server`` next to it, ``daemon`` for each daemon that Spark
starts.
"""
