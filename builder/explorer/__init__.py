"""The explorer as the site serves it: its scripts, its page, and the weights packed for browsers."""
