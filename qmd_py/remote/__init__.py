"""The Protocols of `models` on servers whose addresses the user wrote."""
