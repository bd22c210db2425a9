"""Who is asking? Front ends: they read arguments and print, and decide nothing about ranking."""
