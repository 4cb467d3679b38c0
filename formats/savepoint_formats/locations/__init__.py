"""Where the files of a snapshot are: on which file system, and which may be followed."""
