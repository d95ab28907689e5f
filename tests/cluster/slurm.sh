#!/usr/bin/env bash
# A real Slurm with accounting on this one machine: two nodes in the partition `cpu`, one in `gpu`, two GPUs that are
# none. Root on Debian or Ubuntu. Everything but the packages is in one folder; nothing of an installed Slurm is touched.
#
#   tests/cluster/slurm.sh start <folder>    # installs what is missing
#   export SLURM_CONF=<folder>/slurm.conf PATH=<folder>/bin:$PATH
#   tests/cluster/slurm.sh stop <folder>
#
# Accounting is slurmdbd on a MariaDB of its own, as on a real cluster: Slurm 22.05 has no accounting in plain files.
set -euo pipefail

PACKAGES=(munge slurmctld slurmd slurm-client slurmdbd mariadb-server-core)
DBD_PORT=${SLURM_TEST_PORT:-26816} # and the five that follow
CONTROLLER_PORT=$((DBD_PORT + 1)) CPU_PORT=$((DBD_PORT + 2)) GPU_PORT=$((DBD_PORT + 3)) DATABASE_PORT=$((DBD_PORT + 4))
CPU2_PORT=$((DBD_PORT + 5))

fail() {
    echo "error: no Slurm to test with: $1" >&2
    exit 1
}

wait_for() { # what, then a command
    local log
    for _ in $(seq 100); do
        timeout 5 "${@:2}" >/dev/null 2>&1 && return
        sleep 0.1
    done
    for log in "$folder"/*.log; do tail -n 5 "$log" >&2; done
    fail "$1 does not start"
}

install() {
    local missing=() package
    for package in "${PACKAGES[@]}"; do
        dpkg-query --show --showformat '${Status}\n' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    # Packages start their services where there is an init; this cluster has processes of its own.
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
    apt-get update -qq || fail "apt-get update failed"
    apt-get install -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "${missing[@]}" >&2 ||
        fail "apt-get install ${missing[*]} failed"
}

configure() {
    local host
    host=$(hostname -s)
    mkdir -p "$folder"/{state,cpu1,cpu2,gpu1,database,bin}
    # Snakemake drops SLURM_CONF inside of a job.
    printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v srun)" >"$folder/bin/srun"
    chmod +x "$folder/bin/srun"
    head -c 1024 /dev/urandom >"$folder/munge.key"
    chmod 600 "$folder/munge.key"
    # Slurm sets CUDA_VISIBLE_DEVICES for character devices alone; these are /dev/null.
    for number in 0 1; do [ -c "$folder/device$number" ] || mknod "$folder/device$number" c 1 3; done
    echo "NodeName=gpu1 Name=gpu File=$folder/device[0-1]" >"$folder/gres.conf"
    cat >"$folder/slurm.conf" <<EOF
ClusterName=mini
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$CONTROLLER_PORT
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
StateSaveLocation=$folder/state
SlurmdPidFile=$folder/%n.pid
SlurmdLogFile=$folder/%n.log
SlurmdSpoolDir=$folder/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=5,bf_interval=5
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$DBD_PORT
AccountingStoragePass=$folder/munge.socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
GresTypes=gpu
NodeName=cpu1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$CPU_PORT CPUs=8 RealMemory=256000
NodeName=cpu2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$CPU2_PORT CPUs=8 RealMemory=256000
NodeName=gpu1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$GPU_PORT CPUs=8 RealMemory=512000 Gres=gpu:2
PartitionName=cpu Nodes=cpu[1-2] Default=YES
PartitionName=gpu Nodes=gpu1
PartitionName=urgent Nodes=gpu1 PriorityTier=2
EOF
    cat >"$folder/slurmdbd.conf" <<EOF
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$DBD_PORT
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
LogFile=$folder/slurmdbd.log
PidFile=$folder/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$DATABASE_PORT
StorageUser=root
EOF
    chmod 600 "$folder/slurmdbd.conf"
}

start() {
    munged --force --socket="$folder/munge.socket" --key-file="$folder/munge.key" --pid-file="$folder/munge.pid" \
        --log-file="$folder/munge.log" --seed-file="$folder/munge.seed" 2>/dev/null || fail "munged does not start"
    # Without passwords and without system tables: it listens to this machine alone and lives as long as the test.
    mariadbd --no-defaults --user=root --datadir="$folder/database" --socket="$folder/database.socket" \
        --pid-file="$folder/mariadb.pid" --bind-address=127.0.0.1 --port=$DATABASE_PORT --skip-grant-tables \
        --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=64M --innodb-log-file-size=16M \
        --innodb-lock-wait-timeout=900 >"$folder/mariadb.log" 2>&1 &
    wait_for MariaDB grep -q "ready for connections" "$folder/mariadb.log"
    slurmdbd || fail "slurmdbd does not start"
    wait_for slurmdbd sacctmgr --noheader show cluster
    sacctmgr --immediate --quiet add cluster mini >/dev/null || fail "no accounting"
    sacctmgr --immediate --quiet add account lab >/dev/null
    sacctmgr --immediate --quiet add user "$(id -un)" account=lab >/dev/null
    slurmctld -i || fail "slurmctld does not start"
    local node
    for node in cpu1 cpu2 gpu1; do slurmd -N $node || fail "slurmd does not start"; done
    wait_for "a node" sh -c '[ "$(sinfo --noheader --Node --states=idle --format=%N | sort -u | wc -l)" = 3 ]'
}

stop() {
    scancel --me 2>/dev/null || true
    local name
    for name in cpu1 cpu2 gpu1 slurmctld slurmdbd mariadb munge; do
        [ -s "$folder/$name.pid" ] && kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
    done
}

[ $# -eq 2 ] || fail "usage: $0 start|stop <folder>"
mkdir -p "$2"
folder=$(cd "$2" && pwd)
export SLURM_CONF="$folder/slurm.conf"
case "$1" in
start)
    [ "$(id -u)" = 0 ] || fail "it is started by root alone"
    install
    configure
    start
    ;;
stop) stop ;;
*) fail "usage: $0 start|stop <folder>" ;;
esac
