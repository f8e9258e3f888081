"""The program that `spark-submit` gets."""
