#!/usr/bin/env bash
# Installs the package on a fresh Debian 12, uses it, upgrades it, takes it away, and looks at what is left: first without
# systemd, as in the image of a container, then with systemd at work. Prints a table; some five minutes. From the project
# root: make deb-check, or for a package that is there: Tests/deb-check.sh PACKAGE BUILT
#
# It needs root, for a root folder of its own with its own mounts, processes and network. Nothing of the machine is changed
# but .build; Debian's packages come from where the machine's own apt has them from.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
package=${1:?names the package} built=${2:-.build/release}
folder=$PWD/.build/deb-check base=$PWD/.build/debian12.tar

skip() {
    echo "skipped: $1"
    exit 0
}

if [[ ! ${SLUICE_DEB_CHECK-} ]]; then
    ((EUID == 0)) || skip 'deb-check needs root, for a root folder with its own mounts'
    command -v mmdebstrap >/dev/null || skip 'there is no mmdebstrap; install it'
    unshare --mount --pid --fork true 2>/dev/null || skip 'this container may not make namespaces'
    export SLUICE_DEB_CHECK=1
    # All that is started ends with this process, and all that is mounted goes.
    exec timeout --foreground --kill-after 10 1500 unshare --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
# The first process of a namespace takes no signal that it has no handler for.
trap 'exit 1' INT TERM

# ---- The table ----
failures=0
row() { printf '%-66s %7s  %s\n' "$@"; }

step() { # name, seconds that it may take, words of a command
    local name=$1 limit=$2 began=$EPOCHREALTIME result=ok
    shift 2
    if ! timeout --kill-after 5 "$limit" "$@" >"$folder/log" 2>&1 </dev/null; then
        result=FAILED failures=$((failures + 1))
    fi
    row "$name" "$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')" "$result"
    [[ $result == ok ]] || tail -n 25 "$folder/log" | cut -c 1-200 | sed 's/^/    /'
    [[ $result == ok ]]
}

# A script for the new system's shell, from standard input.
inside() { # name, seconds
    local script
    script=$(cat)
    step "$1" "$2" "${enter[@]}" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive sh -euc ". /root/words; set -x; $script"
}

# ---- A root folder ----
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "bookworm" { print $2; exit }')
[[ $mirror ]] || skip 'apt of this machine knows no place with Debian 12'
rm -rf "$folder"
mkdir -p "$folder/root"
row step time result
find "$base" -mtime +7 -delete 2>/dev/null
if [[ ! -e $base ]]; then
    step 'a Debian 12 of few packages' 600 mmdebstrap --quiet --variant=minbase --format=tar \
        --include=systemd,curl,ca-certificates bookworm "$base.part" "$mirror" || exit 1
    mv "$base.part" "$base"
fi
root=$folder/root
tar -xpf "$base" -C "$root"
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev"
# No service is started by the packages that are needed.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod 755 "$root/usr/sbin/policy-rc.d"
cp "$package" "$root/root/sluice.deb"
"$built/sluice-samples" "$root/root/samples" >/dev/null || exit 1

# What the scripts have in common.
cat >"$root/root/words" <<'SH'
cd /
home=/var/lib/sluice
user="setpriv --reuid=sluice --regid=sluice --init-groups env HOME=$home"

# `!` alone would not end a script with -e.
not() { if "$@"; then echo "it should not hold: $*"; exit 1; fi; }

# Tries a command for ten seconds.
soon() { for try in $(seq 100); do "$@" >/dev/null 2>&1 && break; sleep 0.1; done; "$@"; }

field() { dpkg-deb -f /root/sluice.deb "$1" | sed "s/([^)]*)//g; s/,/ /g"; }

# What the system has, but for what changes with any package. The backups of /etc/passwd and its like end with `-`.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path /mnt \
        -o -path /var/log -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/lib/systemd -o -path /var/cache/apt \
        -o -path /var/cache/debconf -o -path /etc/.pwd.lock \) -prune -o ! -name "*-" -print | sort
}

# The state is its users' and stays, with its owner.
left_is_the_state() {
    test "$(stat -c %U:%a $home)" = sluice:700
    test -s $home/sluice.db
    test -s $home/sluice.key
    files >/root/after
    comm -3 /root/before /root/after | grep -v -P "^\t$home" >/root/left || true
    cat /root/left
    test ! -s /root/left
}

