"""What is beyond one machine: many repositories, searched on an engine that they share."""
