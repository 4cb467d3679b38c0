"""The command ``savepoint``: thin words over ``state_processor``."""
