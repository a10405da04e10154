"""Faults that tools of this kind have shown their users; `table.py` says where each is tested."""
