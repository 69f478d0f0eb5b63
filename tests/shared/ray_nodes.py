"""Nodes of a Ray cluster on this machine, for tests: each line on stdin starts or kills one.

``start NAME CPUS`` starts a node, the head first, and prints the cluster's address; ``kill NAME`` kills its
processes, as a loss of power would, and prints its name. The end of stdin ends them all.
"""

from __future__ import annotations

import os
import sys

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}

from ray.cluster_utils import Cluster

# Not 127.0.0.1, which Ray takes for this machine's address in the network.
LOOPBACK = "127.0.0.2"
# Without the processes that scale a cluster and collect what is printed on it.
BARE = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}


def main() -> None:
    cluster = Cluster(shutdown_at_exit=True)
    nodes = {}
    for line in sys.stdin:
        word, name, *rest = line.split()
        if word == "start":
            nodes[name] = cluster.add_node(num_cpus=int(rest[0]), node_ip_address=LOOPBACK, **BARE)
            print(cluster.address, flush=True)
        else:
            cluster.remove_node(nodes.pop(name), allow_graceful=False)
            print(name, flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
