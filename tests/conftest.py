"""What holds for every test."""

import os

# one thread a process: small arrays gain nothing from two, and waiting threads cost a busy machine
os.environ.setdefault("OMP_NUM_THREADS", "1")
