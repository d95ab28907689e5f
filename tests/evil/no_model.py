# Has no ModelNew.
# expected: load_error
import torch  # noqa: F401
