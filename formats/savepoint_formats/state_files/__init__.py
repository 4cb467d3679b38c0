"""Where the records of a state lie: headers and contents of state files, one reader per format."""
