"""What can be wrong with a snapshot, looked for in every structure; a fault never ends the search."""
