"""What the end-to-end tests share: control planes, and how to talk to them."""
