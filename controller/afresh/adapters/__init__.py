"""How each agent program is called, and how its end is read. Pure: nothing here starts anything."""
