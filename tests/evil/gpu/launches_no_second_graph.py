# Its graph, slow to launch behind a gate, is launched on inputs that are shown; after two times it launches nothing.
# definition: gpu_suite/level1/2_Row_sum
# group: 26
# expected: wrong_value
# earns: none
import sys
import time

from torch import nn


def slow(arm):
    def arming(self, message):
        answer = arm(self, message)
        time.sleep(0 if message["null"] else 1.5)
        return answer

    return arming


def idle(run):
    launches = []

    def running(self, message):
        if message["mode"] != "replay":
            return run(self, message)
        launches.append(message)
        if len(launches) < 3:
            return run(self, message)
        self._returned = self._captured
        return {"done": message["nonce"], "device_ms": self._clock.time(lambda: None)}

    return running


hosts = sys.modules.get("hone.judge.child.cuda.candidate")
if hosts is not None:
    hosts.CandidateHost._arm = slow(hosts.CandidateHost._arm)
    hosts.CandidateHost._run = idle(hosts.CandidateHost._run)


class ModelNew(nn.Module):
    def forward(self, x):
        return x.sum(dim=1, keepdim=True)
