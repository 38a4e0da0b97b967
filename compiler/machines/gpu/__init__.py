"""A GPU as a machine: schedules of blocks and threads, lowering, OpenCL C, a checker of races."""
