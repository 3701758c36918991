/// One way to escape from a worker, of those in `Tests/Fixtures/Stages/escape.c`.
struct Attack: Sendable {
  enum Capability: String, CaseIterable, Sendable {
    case content, store, network
    /// That of the process that serves HTTP; no stage has it.
    case front

    static let allCases: [Capability] = [.content, .store, .network]

    /// The stage with this capability.
    var stage: String { self == .content ? "escape" : "escape-\(rawValue)" }
  }

  var name: String
  var capability: Capability

  var sendsSignal: Bool { Self.signals.contains(name) }

  /// No attack: the worker only waits, so that a test can inspect it.
  static func wait(_ capability: Capability) -> Attack { Attack(name: "wait", capability: capability) }

  /// The call is denied and the worker goes on; other attacks end the worker.
  var isAnswered: Bool {
    if Self.answeredToAll.contains(name) { return true }
    switch capability {
    case .content: return false
    case .front: return Self.answeredToFront.contains(name)
    case .store: return Self.opening.contains(name) || Self.answeredToStore.contains(name)
    case .network: return Self.opening.contains(name) || Self.answeredToNetwork.contains(name)
    }
  }

  /// Every attack that must fail with this capability.
  static func all(_ capability: Capability) -> [Attack] {
    let granted: Set<String> =
      switch capability {
      case .content: []
      case .front: frontMay
      case .store: storeMay
      case .network: networkMay
      }
    let own = capability == .front ? listeners : []
    return (files + processes + kernel + processor + sockets + own).filter { !granted.contains($0) }
      .map { Attack(name: $0, capability: capability) }
  }

  /// Every attack that succeeds without a sandbox, once: with a capability that has what it needs.
  static let control: [Attack] =
    all(.content).filter { !needsFolder.contains($0.name) && !harmless.contains($0.name) }
    + all(.store).filter { needsFolder.contains($0.name) && !harmless.contains($0.name) }

  /// Landlock does not restrict `stat`, and seccomp cannot judge it by its arguments: see the README.
  private static let storeMay: Set = ["stat", "use-folder"]
  private static let networkMay: Set = [
    "stat", "tcp", "tcp-fast-open", "udp", "udp-unconnected", "thread", "send-elsewhere", "receive-elsewhere",
    "sendmmsg", "shutdown",
  ]

  /// What the server may; and what is about the start of a worker, which has no address space without limit.
  private static let frontMay: Set = [
    "thread", "raise-memory", "descriptors", "environment", "standard-output", "standard-input", "pass",
    "pass-descriptor",
  ]

  /// The call that must end the worker, for an attack of several calls: a later call does not count.
  var call: String? {
    switch name {
    case "bind-tcp", "bind-udp": capability == .network ? "bind" : "socket"
    case "listen": capability == .network ? "listen" : "socket"
    default: Self.calls[name]
    }
  }

  // MARK: How they are prevented

  private static let calls = [
    "fork": "fork", "vfork": "vfork", "clone": "clone", "clone-memory": "clone", "ptrace": "ptrace",
    "exec-memfd": "memfd_create", "pidfd-signal": "pidfd_open", "pidfd-getfd": "pidfd_open",
    "shmget": "shmget", "msgget": "msgget", "semget": "semget", "mount": "mount", "make-setuid": "openat",
    "make-symlink": "symlinkat", "mprotect-code": "mprotect", "datagram-pair": "socketpair",
    "packet-pair": "socketpair", "send-elsewhere": "sendmsg", "receive-elsewhere": "recvmsg",
  ]

  /// Attacks that open or create a file with openat(2), which Landlock refuses.
  private static let opening: Set = [
    "openat", "open-by-root", "open-by-cwd", "open-relative", "open-by-link", "open-below-path",
    "open-dot-dot", "list-folder", "open-neighbour", "open-ledger", "open-private-keys", "open-passwords",
    "parent-environment", "canary-environment", "canary-memory", "canary-root", "canary-descriptor",
    "own-memory", "own-environment", "core-pattern", "status-page", "reopen-content", "reopen-content-dev",
    "overwrite",
    "open-truncate", "create", "create-dot-dot", "create-nameless", "rename-out", "exchange", "link-out",
    "follow-symlink", "shared-memory-file", "proc-signal",
  ]
  private static let answeredToAll: Set = [
    "write-content", "raise-memory", "descriptors", "environment", "standard-output", "standard-input",
    "pass",
  ]
  private static let answeredToStore: Set = [
    "mkdir", "unlink", "rename-outside", "rename-into", "link-into", "link-content", "link-content-proc",
  ]
  private static let answeredToNetwork: Set = [
    "open", "use-folder", "chmod-setuid", "clone3", "raw-socket", "netlink-change", "unix-stream",
    "unix-datagram", "unix-abstract", "stream-pair", "reconnect",
  ]
  private static let answeredToFront: Set = ["clone3", "upload-beyond", "upload-longer"]
  private static let needsFolder: Set = [
    "open-dot-dot", "create-dot-dot", "rename-into", "rename-out", "exchange", "link-into", "link-out",
    "link-content", "link-content-proc", "make-symlink", "make-setuid", "chmod-setuid", "make-setgid-folder",
  ]
  /// Attacks that fail without a sandbox, too: the kernel or the coordinator prevents them by a read-only
  /// descriptor, a pair that stays connected, a socket whose peer checks its messages, or by what the start
  /// of a worker removes. And a container may deny root the right to raise a limit.
  private static let harmless: Set = [
    "write-content", "stream-pair", "packet-pair", "reconnect", "pass-descriptor", "send-elsewhere",
    "shutdown", "descriptors", "environment", "standard-output", "standard-input", "pass", "raise-memory",
    "use-folder",
  ]

