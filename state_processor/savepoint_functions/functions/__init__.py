"""Functions of users that make state and rows: contexts, options, and the loop over keyed rows."""
