"""A small model of the operator, and a Spec on a real cluster that is compared with it (README.md)."""
