"""Functions of users over keyed rows, with Flink's state, timers and windows."""
