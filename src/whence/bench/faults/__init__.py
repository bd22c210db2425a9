"""Does it keep working? Kills, corruption, crowds, hostile trees, hostile input, secrets: each part in a module of its own."""
