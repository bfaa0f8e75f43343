"""ONNX Runtime with planted bugs: models run node by node, and a bug changes nodes before they run."""
