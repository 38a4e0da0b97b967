"""The host's processor as a target."""
