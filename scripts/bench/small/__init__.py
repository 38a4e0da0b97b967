"""Small networks of twelve kinds as ONNX models with random weights, for benchmarks."""