# An object is what was sent.
is_stored() {
    sum=$(sha256sum <"/root/samples/$1")
    find $home/store -type f -exec sha256sum {} + | grep -q "^${sum%% *}"
}

ask() { # path, and options of curl
    path=$1
    shift
    curl -sS --fail-with-body --max-time 20 $socket -H "Authorization: Bearer $(cat /root/token)" "http://127.0.0.1:8080$path" "$@"
}
socket=
send() { ask "/v1/attachments?filename=$1&conversationId=c1&senderId=ann" --data-binary "@/root/samples/$1"; }
is_completed() { ask "/v1/attachments?name=$1" | grep '"status":"completed"'; }
process() { systemctl show -P MainPID sluice | grep -vx 0; } # kill(1) takes 0 for its own group
# systemctl returns once the signal is sent.
reload() { systemctl reload sluice && soon is_read && sleep 0.2; }
is_read() { journalctl --no-pager -o cat -u sluice -n 5 | grep "the pipeline was read again"; }
told() { journalctl --no-pager -o cat -u sluice -n 60; }
SH

# ---- Without systemd ----
printf '\nWithout systemd\n'
enter=(chroot "$root")
inside 'apt installs what it depends on' 300 <<'SH'
apt-get update -qq
apt-get install -y -qq --no-install-recommends $(field Depends)
files >/root/before
SH
inside 'apt installs the package, and nothing else' 120 <<'SH' || exit 1
apt-get install -y --no-install-recommends /root/sluice.deb >/root/log
cat /root/log
grep -q " 1 newly installed" /root/log
SH
inside 'sluice --version is that of the package' 10 <<'SH'
test "$(sluice --version | cut -d " " -f 2)" = "$(field Version)"
SH
inside 'only the service opens its state' 10 <<'SH'
test "$(stat -c %U:%G:%a $home)" = sluice:sluice:700
test "$(stat -c %U:%a /etc/sluice/pipeline.yaml)" = root:644
SH
inside 'the pipeline of the service is in order' 30 <<'SH'
$user sluice lint /etc/sluice/pipeline.yaml
SH
inside 'sluice doctor misses libvips alone, which is only recommended' 60 <<'SH'
not sluice doctor --home $home >/tmp/doctor
cat /tmp/doctor
grep "^Sandbox of a worker .*: complete" /tmp/doctor
test "$(awk '$1 == "wrong" { print $2 }' /tmp/doctor | xargs)" = "image preview"
SH
inside 'an ingest completes what is whole, and rejects what is not' 60 <<'SH'
mkdir /tmp/inbox
cp /root/samples/report.pdf /root/samples/damaged.pdf /tmp/inbox
status=0
$user sluice ingest --home $home --conversation c1 --sender ann --participants ann,ben /tmp/inbox || status=$?
test $status = 1
$user sluice list --home $home --status rejected | grep damaged.pdf
$user sluice list --home $home --status completed | grep report.pdf
is_stored report.pdf
test -s $home/events.jsonl
SH
inside 'sluice serve answers, and takes an upload' 60 <<'SH'
$user sluice tokens add backend --role service --home $home >/root/token
socket="--unix-socket $home/http.sock"
$user sluice serve --home $home --listen unix:$home/http.sock &
server=$!
soon ask /livez
send form.pdf
soon is_completed form.pdf
is_stored form.pdf
ask /metrics | grep -x 'sluice_attachments{status="completed"} 2'
kill $server
wait $server
rm -f $home/http.sock
SH
inside 'an upgrade keeps the changed pipeline and the state' 60 <<'SH'
echo "# changed" >>/etc/sluice/pipeline.yaml
dpkg -i /root/sluice.deb
tail -n 1 /etc/sluice/pipeline.yaml | grep -x "# changed"
$user sluice list --home $home --status completed | grep report.pdf
SH
inside 'a removal leaves the configuration and the state' 60 <<'SH'
apt-get remove -y -qq sluice
not command -v sluice
test ! -e /usr/lib/sluice
test -e /etc/sluice/pipeline.yaml
test -s $home/sluice.db
SH
inside 'a purge leaves the state and its owner, and nothing else' 60 <<'SH'
dpkg --purge sluice
left_is_the_state
SH
inside 'what was left is used again' 60 <<'SH'
dpkg -i /root/sluice.deb
$user sluice list --home $home | grep report.pdf
$user sluice verify --home $home
dpkg --purge sluice
rm -r $home
deluser --system --quiet sluice
not getent passwd sluice
SH

