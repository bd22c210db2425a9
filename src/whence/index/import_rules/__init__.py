"""What import statements mean, one file for each family of languages."""
