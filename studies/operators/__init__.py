"""Existing kernels beside the packages' own compiled functions, and chosen kernels under compute-sanitizer."""
