"""The command line, recipes, MLflow tracking, comparisons and what they print."""
