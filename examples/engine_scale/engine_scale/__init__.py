"""The scale engine: the example of docs/new-engine.md."""
