"""State of PyFlink: the layouts of its coders, its pickles, and the texts of its types."""
