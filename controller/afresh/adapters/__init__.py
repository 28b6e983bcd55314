"""How to start each agent program, and how to interpret its output. Pure: starts no process."""
