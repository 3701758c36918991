import Glibc

/// The memory that this process may use.
public enum MachineMemory {
  /// Bytes: the machine's memory, or the limit of the control groups of this process, whichever is less
  /// (cgroups(7)).
  public static func available() -> Int64 {
    let pages = Int64(sysconf(Int32(_SC_PHYS_PAGES)))
    let machine = max(pages, 1) * Int64(max(sysconf(Int32(_SC_PAGESIZE)), 1))
    return min(machine, limits().min() ?? .max)
  }

  /// The limits of this process's groups and their parents, as far as they can be read.
  private static func limits() -> [Int64] {
    guard let groups = text("/proc/self/cgroup") else { return [] }
    var limits: [Int64] = []
    for line in groups.split(separator: "\n") {
      // `0::/path` in version 2, `4:memory:/path` in version 1.
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let isSecond = parts[0] == "0"
      guard isSecond || parts[1].split(separator: ",").contains("memory") else { continue }
      let roots = isSecond ? ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] : ["/sys/fs/cgroup/memory"]
      let name = isSecond ? "memory.max" : "memory.limit_in_bytes"
      var path = Substring(parts[2])
      while true {
        for root in roots {
          if let limit = text("\(root)\(path)/\(name)").flatMap({ Int64($0.prefix { $0.isNumber }) }),
            limit > 0
          {
            limits.append(limit)
          }
        }
        guard let slash = path.lastIndex(of: "/") else { break }
        path = path[..<slash]
      }
    }
    return limits
  }

  /// The beginning of a kernel file; `nil`: it cannot be read.
  private static func text(_ path: String) -> String? {
    guard let file = try? Descriptor.open(path, O_RDONLY) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file.number, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }
}
