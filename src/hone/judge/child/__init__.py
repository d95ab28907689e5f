"""What runs in other processes than the judge: the zygote, and the runners that it forks."""
