/// One way out of a program's sandbox.
struct ProgramEscape: Sendable {
  var name: String
  /// In Python. It raises an error where it does not succeed.
  var act: String
  /// The errors that may stop it.
  var refusals: Set<String>
  /// Whether it succeeds without a sandbox, as root.
  var leadsOut: Bool

  private init(_ name: String, _ act: String, _ refusals: Set<String>, leadsOut: Bool = true) {
    (self.name, self.act, self.refusals, self.leadsOut) = (name, act, refusals, leadsOut)
  }

  static let all = files + processes + sockets

  private static let files = [
    ProgramEscape("open-secret", #"open(world + '/secret')"#, ["EACCES"]),
    ProgramEscape("open-by-link", #"open(world + '/link')"#, ["EACCES"]),
    ProgramEscape("open-shadow", #"open('/etc/shadow')"#, ["EACCES"]),
    ProgramEscape("open-passwd", #"open('/etc/passwd')"#, ["EACCES"]),
    ProgramEscape("open-hosts", #"open('/etc/hosts')"#, ["EACCES"]),
    ProgramEscape("list-root", #"os.listdir('/')"#, ["EACCES"]),
    ProgramEscape("list-home-of-root", #"os.listdir('/root')"#, ["EACCES"]),
    ProgramEscape("list-tmp", #"os.listdir('/tmp')"#, ["EACCES"]),
    ProgramEscape("list-world", #"os.listdir(world)"#, ["EACCES"]),
    ProgramEscape("list-upwards", #"os.listdir('..')"#, ["EACCES"]),
    ProgramEscape("open-ledger", #"open(world + '/home/sluice.db', 'rb')"#, ["EACCES"]),
    ProgramEscape("open-pipeline", #"open(world + '/pipeline.yaml')"#, ["EACCES"]),
    ProgramEscape("open-attachment", #"open(world + '/in/open-attachment')"#, ["EACCES"]),
    ProgramEscape("write-outside", #"open(world + '/out/mine', 'w')"#, ["EACCES"]),
    ProgramEscape("write-itself", #"open('acts.py', 'a')"#, ["EACCES"]),
    ProgramEscape("make-beside-itself", #"open('made', 'w')"#, ["EACCES"]),
    ProgramEscape("make-in-tmp", #"open('/tmp/' + made, 'w')"#, ["EACCES"]),
    ProgramEscape("make-shared-memory", #"open('/dev/shm/' + made, 'w')"#, ["EACCES"]),
    ProgramEscape(
      "make-nameless", #"os.open(world + '/out', os.O_TMPFILE | os.O_RDWR)"#, ["EACCES", "EPERM", "EISDIR"]),
    ProgramEscape("make-folder", #"os.mkdir(world + '/out/made-folder')"#, ["EPERM"]),
    ProgramEscape("make-link", #"os.link(world + '/out/mine', world + '/out/made-link')"#, ["EPERM"]),
    ProgramEscape("make-symbolic-link", #"os.symlink('/etc', world + '/out/made-symbolic-link')"#, ["EPERM"]),
    ProgramEscape("make-fifo", #"os.mkfifo(world + '/out/made-fifo')"#, ["EPERM"]),
    ProgramEscape(
      "make-device", #"os.mknod(world + '/out/made-device', 0o20666, os.makedev(1, 3))"#, ["EPERM"]),
    ProgramEscape("rename", #"os.rename(world + '/out/mine', world + '/out/mine')"#, ["EPERM"]),
    ProgramEscape("unlink", #"os.unlink(world + '/link')"#, ["EPERM"]),
    ProgramEscape("truncate", #"os.truncate(world + '/out/mine', 0)"#, ["EPERM"]),
    ProgramEscape("chmod", #"os.chmod(world + '/secret', 0o777)"#, ["EPERM"]),
    ProgramEscape("chown", #"os.chown(world + '/secret', os.getuid(), -1)"#, ["EPERM"]),
    ProgramEscape("utime", #"os.utime(world + '/secret')"#, ["EPERM"]),
    ProgramEscape("set-attribute", #"os.setxattr(world + '/secret', 'user.made', b'x')"#, ["EPERM"]),
    ProgramEscape("open-environment-of-first", #"open('/proc/1/environ', 'rb').read()"#, ["EACCES"]),
    ProgramEscape("open-own-environment", #"open('/proc/self/environ')"#, ["EACCES"]),
    ProgramEscape("open-own-memory", #"open('/proc/self/mem', 'r+b')"#, ["EACCES"]),
    ProgramEscape("open-own-maps", #"open('/proc/self/maps')"#, ["EACCES"]),
    ProgramEscape("open-environment-of-other", #"open(f'/proc/{canary}/environ')"#, ["EACCES", "ENOENT"]),
    ProgramEscape("open-memory-of-other", #"open(f'/proc/{canary}/mem', 'r+b')"#, ["EACCES"]),
    ProgramEscape("open-through-root-of-other", #"open(f'/proc/{canary}/root/etc/hostname')"#, ["EACCES"]),
    ProgramEscape("open-through-folder-of-other", #"open(f'/proc/{canary}/cwd/secret')"#, ["EACCES"]),
    ProgramEscape("open-descriptor-of-other", #"open(f'/proc/{canary}/fd/8')"#, ["EACCES"]),
    ProgramEscape("list-descriptors-of-other", #"os.listdir(f'/proc/{canary}/fd')"#, ["EACCES"]),
    ProgramEscape("list-processes", #"os.listdir('/proc')"#, ["EACCES"]),
    ProgramEscape("open-meminfo", #"open('/proc/meminfo')"#, ["EACCES"]),
    ProgramEscape("open-sysctl", #"open('/proc/sys/kernel/core_pattern', 'w')"#, ["EACCES"]),
    ProgramEscape("list-sys", #"os.listdir('/sys/kernel')"#, ["EACCES"]),
    ProgramEscape("open-terminal", #"open('/dev/tty')"#, ["EACCES"], leadsOut: false),
    ProgramEscape("open-kernel-log", #"open('/dev/kmsg')"#, ["EACCES"], leadsOut: false),
    ProgramEscape("open-pseudo-terminals", #"open('/dev/ptmx', 'r+b', 0)"#, ["EACCES"], leadsOut: false),
    ProgramEscape("open-memory-device", #"open('/dev/mem')"#, ["EACCES", "ENOENT"], leadsOut: false),
    ProgramEscape("write-content", #"open('/proc/self/fd/3', 'r+b')"#, ["EACCES"], leadsOut: false),
    ProgramEscape("change-mode-of-new-content", #"os.fchmod(4, 0o777)"#, ["EPERM"]),
    ProgramEscape(
      "run-new-content", #"os.write(4, b'#!/bin/sh' + bytes([10])); os.execv('/proc/self/fd/4', ['x'])"#,
      ["EACCES"], leadsOut: false),
    ProgramEscape("run-content", #"os.execv('/proc/self/fd/3', ['x'])"#, ["EACCES"], leadsOut: false),
    ProgramEscape("run-descriptor", #"call(322, 4, b'', 0, 0, 0x1000)"#, ["EACCES"], leadsOut: false),
    ProgramEscape("memory-file", #"call(319, b'made', 0)"#, ["EPERM"]),
    ProgramEscape("change-root", #"os.chroot(world)"#, ["EPERM"]),
  ]

  /// Numbers of system calls are those of x86-64.
  private static let processes = [
    ProgramEscape("signal-other", #"os.kill(canary, 0)"#, ["EPERM", "ESRCH"], leadsOut: false),
    ProgramEscape(
      "queue-signal", #"call(129, canary, 0, ctypes.create_string_buffer(128))"#, ["EPERM"], leadsOut: false),
    ProgramEscape("trace-other", #"call(101, 16, canary, 0, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("be-traced", #"call(101, 0, 0, 0, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("read-other", #"call(310, canary, 0, 0, 0, 0, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("write-other", #"call(311, canary, 0, 0, 0, 0, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape(
      "take-descriptor", #"call(438, call(434, canary, 0), 8, 0)"#, ["EPERM", "ESRCH"], leadsOut: false),
    ProgramEscape(
      "limits-of-other", #"resource.prlimit(canary, resource.RLIMIT_NOFILE)"#,
      ["EPERM", "PermissionError", "ProcessLookupError"], leadsOut: false),
    ProgramEscape(
      "raise-core-limit", #"resource.setrlimit(resource.RLIMIT_CORE, (1, 1))"#, ["ValueError", "EPERM"],
      leadsOut: false),
    ProgramEscape(
      "raise-file-limit", #"resource.setrlimit(resource.RLIMIT_NOFILE, (100000, 100000))"#,
      ["ValueError", "EPERM"], leadsOut: false),
    ProgramEscape(
      "raise-memory-limit", #"resource.setrlimit(resource.RLIMIT_AS, (-1, -1))"#, ["ValueError", "EPERM"],
      leadsOut: false),
    ProgramEscape("choose-processor", #"os.sched_setaffinity(0, {0})"#, ["EPERM"]),
    ProgramEscape("change-priority", #"os.setpriority(os.PRIO_PROCESS, 0, 1)"#, ["EPERM"]),
    ProgramEscape("become-root", #"os.setuid(0)"#, ["EPERM"]),
    ProgramEscape("become-group-root", #"os.setgid(0)"#, ["EPERM"]),
    ProgramEscape("change-groups", #"os.setgroups([0])"#, ["EPERM"], leadsOut: false),
    ProgramEscape(
      "mount", #"call(165, b'none', world.encode() + b'/out', b'tmpfs', 0, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("unmount", #"call(166, b'/proc', 2)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("unshare-users", #"call(272, 0x10000000)"#, ["EPERM"]),
    ProgramEscape("unshare-mounts", #"call(272, 0x20000)"#, ["EPERM"]),
    ProgramEscape("unshare-network", #"call(272, 0x40000000)"#, ["EPERM"]),
    ProgramEscape("unshare-files", #"call(272, 0x400)"#, ["EPERM"]),
    ProgramEscape("enter-namespace", #"call(308, 4, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("clone-users", #"call(56, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)"#, ["EPERM"]),
    ProgramEscape("clone-mounts", #"call(56, 0x20000 | 17, 0, 0, 0, 0) or os._exit(0)"#, ["EPERM"]),
    ProgramEscape("clone-network", #"call(56, 0x40000000 | 17, 0, 0, 0, 0) or os._exit(0)"#, ["EPERM"]),
    ProgramEscape(
      "clone3",
      #"call(435, ctypes.create_string_buffer(struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0)), 64) or os._exit(0)"#,
      ["ENOSYS"]),
    ProgramEscape(
      "load-filter-program", #"call(321, 0, ctypes.create_string_buffer(128), 128)"#, ["EPERM"],
      leadsOut: false),
    ProgramEscape(
      "measure", #"call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("handle-faults", #"call(323, 0)"#, ["EPERM"]),
    ProgramEscape("ring", #"call(425, 4, ctypes.create_string_buffer(120))"#, ["EPERM"], leadsOut: false),
    ProgramEscape("keyring", #"call(250, 0, -3, 0)"#, ["EPERM"]),
    ProgramEscape("add-key", #"call(248, b'user', b'made', b'x', 1, -3)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("personality", #"call(135, 0xffffffff)"#, ["EPERM"]),
    ProgramEscape("death-signal", #"call(157, 1, 0, 0, 0, 0)"#, ["EPERM"]),
    ProgramEscape("dumpable", #"call(157, 4, 0, 0, 0, 0)"#, ["EPERM"]),
    ProgramEscape("subreaper", #"call(157, 36, 1, 0, 0, 0)"#, ["EPERM"]),
    ProgramEscape(
      "own-filter", #"call(317, 2, 0, ctypes.create_string_buffer(bytes([0, 0, 255, 127])))"#, ["EPERM"]),
    ProgramEscape("own-landlock", #"call(444, 0, 0, 1)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("shared-memory", #"call(29, 0, 4096, 0o1600)"#, ["EPERM"]),
    ProgramEscape("message-queue", #"call(68, 0, 0o1600)"#, ["EPERM"]),
    ProgramEscape("semaphores", #"call(64, 0, 1, 0o1600)"#, ["EPERM"]),
    ProgramEscape("posix-queue", #"call(240, b'made', 0o102, 0o600, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("watch-files", #"call(294, 0)"#, ["EPERM"]),
    ProgramEscape("watch-all-files", #"call(300, 0, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("open-by-handle", #"call(304, 3, 0, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("kernel-log", #"call(103, 10, 0, 0)"#, ["EPERM"]),
    ProgramEscape("clock", #"call(159, ctypes.create_string_buffer(208))"#, ["EPERM"]),
    ProgramEscape("ports", #"call(173, 0, 1, 0)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("segments", #"call(154, 0, ctypes.create_string_buffer(16), 16)"#, ["EPERM"]),
    ProgramEscape("signals-for-descriptor", #"fcntl.fcntl(0, 8, os.getpid())"#, ["EPERM"]),
    ProgramEscape("signal-of-descriptor", #"fcntl.fcntl(0, 10, 0)"#, ["EPERM"]),
    ProgramEscape("lease", #"fcntl.fcntl(3, 1024, 0)"#, ["EPERM"]),
    ProgramEscape("room-of-pipe", #"fcntl.fcntl(0, 1031, 1 << 20)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("type-into-terminal", #"fcntl.ioctl(0, 0x5412, b'x')"#, ["EPERM"], leadsOut: false),
  ]

  private static let sockets = [
    ProgramEscape("internet", #"socket.socket(socket.AF_INET)"#, ["EPERM"]),
    ProgramEscape("internet-6", #"socket.socket(socket.AF_INET6)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("datagrams", #"socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"#, ["EPERM"]),
    ProgramEscape("raw", #"socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("local", #"socket.socket(socket.AF_UNIX)"#, ["EPERM"]),
    ProgramEscape("netlink", #"socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"#, ["EPERM"]),
    ProgramEscape(
      "packets", #"socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("virtual", #"socket.socket(socket.AF_VSOCK)"#, ["EPERM"], leadsOut: false),
    ProgramEscape(
      "kernel-crypto", #"socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)"#, ["EPERM"], leadsOut: false),
    ProgramEscape("connect", #"socket.create_connection(('127.0.0.1', tcp)).send(b'connect')"#, ["EPERM"]),
    ProgramEscape("connect-to-path", #"socket.socket(socket.AF_UNIX).connect(world + '/stream')"#, ["EPERM"]),
    ProgramEscape(
      "connect-to-abstract", #"socket.socket(socket.AF_UNIX).connect(chr(0) + abstract)"#, ["EPERM"]),
    ProgramEscape("look-up-name", #"socket.getaddrinfo('localhost', 80)"#, ["gaierror"], leadsOut: false),
    ProgramEscape("pair-of-datagrams", #"socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)"#, ["EPERM"]),
    ProgramEscape("pair-of-packets", #"socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)"#, ["EPERM"]),
    ProgramEscape(
      "send-elsewhere", #"socket.socketpair()[0].sendto(b'x', world + '/stream')"#, ["EPERM", "EISCONN"],
      leadsOut: false),
    ProgramEscape(
      "send-message-elsewhere", #"socket.socketpair()[0].sendmsg([b'x'], [], 0, world + '/stream')"#,
      ["EISCONN", "EOPNOTSUPP"], leadsOut: false),
    ProgramEscape(
      "connect-pair", #"socket.socketpair()[0].connect(world + '/stream')"#, ["EPERM"], leadsOut: false),
    ProgramEscape("listen-on-pair", #"socket.socketpair()[0].listen()"#, ["EPERM"], leadsOut: false),
  ]

  /// For a program that may start others.
  static let ofChildren = [
    ProgramEscape(
      "child-reads-secret", #"subprocess.run(['cat', world + '/secret'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-reads-shadow", #"subprocess.run(['cat', '/etc/shadow'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-lists-root", #"subprocess.run(['ls', '/root'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-makes-file",
      #"subprocess.run(['sh', '-c', 'echo made > /tmp/' + made], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-makes-folder",
      #"subprocess.run(['mkdir', world + '/out/made'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-changes-mode",
      #"subprocess.run(['chmod', '777', world + '/secret'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-writes-outside",
      #"subprocess.run(['sh', '-c', 'echo > ' + world + '/out/mine'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-unshares", #"subprocess.run(['unshare', '--user', 'true'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-mounts",
      #"subprocess.run(['mount', '-t', 'tmpfs', 'none', world + '/out'], check=True, capture_output=True)"#,
      ["CalledProcessError"], leadsOut: false),
    ProgramEscape(
      "child-connects",
      #"subprocess.run(['bash', '-c', f'echo connect > /dev/tcp/127.0.0.1/{tcp}'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-signals", #"subprocess.run(['sh', '-c', f'kill -0 {canary}'], check=True, capture_output=True)"#,
      ["CalledProcessError"], leadsOut: false),
    ProgramEscape(
      "child-of-daemon-reads-secret",
      #"subprocess.run(['setsid', '-w', 'cat', world + '/secret'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
    ProgramEscape(
      "child-runs-another-program", #"subprocess.run([world + '/link'], check=True, capture_output=True)"#,
      ["EACCES"], leadsOut: false),
    ProgramEscape(
      "child-becomes-another",
      #"subprocess.run(['setpriv', '--reuid=0', 'true'], check=True, capture_output=True)"#,
      ["CalledProcessError"]),
  ]
}