# ---- With systemd, the first process of its own namespaces ----
printf '\nWith systemd\n'
inside 'apt installs what it recommends' 300 <<'SH'
apt-get install -y -qq --no-install-recommends $(field Recommends)
SH
rm -f "$root/usr/sbin/policy-rc.d"
cat >"$folder/boot" <<'BOOT'
set -e
root=$1
umount -R "$root/dev" "$root/proc"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
for place in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs "$root/$place"; done
chmod 1777 "$root/tmp"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
cd "$root"
# Not chroot: there the kernel makes no namespaces of users, as PrivateUsers= needs.
pivot_root . mnt
umount -l /mnt
# As systemd does it outside of containers: credentials reach a service by propagation.
mount --make-rshared /
exec env -i container=deb-check PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --log-target=journal --show-status=0
BOOT
unshare --mount --pid --uts --ipc --cgroup --net --fork --kill-child bash "$folder/boot" "$root" \
    >"$folder/boot.log" 2>&1 </dev/null &
unshared=$!
is_up=
for _ in $(seq 60); do
    sleep 0.5
    init=$(tr -d ' ' <"/proc/$unshared/task/$unshared/children") || break
    enter=(nsenter -t "$init" --mount --pid --uts --ipc --cgroup --net --root --wd)
    if "${enter[@]}" systemctl is-active --quiet multi-user.target 2>/dev/null; then
        is_up=1
        break
    fi
done
if [[ ! $is_up ]]; then
    echo "skipped: systemd does not start in namespaces here: $(tail -n 1 "$folder/boot.log")"
    exit $((failures > 0))