  // MARK: Their names

  private static let files = [
    "open", "openat", "openat2", "open-by-root", "open-by-cwd", "open-relative", "open-by-link",
    "open-below-path", "open-dot-dot", "list-folder", "open-neighbour", "open-ledger", "open-private-keys",
    "open-passwords", "stat", "name-to-handle", "open-by-handle", "parent-environment", "canary-environment",
    "canary-memory", "canary-root", "canary-descriptor", "own-memory", "own-environment", "core-pattern",
    "status-page",
    "reopen-content", "reopen-content-dev", "write-content", "chmod-content", "chown-content",
    "touch-content", "tag-content", "link-content", "link-content-proc", "overwrite", "truncate",
    "open-truncate", "create", "create-dot-dot", "create-nameless", "mkdir", "unlink", "rename-outside",
    "rename-into", "rename-out", "exchange", "link-into", "link-out", "make-symlink", "follow-symlink",
    "chmod", "chown", "touch", "mknod", "make-setuid", "chmod-setuid", "make-setgid-folder",
    "shared-memory-file", "use-folder", "mount", "umount", "pivot-root", "chroot", "chdir", "fsopen",
    "open-tree", "swapon", "acct", "quotactl", "inotify", "fanotify", "flock",
  ]
  private static let signals: Set = [
    "kill", "tkill", "tgkill", "kill-group", "sigqueue", "tgsigqueue", "pidfd-signal", "proc-signal",
  ]
  private static let processes = [
    "fork", "vfork", "clone", "clone3", "clone-memory", "thread", "exec", "execveat", "exec-memfd", "unshare",
    "setns", "kill", "tkill", "tgkill", "kill-group", "sigqueue", "tgsigqueue", "pidfd-signal", "proc-signal",
    "owner-signal", "parent-signal", "ptrace", "ptrace-traceme", "vm-read", "vm-write", "pidfd-getfd", "kcmp",
    "prlimit-other", "setpriority", "sched-setscheduler", "sched-setattr", "ioprio-set", "sched-setaffinity",
    "setpgid", "setuid", "setgid", "setresuid", "setgroups", "capset", "raise-memory",
    "raise-output", "allow-core", "prctl-dumpable", "prctl-privileges", "prctl-death-signal", "prctl-tracer",
    "prctl-seccomp", "seccomp", "personality", "swallow-trap", "swallow-trap-high",
  ]
  private static let kernel = [
    "map-code", "map-content-code", "mprotect-code", "pkey-mprotect-code", "write-code", "unknown-call",
    "bpf", "perf-event", "io-uring", "userfaultfd", "memfd", "memfd-secret", "keyctl", "add-key", "tiocsti",
    "tiocsti-high", "fioasync", "shmget", "shmat", "msgget", "semget", "mq-open", "clock-settime",
    "settimeofday", "adjtimex", "syslog", "reboot", "kexec-load", "init-module", "delete-module",
    "sethostname",
  ]
  #if arch(x86_64)
    private static let processor = ["x32-call", "int-0x80", "modify-ldt", "arch-prctl", "iopl"]
  #else
    private static let processor: [String] = []
  #endif
  /// Those that misuse what the server is handed.
  private static let listeners = [
    "listener-connect-out", "listener-send-to", "listener-shutdown", "listener-listen", "listener-connect",
    "listener-filter", "listener-option", "listener-repair", "listener-protocol", "listener-owner",
    "listener-accept", "upload-beyond", "upload-longer", "upload-seal",
  ]
  private static let sockets = [
    "tcp", "tcp-fast-open", "udp", "udp-unconnected", "bind-tcp", "bind-udp", "listen", "raw-socket",
    "packet-socket", "vsock", "alg-socket", "netlink-uevent", "netlink-diag", "netlink-change", "unix-stream",
    "unix-datagram", "unix-abstract", "stream-pair", "datagram-pair", "packet-pair", "reconnect",
    "pass-descriptor", "send-elsewhere", "receive-elsewhere", "sendmmsg", "shutdown", "descriptors",
    "environment", "standard-output", "standard-input", "pass",
  ]
}
