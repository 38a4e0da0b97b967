"""`tandem utilization`: convolutions with latency hiding and without."""