fi
inside 'the package starts and enables nothing' 60 <<'SH'
files >/root/before
dpkg -i /root/sluice.deb
not systemctl is-active sluice.service sluice.socket
not systemctl is-enabled sluice.service sluice.socket
SH
inside 'sluice doctor has nothing to say, in the confines of the service' 120 <<'SH'
$user sluice tokens add admin --role admin --home $home >/root/token
mkdir -p /etc/systemd/system/sluice.service.d
printf "[Service]\nExecStartPre=/usr/bin/sluice doctor --home $home\n" >/etc/systemd/system/sluice.service.d/doctor.conf
systemctl daemon-reload
systemctl start sluice || { told; exit 1; }
told | grep "^Nothing is wrong"
told | grep "^Sandbox of a worker .*: complete"
rm -r /etc/systemd/system/sluice.service.d
systemctl daemon-reload
SH
inside 'the service is at work, as the user sluice, without capabilities' 60 <<'SH'
systemctl restart sluice
test "$(stat -c %U /proc/$(process))" = sluice
grep -x "CapBnd:.0*" /proc/$(process)/status
ask /livez
told >/tmp/told
not grep "token for" /tmp/told
SH
inside 'it takes uploads of PDFs and images, by its pipeline' 60 <<'SH'
for name in report.pdf photo.jpg photo.png; do send $name; done
for name in report.pdf photo.jpg photo.png; do soon is_completed $name; is_stored $name; done
SH
inside 'every stage but scan, and every channel, works in those confines' 60 <<'SH'
cp /etc/sluice/pipeline.yaml /root/pipeline.yaml
cat >/etc/sluice/pipeline.yaml <<'YAML'
version: 1
serve: { listen: 127.0.0.1:8080 }
stages:
  - use: mime
  - use: size
  - { use: image, when: image/* }
  - { use: pdf, when: application/pdf }
  - { use: text, when: application/pdf }
  - { use: preview }
  - { use: archive }
  - { use: mail }
  - { use: store, options: { path: "{attachmentId}.{extension}" } }
  - { use: notify, options: { to: everyone, channels: [events, hook] } }
channels:
  events: { use: jsonl, options: { path: /var/lib/sluice/events.jsonl } }
  hook:
    use: webhook
    options: { url: "http://localhost:8080/livez", allow-private: [localhost], secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw] }
lanes:
  downloads: { use: http, max-size: 10MB, options: { allow-private: [localhost] } }
YAML
reload || { told; exit 1; }
cp /root/samples/report.pdf $home/other.pdf
cp /root/samples/photo.jpg $home/other.jpg
chown sluice: $home/other.*
$user sluice enqueue --wait --timeout 30s --home $home $home/other.pdf $home/other.jpg
ask /v1/fetch --json '{"url": "http://localhost:8080/version"}'
# The service takes no events: that it was asked is enough.
asked() { ask "/v1/deliveries?channel=hook" | grep 'the endpoint answered 405'; }
soon asked
rm $home/other.*
mv /root/pipeline.yaml /etc/sluice/pipeline.yaml
systemctl reload sluice
SH
inside 'its key can be a credential of systemd' 60 <<'SH'
cp /etc/sluice/pipeline.yaml /root/pipeline.yaml
mkdir -p /etc/systemd/system/sluice.service.d
printf "[Service]\nLoadCredential=sluice-key:/etc/sluice/key\n" >/etc/systemd/system/sluice.service.d/key.conf
(umask 077 && head -c 32 /dev/urandom >/etc/sluice/key)
echo "secrets: { key: 'credential:sluice-key', old: ['file:$home/sluice.key'] }" >>/etc/sluice/pipeline.yaml
systemctl daemon-reload
systemctl restart sluice || { told; exit 1; }
ask /livez
rm -r /etc/systemd/system/sluice.service.d /etc/sluice/key
mv /root/pipeline.yaml /etc/sluice/pipeline.yaml
systemctl daemon-reload
systemctl restart sluice
SH
inside 'a reload with a faulty file is refused, and it goes on' 30 <<'SH'
echo "surplus: 1" >>/etc/sluice/pipeline.yaml
not systemctl reload sluice
told | grep surplus
ask /livez
sed -i "/^surplus/d" /etc/sluice/pipeline.yaml
SH
inside 'workers and a server that are killed cost nothing else' 30 <<'SH'
before=$(process)
for child in $(cat /proc/$before/task/*/children); do kill -9 $child; done
soon ask /livez
send form.pdf
soon is_completed form.pdf
test $(process) = $before
SH
inside 'it starts again after a crash' 30 <<'SH'
kill -SEGV $(process)
sleep 2
soon systemctl is-active sluice
soon ask /livez
test "$(systemctl show -P NRestarts sluice)" = 1
SH
inside 'it starts again where it hangs, by the watchdog' 90 <<'SH'
kill -STOP $(process)
for try in $(seq 60); do test "$(systemctl show -P NRestarts sluice)" = 2 && break; sleep 1; done
journalctl --no-pager -o short-monotonic -u sluice -n 15
journalctl --no-pager -o cat -u sluice | grep "Watchdog timeout"
soon ask /livez
SH
inside 'an upgrade while it works starts it again' 60 <<'SH'
before=$(process)
dpkg -i /root/sluice.deb
test $(process) != $before
soon ask /livez
not systemctl is-enabled sluice
SH
inside 'a stop ends it, with 0' 60 <<'SH'
systemctl stop sluice
test "$(systemctl show -P Result sluice)" = success
test "$(systemctl show -P ExecMainStatus sluice)" = 0
SH
inside 'the socket starts it, and holds clients while it restarts' 60 <<'SH'
sed -i "s/listen: 127.0.0.1:8080/listen: systemd/" /etc/sluice/pipeline.yaml
systemctl start sluice.socket
not systemctl is-active sluice.service
socket="--unix-socket /run/sluice/http.sock"
ask /livez
systemctl restart --no-block sluice
for try in $(seq 40); do ask /livez; done
not setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS $socket http://sluice/livez
SH
inside 'an upgrade starts both again' 60 <<'SH'
dpkg -i /root/sluice.deb
systemctl is-active sluice.socket
systemctl is-active sluice.service
socket="--unix-socket /run/sluice/http.sock"
ask /livez
SH
inside 'a removal stops both' 60 <<'SH'
systemctl enable sluice.service sluice.socket
apt-get remove -y -qq sluice
not systemctl is-active sluice.service sluice.socket
test ! -e /run/sluice/http.sock
SH
inside 'a purge leaves the state and its owner, and nothing else' 60 <<'SH'
dpkg --purge sluice
left_is_the_state
systemctl list-unit-files >/tmp/units
not grep sluice /tmp/units
SH

echo
if ((failures > 0)); then echo "$failures failed"; else echo 'all is in order'; fi
exit $((failures > 0))
